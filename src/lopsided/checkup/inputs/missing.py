"""Are features finite numbers whose squares are too? Asked once, so that no check has to; and which are missing."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray
from lopsided.data.tables import Table
from lopsided.measure.class_moments import LARGEST_FEATURE


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


def check_finite_blocks(table: Table) -> None:
    """Refuse the first entry that is not, by row and column."""
    start = 0
    for block in table.blocks():
        if block.dtype.kind != "f" or not block.size:
            start += len(block)
            continue
        largest = float(np.abs(block).max())  # NaN where any entry is
        if math.isfinite(largest) and largest > LARGEST_FEATURE:
            raise InputError(
                f"features of at most {LARGEST_FEATURE:.0e} in size in {table.source}",
                f"{largest:.2g}",
                "rescale them: their squares leave the doubles",
            )
        if not math.isfinite(largest):
            bad = ~np.isfinite(block)
            if bad.any():
                row, column = (int(at) for at in np.argwhere(bad)[0])
                name = f" ({table.feature_names[column]})" if table.feature_names else ""
                raise InputError(
                    f"finite numbers as features in {table.source}",
                    f"{block[row, column]} in row {start + row}, column {column}{name}",
                    "remove or fill such entries first",
                )
        start += len(block)
