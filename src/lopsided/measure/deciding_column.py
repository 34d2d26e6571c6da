"""Does one column decide the influence scores? Where it varies far more than the others, the covariance of a class is
the variance of that column, and inf(x) ranks examples by its squared distance from the class mean alone."""

import numpy as np
from numpy.typing import NDArray

from lopsided.core.validation import FloatArray, IntArray

DECIDES = 0.999  # rank correlation within classes, from which on the other columns hardly matter
_COLUMNS = 64  # at a time


def within_variation(rows: NDArray[np.floating], codes: IntArray) -> FloatArray:
    """Squared distance from the class mean, summed over all rows (n x d), for every column."""
    order = np.argsort(codes, kind="stable")
    _, starts, counts = np.unique(codes[order], return_index=True, return_counts=True)
    found = []
    for low in range(0, rows.shape[1], _COLUMNS):
        part = rows[:, low : low + _COLUMNS][order].astype(np.float64)
        part -= np.repeat(np.add.reduceat(part, starts, axis=0) / counts[:, None], counts, axis=0)
        found.append(np.square(part).sum(axis=0))
    return np.concatenate(found)


def rank_agreement(scores: FloatArray, column: NDArray[np.floating], codes: IntArray) -> float:
    """Rank correlation, within classes and over all of them, of scores with the squared distance of `column` from the
    class mean; 0 where either is constant. Rows without a score (NaN) are left out."""
    known = np.isfinite(scores)
    own = codes[known]
    values = column[known].astype(np.float64)
    values -= (np.bincount(own, values) / np.maximum(np.bincount(own), 1))[own]
    left, right = _ranks(scores[known], own), _ranks(np.square(values), own)
    size = float(np.sqrt(left @ left) * np.sqrt(right @ right))
    return float(left @ right) / size if size else 0.0


def _ranks(values: FloatArray, codes: IntArray) -> FloatArray:
    """Ranks within the class less their mean; equal values share theirs."""
    order = np.lexsort((values, codes))
    sorted_values, sorted_codes = values[order], codes[order]
    begins = np.ones(order.size, dtype=bool)
    begins[1:] = (np.diff(sorted_values) != 0) | (np.diff(sorted_codes) != 0)
    run = np.cumsum(begins) - 1
    ranks = np.empty(order.size)
    ranks[order] = (np.bincount(run, np.arange(order.size)) / np.bincount(run))[run]
    return np.asarray(ranks - (np.bincount(codes, ranks) / np.maximum(np.bincount(codes), 1))[codes])
