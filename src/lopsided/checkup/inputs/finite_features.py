"""Features are finite numbers whose squares are too; asked once, so that no check has to."""

import math

import numpy as np

from lopsided.core.errors import InputError
from lopsided.data.tables import Table
from lopsided.measure.class_moments import LARGEST_FEATURE


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
