"""The cells that a remedy treats apart: classes, or classes crossed with groups."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_labels, check_positive


@dataclass(frozen=True)
class Cells:
    """The cell of every example, and the class, group and size of every cell. Empty intersections do not count as
    cells."""

    codes: IntArray  # n
    classes: tuple[str, ...]  # the class of each cell
    groups: tuple[str, ...] | None  # the group of each cell, None where only classes are distinguished

    @property
    def names(self) -> tuple[str, ...]:
        """`class`, or `class | group`."""
        if self.groups is None:
            return self.classes
        return tuple(f"{label} | {group}" for label, group in zip(self.classes, self.groups, strict=True))

    @property
    def counts(self) -> IntArray:
        """Examples per cell."""
        return np.bincount(self.codes, minlength=len(self.classes)).astype(np.int64)


def cells_of(labels: ArrayLike, groups: ArrayLike | None = None) -> Cells:
    """Sort examples into classes, or into the intersections of class and group that have members."""
    codes, names = check_labels(labels)
    if groups is None:
        return Cells(codes, tuple(names), None)
    group_codes, group_names = check_labels(groups, "groups", length=codes.shape[0])
    crossed, cells = np.unique(codes * len(group_names) + group_codes, return_inverse=True)
    return Cells(
        cells.astype(np.int64).ravel(),
        tuple(names[cell // len(group_names)] for cell in crossed),
        tuple(group_names[cell % len(group_names)] for cell in crossed),
    )


def numbers_by_cell(given: Mapping[Any, float], cells: Cells, what: str) -> FloatArray:
    """One positive number per cell from a dict: keys are classes, or (class, group); cells left out get 1.

    A key for the cell goes before a key for its class. Keys are compared as text, so 3 and "3" are the same class.
    """
    exact = {_key(key): value for key, value in given.items()}
    known: set[tuple[str, ...]] = {(label,) for label in cells.classes}
    if cells.groups is not None:
        known |= set(zip(cells.classes, cells.groups, strict=True))
    unknown = sorted(" | ".join(key) for key in exact.keys() - known)
    if unknown:
        have = ", ".join(cells.names[:8]) + (", ..." if len(cells.names) > 8 else "")
        raise InputError(f"{what} for classes that occur ({have})", ", ".join(unknown))
    numbers = np.ones(len(cells.classes))
    for cell, label in enumerate(cells.classes):
        keys = [(label,)] if cells.groups is None else [(label, cells.groups[cell]), (label,)]
        for key in keys:
            if key in exact:
                numbers[cell] = check_positive(exact[key], f"{what} of {' | '.join(key)}")
                break
    return numbers


def _key(key: Any) -> tuple[str, ...]:
    return tuple(_text(part) for part in key) if isinstance(key, tuple) else (_text(key),)


def _text(part: Any) -> str:
    """The name that `check_labels` gives a label: whole floats are whole numbers."""
    return str(int(part)) if isinstance(part, float) and part.is_integer() else str(part)
