"""Tables whose features are not a finite matrix: frames with text or missing values, arrays with NaN, sparse matrices.

Blocks of such a table are its encoding by `TableEncoder` (blocks of a sparse matrix are dense), for checks that take
numbers; `frame` holds the original, for learners.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray, FloatArray, check_finite
from lopsided.data.encoding import TableEncoder
from lopsided.data.rows import Rows
from lopsided.data.tables import Table


def encoded_table(table: Table, rows: Rows, gaps: Mapping[str, BoolArray]) -> Table:
    """The table with the encoding of `rows` (the columns used) as its features; computed when they are first read."""
    encoder = TableEncoder().fit(rows)

    @cache
    def matrix() -> FloatArray:
        found: FloatArray = encoder.transform(rows)
        return found

    def read(size: int) -> Iterator[NDArray[Any]]:
        return (matrix()[start : start + size] for start in range(0, table.rows, size))

    names, origins = encoder.names_, encoder.origins_
    return replace(
        table, width=len(names), read_blocks=read, feature_names=names, origins=origins, gaps=gaps, image_shape=None
    )


def with_gaps(table: Table) -> Table:
    """A table of numbers of which some are NaN, with those filled in its blocks; its `frame` keeps them."""
    whole = np.asarray(table.features(), dtype=np.float64)
    called = table.feature_names or tuple(f"column {place}" for place in range(table.width))
    missing = np.isnan(whole)
    gaps = {called[place]: missing[:, place] for place in np.flatnonzero(missing.any(axis=0))}
    empty = [name for name, rows in gaps.items() if rows.all()]
    if len(empty) == table.width:
        raise InputError("features", "nothing but missing values", "give columns that hold values")
    return replace(
        encoded_table(table, whole, gaps), frame=whole, ignored=tuple((name, "it is empty") for name in empty)
    )


def sparse_table(matrix: Any, columns: Mapping[str, NDArray[Any]], source: str) -> Table:
    """A table over one of SciPy's sparse matrices, as CSR."""
    rows = matrix.tocsr()
    if rows.ndim != 2 or 0 in rows.shape or rows.dtype.kind not in "biuf":
        got = f"shape {rows.shape} of type {rows.dtype}"
        raise InputError(f"a sparse matrix of numbers, one row per example, in {source}", got)
    rows = rows.astype(np.float64)
    check_finite(rows.data, f"the features of {source}")

    def read(size: int) -> Iterator[NDArray[Any]]:
        return (rows[start : start + size].toarray() for start in range(0, rows.shape[0], size))

    return Table(source, rows.shape[0], rows.shape[1], dict(columns), read, frame=rows)
