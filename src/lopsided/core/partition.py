"""Examples sorted into named parts, and the rows of a table with their classes and groups."""

from dataclasses import dataclass

import numpy as np

from lopsided.core.validation import BoolArray, IntArray


@dataclass(frozen=True)
class Partition:
    """Examples sorted into named parts: classes, or the groups of a column, or the cells of an intersection.

    `times`: how many examples each code stands for, where equal ones were counted instead of kept; else one.
    """

    name: str
    codes: IntArray
    names: tuple[str, ...]
    times: IntArray | None = None

    @property
    def counts(self) -> IntArray:
        """Examples in every part."""
        return self.counts_where(slice(None))

    def counts_where(self, rows: BoolArray | slice) -> IntArray:
        """Examples in every part among the chosen rows."""
        return tally(self.codes[rows], len(self.names), None if self.times is None else self.times[rows])


def tally(codes: IntArray, parts: int, times: IntArray | None = None) -> IntArray:
    """How often each code from 0 to `parts` - 1 occurs, each counted as often as `times` says; exact whole numbers."""
    if times is None:
        return np.bincount(codes, minlength=parts).astype(np.int64)
    found = np.zeros(parts, dtype=np.int64)
    np.add.at(found, codes, times)
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
