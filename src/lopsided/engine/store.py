"""Finished tasks on disk: one JSON file each, named by the task's hash, written whole or not at all.

    STORE/tasks/<name>/<hash>.json        the numbers, what they cost, where they come from, a checksum
    STORE/verdicts/<claim>.<scale>.json   the latest verdict
    STORE/set-aside/                      files that could not be read back; their tasks run again
    STORE/broken/<claim>.txt              the traceback of a task that raised
    STORE/inputs/<run>/<name>.npy         arrays that tasks in other processes read (`engine.inputs`)
    STORE/unfinished/<hash>/              what a task that was stopped had done so far (`engine.unfinished`)

Nothing is locked: results of one task are equal, and a rename replaces a file in one step, so two runs at once at worst
do some work twice. A file is used only if its checksum matches, so a half-copied store or a power cut only costs a
repeat.
"""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lopsided.core.errors import InputError
from lopsided.core.files import as_path, make_folder, write_atomically
from lopsided.core.jsonable import dump_json, jsonable
from lopsided.engine.inputs import FOLDER_ADVICE, STALE_SECONDS, shared_arrays, sweep_inputs
from lopsided.engine.task import Task, canonical, task_key
from lopsided.engine.unfinished import forget_unfinished

T = TypeVar("T")

DEFAULT_STORE = "lopsided-results"
STORE_VARIABLE = "LOPSIDED_STORE"
_FORMAT = 2


@dataclass(frozen=True)
class Result:
    """A finished task in the store."""

    name: str
    version: int
    code: str
    settings: dict[str, Any]
    seed: int
    numbers: dict[str, Any]
    seconds: float
    processor_seconds: float
    provenance: dict[str, Any]


