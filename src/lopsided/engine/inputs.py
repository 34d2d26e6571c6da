"""Arrays that the processes of one run share: STORE/inputs/<key>.<host>.<process>/<name>.npy, deleted when it ends.

A run holds a lock on its folder. The system gives the lock back however the run ends, so a lock that can be had marks
the folder of a killed run, even where its process number was given to another or nobody has waited for it yet.
"""

import contextlib
import io
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lopsided.core.files import make_folder, write_atomically

STALE_SECONDS = 24 * 3600  # no write takes a day, so what is this old was left by a killed process
FOLDER_ADVICE = "choose another store with --store"
_HOST = platform.node()  # a store may be shared by machines, whose locks need not reach each other
_LOCK = ".lock"


@contextlib.contextmanager
def shared_arrays(folder: Path, key: str, arrays: Mapping[str, Any]) -> Iterator[Path]:
    """A folder with `arrays`, one .npy each, that is deleted when the run ends."""
    import numpy as np

    sweep_inputs(folder)
    own = folder / f"{key}.{_HOST}.{os.getpid()}"
    lock = None
    try:
        lock = _locked(own)
        for name, array in arrays.items():
            stream = io.BytesIO()
            np.save(stream, np.asarray(array), allow_pickle=False)
            write_atomically(own / f"{name}.npy", stream.getvalue(), durable=False)
        yield own
    finally:
        _remove(own)
        if lock is not None:
            os.close(lock)


def sweep_inputs(folder: Path) -> None:
    """Delete the inputs of runs that were killed: at once those of this machine, after a day those of others."""
    for inputs in folder.glob("*"):
        if _is_over(inputs):
            _remove(inputs)


def _locked(folder: Path) -> int | None:
    """The lock of a new folder; None where the file system knows no locks."""
    while True:
        make_folder(folder, FOLDER_ADVICE)
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:  # swept between the two lines
            continue
        except OSError:
            return None  # what cannot be written either: the first array says so
        if not _lock(lock):
            os.close(lock)
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(folder / _LOCK), os.fstat(lock)):
                return lock
        os.close(lock)  # swept before it was locked


def _is_over(inputs: Path) -> bool:
    host, _, process = inputs.name.partition(".")[2].rpartition(".")
    try:
        if host == _HOST and sys.platform != "win32" and (inputs / _LOCK).exists():
            if process == str(os.getpid()):
                return False
            lock = os.open(inputs / _LOCK, os.O_RDWR)
            try:
                return _lock(lock, wait=False)
            finally:
                os.close(lock)
        return time.time() - inputs.stat().st_mtime > STALE_SECONDS
    except OSError:  # another user's, or gone
        return False


def _lock(handle: int, *, wait: bool = True) -> bool:
    """Whether the lock was had."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()  # unless it holds those of other runs
