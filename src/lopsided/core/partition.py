"""Examples sorted into named parts, and the rows of a table with their classes and groups."""

from dataclasses import dataclass, replace

import numpy as np

from lopsided.core.validation import BoolArray, IntArray


@dataclass(frozen=True)
class Partition:
    """Examples sorted into named parts: classes, or the groups of a column, or the cells of an intersection.

    `times`: how many examples each code stands for, where equal ones were counted instead of kept; else one.
    `columns`: how many columns it crosses.
    """

    name: str
    codes: IntArray
    names: tuple[str, ...]
    times: IntArray | None = None
    columns: int = 1

    @property
    def counts(self) -> IntArray:
        """Examples in every part."""
        return tally(self.codes, len(self.names), self.times)

    def counts_where(self, rows: BoolArray) -> IntArray:
        """Examples in every part among the chosen rows."""
        return self.at(rows).counts

    def at(self, rows: BoolArray | IntArray) -> "Partition":
        """The chosen rows, in the same parts."""
        return replace(self, codes=self.codes[rows], times=None if self.times is None else self.times[rows])


def tally(codes: IntArray, parts: int, times: IntArray | None = None) -> IntArray:
    """How often each code from 0 to `parts` - 1 occurs, each counted as often as `times` says; exact whole numbers."""
    if times is None:
        return np.bincount(codes, minlength=parts).astype(np.int64)
    found = np.zeros(parts, dtype=np.int64)
    np.add.at(found, codes, times)
    return found


def by_appearance(codes: IntArray) -> IntArray:
    """The codes numbered in the order in which they first appear, so that the order of names changes nothing."""
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[place.ravel()]


def appearing(codes: IntArray) -> IntArray:
    """The codes that occur, in the order in which they first appear; `by_appearance` gives places in it."""
    seen, first = np.unique(codes, return_index=True)
    return np.asarray(seen[np.argsort(first)])


def place_of(codes: IntArray, code: int) -> int:
    """How many codes appear before this one does: tells it from others whatever they are called."""
    return int(np.unique(codes[: int((codes == code).argmax())]).size)


def first_rows(codes: IntArray, parts: int) -> IntArray:
    """Where each code from 0 to `parts` - 1 first appears; at the end for those that do not."""
    found = np.full(parts, codes.size, dtype=np.int64)
    seen, first = np.unique(codes, return_index=True)
    found[seen] = first
    return found


@dataclass(frozen=True)
class LabelledRows:
    """Rows to train on: their positions in the data, classes, and groups where there are any."""

    rows: IntArray
    classes: Partition
    groups: Partition | None

    @property
    def size(self) -> int:
        """n."""
        return int(self.rows.size)

    @property
    def group_codes(self) -> IntArray:
        """Group of every example; all 0 where no groups were given."""
        return np.zeros(self.size, dtype=np.int64) if self.groups is None else self.groups.codes

    def partition(self, axis: str) -> Partition:
        """The classes, or the groups (which have to be there)."""
        found = self.classes if axis == "class" else self.groups
        assert found is not None
        return found
