"""A piece of work with a name that its result keeps: what measures it, settings, seed, and the code it runs.

The name is a hash of the measurement's id and version, the code (`engine.code`), the settings and the seed. Settings
pass through JSON first, so that a task gets the same values whether it runs here, in another process or on another
machine.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from lopsided.core.errors import LopsidedError
from lopsided.core.jsonable import jsonable
from lopsided.core.seeds import check_seed
from lopsided.engine.code import code_of
from lopsided.engine.definitions import CodeEntry

Settings = Mapping[str, Any]
Numbers = Mapping[str, Any]


class PlanError(LopsidedError):
    """Settings cannot be turned into tasks."""


class Measures(Protocol):
    """What a worker needs: `measure(settings, seed)` gives JSON-able numbers. Claims are such, and `Measurement`."""

    @property
    def id(self) -> str:
        """The name of the measurement."""

    @property
    def version(self) -> int:
        """Raised by hand when numbers change for a reason that the code does not show."""

    @property
    def measure(self) -> Callable[[Settings, int], Numbers]:
        """One independent task."""


@dataclass(frozen=True)
class Measurement:
    """A measurement and nothing else."""

    id: str
    version: int
    measure: Callable[[Settings, int], Numbers]


@dataclass(frozen=True)
class Row:
    """One finished task: what was set, under which seed, and what was measured."""

    settings: Settings
    seed: int
    numbers: Numbers


@dataclass(frozen=True)
class Task:
    """One measurement to make.

    `home` (a module's name or a file) is where it lives, and `load(home)` gives it, in whichever process the task runs;
    `code` is what `engine.code` says of the home, from `entry` on where one is given. `place` says where inputs lie
    that settings only name by their content; it is no part of the result's name.
    """

    name: str
    version: int
    home: str
    load: Callable[[str], Measures]
    settings_text: str
    seed: int
    code: str
    place: str = ""
    entry: CodeEntry | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The settings as plain JSON values, fresh for every caller."""
        return dict(json.loads(self.settings_text))

    @cached_property
    def key(self) -> str:
        """The name of the result: 40 hexadecimal digits."""
        return task_key(self.name, self.version, self.code, self.settings_text, self.seed)


def tasks_of(
    measurement: Measures,
    home: str,
    load: Callable[[str], Measures],
    settings: Sequence[Settings],
    seeds: Sequence[int] = (0,),
    *,
    place: str = "",
    entry: CodeEntry | None = None,
) -> list[Task]:
    """Every setting under every seed, each once."""
    texts = dict.fromkeys(_text(measurement.id, entry) for entry in settings)
    name, version, code = measurement.id, measurement.version, code_of(home, entry)
    return [
        Task(name, version, home, load, text, check_seed(seed), code, place, entry) for text in texts for seed in seeds
    ]


def task_key(name: str, version: int, code: str, settings_text: str, seed: int) -> str:
    """SHA-256 over id, version, code, settings and seed."""
    content = "\x1f".join((name, str(version), code, settings_text, str(seed)))
    return hashlib.sha256(content.encode()).hexdigest()[:40]


def canonical(settings: Mapping[str, Any]) -> str:
    """One text for equal settings: sorted keys, no spaces, no NaN."""
    return json.dumps(settings, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def _text(name: str, settings: Settings) -> str:
    try:
        # a NaN or an infinity is refused: as a null it would be another setting
        json.dumps(settings, allow_nan=False, default=_plain)
        return canonical(jsonable(settings))
    except (TypeError, ValueError) as error:
        raise PlanError(f"Expected settings of {name} that JSON can hold, but {error}; use plain values.") from None


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else jsonable(value)
