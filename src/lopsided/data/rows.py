"""Rows of any kind: a float matrix, a SciPy sparse matrix (CSR), or a pandas, Polars or Arrow frame, dtypes kept.

None of their packages is imported: a frame is known by what it can do.
"""

from typing import Any

import numpy as np

from lopsided.core.validation import IntArray

Rows = Any  # an array of shape (n, p), a CSR matrix, or a frame of n rows


def take(features: Rows, index: IntArray) -> Rows:
    """The rows at these positions (again and again where one comes again), in the type that they came in."""
    if hasattr(features, "iloc"):  # pandas
        return features.iloc[index]
    return features.take(index) if hasattr(features, "column_names") else features[index]  # Arrow; all others


def width(features: Rows) -> int:
    """How many columns it has."""
    return int(features.shape[1])


def is_matrix(features: Rows) -> bool:
    """Is it a plain array, which arithmetic works on?"""
    return isinstance(features, np.ndarray)


def is_sparse(features: Rows) -> bool:
    """Is it one of SciPy's sparse matrices?"""
    return hasattr(features, "tocsr")
