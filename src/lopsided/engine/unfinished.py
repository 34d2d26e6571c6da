"""What a task has done so far, for the run that follows a kill: STORE/unfinished/<task>/, deleted when it is done.

A claim asks `half_done("name")` for a file of its own and gets None where nothing is kept (no store, a test). Networks
in training are kept there every minute and when the run is interrupted (`trained_resumably`), so that a paper-scale run
loses a minute of a network, not the hour that it took.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from lopsided.core.errors import InputError

T = TypeVar("T")
_folder: ContextVar[Path | None] = ContextVar("unfinished", default=None)


@contextlib.contextmanager
def keeping_unfinished(folder: Path | None) -> Iterator[None]:
    """Within the block, `half_done` names files in `folder`; they go when the block ends without an exception."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)
    forget_unfinished(folder)


def forget_unfinished(folder: Path | None) -> None:
    """Delete what was kept."""
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def half_done(name: str) -> Path | None:
    """A file for the work of the running task; None where nothing is kept."""
    folder = _folder.get()
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def trained_resumably(train: Callable[[Path | None], T]) -> T:
    """What `train(checkpoint)` returns, from where an earlier run of this task was stopped; one training per task."""
    checkpoint = half_done("network.safetensors")
    try:
        return train(checkpoint)
    except InputError:
        if checkpoint is None or not checkpoint.exists():
            raise
        # Kept by other code, from other data, or damaged: nothing of it was taken yet, so begin at the beginning.
        checkpoint.unlink()
        return train(checkpoint)
