"""One part of what a person gave: the array itself, the column of the name given, or the first of a usual name."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lopsided.checkup.sources import Source
from lopsided.core.arrays import plain_array
from lopsided.core.errors import InputError
from lopsided.data.label_file import read_label_file


def is_name(value: Any) -> bool:
    """A word, or a list of nothing but words."""
    return isinstance(value, str) or (
        isinstance(value, (list, tuple)) and bool(value) and all(isinstance(entry, str) for entry in value)
    )


def usual_name(source: Source, usual: Sequence[str]) -> str | None:
    """The first of the usual names under which the source holds what is no feature, in the user's spelling."""
    lower = {name.lower(): name for name in reversed([*source.names()])}
    return next((lower[name] for name in usual if name in lower and source.find(lower[name]) is not None), None)


def find_part(source: Source, given: Any, usual: Sequence[str], what: str) -> Any:
    """The array given, the one of the name given, or the first of a usual name; None where there is none."""
    if given is None:
        name = usual_name(source, usual)
        return None if name is None else source.find(name)
    if isinstance(given, (str, os.PathLike)):
        found = source.find(str(given))
        if found is not None:
            return found
        if Path(given).is_file() and Path(given).suffix.lower() in (".npy", ".txt", ".csv"):
            return read_label_file(Path(given))
        raise InputError(f"{what} under the name {str(given)!r} in {source.name}", source.listed(), "name one of those")
    if hasattr(given, "weight") or hasattr(given, "coef_"):
        return given
    return plain_array(given, what)
