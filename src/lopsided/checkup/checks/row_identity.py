"""One number per row, equal for equal rows: features by the bytes (a 16-byte BLAKE2 digest), words as text.

Exact and one pass over the table. Columns that describe an example beside its features, such as groups, count; labels,
predictions and the split do not.
"""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.inputs.evidence import Evidence
from lopsided.core.validation import IntArray


def row_identities(evidence: Evidence) -> IntArray:
    """Features and descriptions."""
    return _numbered(np.stack([feature_identities(evidence), description_codes(evidence)], axis=1))


def feature_identities(evidence: Evidence, columns: slice = slice(None)) -> IntArray:
    """Features alone, or some of their columns."""
    assert evidence.table is not None
    digests = []
    for block in evidence.table.blocks():
        rows = np.ascontiguousarray(block[:, columns])
        if rows.dtype.kind == "f":
            rows = rows + 0.0  # minus zero is zero
        size = rows.shape[1] * rows.dtype.itemsize
        view = memoryview(rows.tobytes())
        digests.append(
            b"".join(
                hashlib.blake2b(view[start : start + size], digest_size=16).digest()
                for start in range(0, len(view), size)
            )
        )
    return _numbered(np.frombuffer(b"".join(digests), dtype="u8").reshape(-1, 2))


def description_codes(evidence: Evidence) -> IntArray:
    """One number per row, equal where all columns that describe it are."""
    assert evidence.table is not None
    found: IntArray = np.zeros(evidence.rows, dtype=np.int64)
    for name in evidence.described_by:
        column = evidence.table.columns[name]
        words = np.array([str(entry) for entry in column]) if column.dtype.kind == "O" else column
        _, codes = np.unique(words, return_inverse=True)
        found = _numbered(np.stack([found, codes.ravel()], axis=1))
    return found


def _numbered(pairs: NDArray[Any]) -> IntArray:
    """One number per row of two columns, equal for equal rows."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    ordered = pairs[order]
    fresh = np.concatenate([[False], (ordered[1:] != ordered[:-1]).any(axis=1)])
    identity = np.empty(len(pairs), dtype=np.int64)
    identity[order] = np.cumsum(fresh)
    return identity
