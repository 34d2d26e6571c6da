"""One part of what a person gave: the array itself, the column of the name given, or the first of a usual name."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from lopsided.checkup.inputs.sources import DataSource
from lopsided.core.arrays import plain_array
from lopsided.core.errors import InputError
from lopsided.core.validation import name_one_of
from lopsided.data.tables import read_label_file

Found = TypeVar("Found")


def is_name(value: Any) -> bool:
    """A word, or a list of nothing but words."""
    return isinstance(value, str) or (
        isinstance(value, (list, tuple)) and bool(value) and all(isinstance(entry, str) for entry in value)
    )


def column_names(value: Any, *, several: bool = False) -> list[str]:
    """The names that an argument gives: a word, a list of one word, or a list of `several`."""
    if isinstance(value, str):
        return [value]
    return list(value) if is_name(value) and (several or len(value) == 1) else []


def settled(value: Any, source: DataSource) -> Any:
    """A list of words as an array where it holds one per row, so that it is no list of names; all else unchanged."""
    if isinstance(value, str) or not is_name(value):
        return value
    if source.table is None:
        return np.array(value)
    if len(value) == source.table.rows and not (len(value) == 1 and value[0] in source.names()):
        return np.array(value)
    return value[0] if len(value) == 1 else value


def usual_names(source: DataSource, usual: Sequence[str]) -> list[str]:
    """Names under which the source holds what is no feature, in the order of the usual ones and the user's spelling."""
    lower = {name.lower(): name for name in reversed(source.names()) if source.has(name)}
    return [lower[name.lower()] for name in usual if name.lower() in lower]


def find_part(source: DataSource, given: Any, usual: Sequence[str], what: str) -> Any:
    """The array given, the one of the name given, or the first of a usual name; None where there is none."""
    if given is None:
        known = usual_names(source, usual)
        return source.find(known[0]) if known else None
    if isinstance(given, (str, os.PathLike)):
        found = source.find(str(given))
        if found is not None:
            return found
        if Path(given).is_file() and Path(given).suffix.lower() in (".npy", ".txt", ".csv"):
            return read_label_file(Path(given))
        remedy = name_one_of(source.names(), given)
        raise InputError(
            f"{what} under the name {str(given)!r} in {source.name}", f"the names {source.listed()}", remedy
        )
    if hasattr(given, "weight") or hasattr(given, "coef_"):
        return given
    return plain_array(given, what)


@dataclass
class Finder:
    """Finds parts and checks them. A part that was not asked for and does not fit is ignored, with a note."""

    source: DataSource
    notes: list[str]
    aside: list[str] = field(default_factory=list)  # the notes on parts left aside
    read: dict[str, str] = field(default_factory=dict)  # columns used for their usual names, and as what

    def part(self, given: Any, usual: Sequence[str], what: str, check: Callable[[Any], Found]) -> Found | None:
        """What `check` makes of the part given, or of the first one with a usual name that passes it."""
        if given is not None:
            return check(find_part(self.source, given, (), what))
        for name in usual_names(self.source, usual):
            try:
                value = check(self.source.find(name))
            except InputError as error:
                self.leave(f"{name} is ignored although its name suggests {what}: {error}")
            else:
                self.read[name] = what
                return value
        return None

    def leave(self, note: str) -> None:
        """Note a part that was found but cannot be used."""
        self.notes.append(note)
        self.aside.append(note)
