"""Checks once, for all checks, that features are finite numbers whose squares do not overflow, and finds missing
values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray
from lopsided.data.encoded_tables import with_gaps
from lopsided.data.rows import is_sparse
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


def missing_values(table: Table | None) -> MissingValues | None:
    """None where no value is missing."""
    if table is None or not table.gaps:
        return None
    counts = {name: int(rows.sum()) for name, rows in table.gaps.items()}
    order = sorted(counts, key=lambda name: -counts[name])
    return MissingValues(np.any(list(table.gaps.values()), axis=0), {name: counts[name] for name in order})


def usable(table: Table) -> Table:
    """The table, with numbers in place of NaN; infinities, and numbers whose squares are, are refused by row and
    column."""
    start, gappy = 0, False
    for block in () if is_sparse(table.frame) else table.blocks():
        if block.dtype.kind == "f" and block.size:
            largest = float(np.abs(block).max())  # NaN where any entry is
            if not math.isfinite(largest):
                gappy = gappy or bool(np.isnan(block).any())
                _refuse_infinite(block, start, table)
                largest = float(np.nanmax(np.abs(block), initial=0.0))
            if largest > LARGEST_FEATURE:
                expected = f"features of at most {LARGEST_FEATURE:.0e} in size in {table.source}"
                raise InputError(expected, f"{largest:.2g}", "rescale them: their squares overflow")
        start += len(block)
    return with_gaps(table) if gappy else table


def _refuse_infinite(block: NDArray[Any], start: int, table: Table) -> None:
    bad = np.argwhere(np.isinf(block))
    if bad.size:
        row, column = (int(at) for at in bad[0])
        name = f" ({table.feature_names[column]})" if table.feature_names else ""
        got = f"{block[row, column]} in row {start + row}, column {column}{name}"
        raise InputError(f"finite numbers as features in {table.source}", got, "remove or fill such entries first")