class Store:
    """A folder of results. Making one creates nothing; the first write does."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        if folder is not None and not str(folder).strip():
            raise InputError("a folder for the results", "an empty name")
        given = os.environ.get(STORE_VARIABLE) or DEFAULT_STORE if folder is None else folder
        self.folder = as_path(given, "a folder for the results").absolute()
        try:
            taken = self.folder.exists() and not self.folder.is_dir()
        except OSError as error:
            got = f"{self.folder}: {error.strerror}"
            raise InputError("a folder for the results", got, "name another with --store") from None
        if taken:
            raise InputError("a folder for the results", f"the file {self.folder}", "name another with --store")

    def task_path(self, task: Task) -> Path:
        """The path of the result of `task`."""
        return self.folder / "tasks" / task.name / f"{task.key}.json"

    def unfinished(self, task: Task) -> Path:
        """The folder in which `task` keeps its progress."""
        return self.folder / "unfinished" / task.key

    def load(self, task: Task) -> Result | None:
        """The result of `task`, or None if it is missing or damaged; a damaged file is set aside."""
        return self._read(self.task_path(task), lambda data: _result(data, task.key))

    def save(self, task: Task, result: Result) -> None:
        """Keep `result`; raises `WriteError` if it cannot be written."""
        fields = {"format": _FORMAT, **jsonable(result)}
        text = json.dumps(fields | {"checksum": _checksum(fields)}, allow_nan=False, ensure_ascii=False)
        self._write(self.task_path(task), text, durable=False)

    def forget(self, task: Task) -> None:
        """Delete the result of `task` and what it had done so far, so that it runs again."""
        forget_unfinished(self.unfinished(task))
        path = self.task_path(task)
        if path.is_dir():
            self._set_aside(path)
        else:
            path.unlink(missing_ok=True)

    def results(self) -> Iterator[Result]:
        """Every readable result, damaged files set aside on the way."""
        sweep_inputs(self.folder / "inputs")
        names = self._entries(self.folder / "tasks", lambda entry: entry.is_dir())
        paths = [path for name in names for path in self._entries(name, _is_json)]
        found = (self._read(path, _result) for path in paths)
        return (result for result in found if result is not None)

    def save_verdict(self, claim_id: str, scale: str, verdict: dict[str, Any]) -> None:
        """Keep the latest verdict of a claim at a scale."""
        self._write(self.folder / "verdicts" / f"{claim_id}.{scale}.json", dump_json(verdict, indent=1))

    def verdicts(self) -> list[dict[str, Any]]:
        """Every stored verdict; a damaged file is set aside."""
        sweep_inputs(self.folder / "inputs")
        found = [self._read(path, _verdict) for path in self._entries(self.folder / "verdicts", _is_json)]
        return [verdict for verdict in found if verdict is not None]

    def save_traceback(self, claim_id: str, text: str) -> Path:
        """Keep the traceback of a task that failed."""
        path = self.folder / "broken" / f"{claim_id}.txt"
        self._write(path, text)
        return path

    def clear_traceback(self, claim_id: str) -> None:
        """Delete an old traceback, because the claim ran."""
        with contextlib.suppress(OSError):
            (self.folder / "broken" / f"{claim_id}.txt").unlink()

    def shared(self, key: str, arrays: Mapping[str, Any]) -> AbstractContextManager[Path]:
        """A folder with `arrays`, one .npy each, that is deleted when the run ends."""
        return shared_arrays(self.folder / "inputs", key, arrays)

    def sweep(self) -> None:
        """Delete the inputs of runs that were killed, and temporary files that a killed process left long ago."""
        sweep_inputs(self.folder / "inputs")
        for path in self.folder.glob("*/**/.*.tmp"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink()

    def _entries(self, folder: Path, wanted: Callable[[Path], bool]) -> list[Path]:
        """What a folder holds, sorted; a folder that is not accessible is no empty one (`glob` would say so)."""
        try:
            return sorted(path for path in folder.iterdir() if wanted(path))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _unreadable(folder, error) from None

    def _write(self, path: Path, content: str | bytes, *, durable: bool = True) -> None:
        make_folder(path.parent, FOLDER_ADVICE)
        write_atomically(path, content, durable=durable)

    def _read(self, path: Path, parse: Callable[[bytes], T]) -> T | None:
        """What a file holds; None if it is missing, or damaged, and then it is set aside."""
        try:
            return parse(_content(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, KeyError, TypeError, RecursionError):
            self._set_aside(path)
            return None
        except OSError as error:
            raise _unreadable(path, error) from None

    def _set_aside(self, path: Path) -> None:
        aside = self.folder / "set-aside"
        with contextlib.suppress(OSError):  # another run may have moved it already; the task runs again either way
            aside.mkdir(exist_ok=True)
            target = aside / f"{path.parent.name}.{path.name}"
            if path.is_dir() and target.exists():  # a folder cannot replace one
                target = aside / f"{path.parent.name}.{path.name}.{time.time_ns()}"
            os.replace(path, target)


def _is_json(path: Path) -> bool:
    return path.suffix == ".json" and not path.name.startswith(".")


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(
        "a store that can be read", f"{path}: {error.strerror}", "change its permissions, or name another with --store"
    )


def _content(path: Path) -> bytes:
    """The bytes of a regular file; a pipe or a device, which would wait or grow for ever, is a damaged file."""
    if not path.is_file() and os.path.lexists(path):  # also a link that leads nowhere or to itself
        raise ValueError("no file")
    return path.read_bytes()


def _result(data: bytes, key: str | None = None) -> Result:
    """The result in a file, of the task with that key where one is given."""
    fields = json.loads(data)
    if not isinstance(fields, dict) or fields.pop("checksum", None) != _checksum(fields):
        raise ValueError("the checksum does not match")
    if fields.pop("format") != _FORMAT:
        raise ValueError("another format")
    found = Result(**fields)
    own = task_key(found.name, found.version, found.code, canonical(found.settings), found.seed)
    if key is not None and key != own:
        raise ValueError("another task's result")
    return found


def _verdict(data: bytes) -> dict[str, Any]:
    verdict = json.loads(data)
    if not isinstance(verdict, dict) or not {"id", "scale", "verdict", "time"} <= verdict.keys():
        raise ValueError("not a verdict")
    return verdict


def _checksum(fields: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
