"""Which features of which rows are missing, where features cannot be used for it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lopsided.core.validation import BoolArray
from lopsided.data.tables import Table


@dataclass(frozen=True)
class MissingValues:
    """Rows that lack a value, and how many each column lacks, of those that lack any; the most first."""

    rows: BoolArray
    columns: Mapping[str, int]

    @property
    def words(self) -> str:
        """`2 rows lack a value`."""
        count = int(self.rows.sum())
        return f"{count:,} rows lack a value" if count != 1 else "1 row lacks a value"


def missing_values(table: Table) -> MissingValues | None:
    """None where no value is missing; infinities are there, and no reason to set anything aside."""
    rows, counts = [], np.zeros(table.width, dtype=np.int64)
    for gaps in table.gaps():
        rows.append(gaps.any(axis=1))
        counts += gaps.sum(axis=0)
    if not counts.any():
        return None
    names = table.feature_names or [f"column {place}" for place in range(table.width)]
    order = np.argsort(-counts, kind="stable")
    return MissingValues(np.concatenate(rows), {names[at]: int(counts[at]) for at in order if counts[at]})
