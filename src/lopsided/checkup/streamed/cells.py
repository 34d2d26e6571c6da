"""Equal rows counted instead of kept: of some columns every combination that occurs, how often, and sums over it.

Labels, groups, predictions and the split take few values, so that all counts and rates over millions of rows rest on a
table of some thousand cells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.columns import decoded

MOST_CELLS = 3_000_000
_TIMES, _ONE = "\0times", "\0one"  # names that no column of a file has


@dataclass
class CountedCells:
    """An Arrow table: `keys`, the number of rows in each cell, and sums by name. Empty (None) before the first rows."""

    keys: tuple[str, ...]
    sums: tuple[str, ...] = ()
    table: Any = None

    def update(self, rows: Any, extra: Mapping[str, Any] | None = None) -> None:
        """Count the rows of an Arrow table; `extra` are arrays beside its columns, keys or values to be summed."""
        import pyarrow as pa

        found = {name: decoded(rows[name]) for name in self.keys if name in rows.column_names}
        found |= {name: pa.array(values) for name, values in (extra or {}).items()}
        columns = {name: found[name] for name in (*self.keys, *self.sums)}
        self._take_in(pa.table(columns | {_TIMES: pa.array(np.ones(rows.num_rows, dtype=np.int64))}))

    def merge(self, other: "CountedCells") -> None:
        """Take in the cells of other rows."""
        if other.table is not None:
            self._take_in(other.table)

    def _take_in(self, fresh: Any) -> None:
        import pyarrow as pa

        # one batch is summed by itself first, so that sums do not depend on what came before but by one addition
        fresh = self._grouped(fresh)
        self.table = fresh if self.table is None else self._grouped(pa.concat_tables([self.table, fresh]))
        if self.table.num_rows > MOST_CELLS:
            expected = f"at most {MOST_CELLS:,} combinations of labels, groups, predictions and split"
            raise InputError(expected, "more", "name fewer columns of groups, or columns of fewer values")

    def _grouped(self, table: Any) -> Any:
        import pyarrow as pa

        one = pa.array(np.zeros(table.num_rows, dtype=np.int8))
        summed = [*self.sums, _TIMES]
        grouped = table.append_column(_ONE, one).group_by([_ONE, *self.keys], use_threads=False)
        found = grouped.aggregate([(name, "sum") for name in summed])
        return found.select([*self.keys, *(f"{name}_sum" for name in summed)]).rename_columns([*self.keys, *summed])

    @property
    def times(self) -> IntArray:
        """How many rows each cell holds."""
        return np.asarray(self.table[_TIMES], dtype=np.int64)

    def total(self, name: str) -> FloatArray:
        """A sum of every cell."""
        return np.asarray(self.table[name], dtype=np.float64)

    def codes(self, name: str) -> IntArray:
        """A key of whole numbers."""
        return np.asarray(self.table[name], dtype=np.int64)

    def columns(self, names: Sequence[str]) -> Any:
        """Some of the keys as an Arrow table, one row a cell."""
        return self.table.select(list(names))
