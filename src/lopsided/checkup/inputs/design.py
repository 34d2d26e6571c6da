"""Columns that say how rows may be divided and how much each counts: whose they are, when they were, their weight."""

from typing import Any

import numpy as np

from lopsided.checkup.inputs.parts import Finder
from lopsided.core.errors import InputError
from lopsided.core.folds import Design
from lopsided.core.validation import IntArray, check_weights, is_missing


def design_of(found: Finder, rows: int, split_by: Any, time: Any, sample_weight: Any) -> Design:
    """What was given of the three, checked."""
    return Design(
        found.part(split_by, (), "split_by", lambda part: _codes(_column(part, "split_by", rows))),
        found.part(time, (), "time", lambda part: _codes(_times(_column(part, "time", rows)))),
        found.part(sample_weight, (), "sample_weight", lambda part: check_weights(part, rows)),
    )


def _column(part: Any, name: str, rows: int) -> Any:
    values = np.asarray(part)
    if values.shape != (rows,):
        raise InputError(f"one entry of {name} for each of {rows:,} rows", f"shape {values.shape}")
    if values.dtype.kind in "OfM" and any(is_missing(entry) for entry in values.tolist()):
        raise InputError(f"an entry of {name} in every row", "missing values", "fill them or leave out those rows")
    return values


def _codes(values: Any) -> IntArray:
    values = values.astype(str) if values.dtype.kind == "O" else values
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _times(values: Any) -> Any:
    if values.dtype.kind in "iufM":
        return values
    for kind in ("float64", "datetime64[ns]"):
        try:
            return values.astype(str).astype(kind)
        except (ValueError, TypeError):
            continue
    got = f"words such as {str(values[0])[:40]!r}"
    raise InputError("times as numbers or dates such as 2024-01-31", got, "write dates so that they can be ordered")
