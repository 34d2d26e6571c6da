"""How well logits or features separate every class from the others, from rows with labels:

margin      mean over its rows of  z_y - max_{j != y} z_j
AUC         P(z_k of a row of class k > z_k of a row of another class), other classes weighted evenly
adjusted    recall after subtracting log n_k from the logits: what is left of the class without the prior
nearest     share of rows nearest to their own class mean, each left out of it: |h - m_{-i}| = n/(n-1) |h - m|
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.validation import BoolArray, FloatArray, IntArray

FEW = 40  # rows of a class up to which comparing costs less than sorting
AT_A_TIME = 500_000  # comparisons


def class_margins(logits: FloatArray, codes: IntArray) -> FloatArray:
    """Mean margin of every class, nan without rows."""
    others = logits.copy()
    n = np.arange(codes.size)
    own = others[n, codes]
    others[n, codes] = -np.inf
    return class_means(own - others.max(axis=1), codes, logits.shape[1])


def class_aucs(logits: FloatArray, codes: IntArray) -> FloatArray:
    """One-against-rest AUC of every class with the other classes weighted evenly, nan where there is no pair.

    For class k, the mean over other classes j of P(z_k(row of k) > z_k(row of j)) is a weighted rank sum; ties count
    one half.
    """
    classes = logits.shape[1]
    counts = np.bincount(codes, minlength=classes).astype(np.float64)
    present = counts > 0
    if present.sum() < 2:
        return np.full(classes, np.nan)
    weights, columns = 1.0 / counts[codes], np.ascontiguousarray(logits.T)
    below = np.empty(codes.size)
    few = np.flatnonzero(counts[codes] <= FEW)
    below[few] = _compared(columns, weights, codes, few)
    for k in np.flatnonzero(counts > FEW):
        own = codes == k
        below[own] = _sorted(columns[k], weights, own)
    # The weights of a class make 1. Of its own rows, with itself, a row has half below it in the mean.
    ranks: FloatArray = (class_means(below, codes, classes) - 0.5) / (present.sum() - 1)
    return ranks


def _compared(columns: FloatArray, weights: FloatArray, codes: IntArray, rows: IntArray) -> FloatArray:
    """For each of these rows, the weight of all rows whose logit for its class is smaller, and half of that of equal
    ones: by comparing it with all, which for classes of few rows costs less than sorting."""
    halves = (weights / 2).astype(columns.dtype)
    size = max(AT_A_TIME // codes.size, 1)
    found = [np.empty(0)]
    for part in (rows[start : start + size] for start in range(0, rows.size, size)):
        logits, own = columns[codes[part]], columns[codes[part], part][:, None]
        smaller, no_larger = ((logits < own).view(np.int8), (logits <= own).view(np.int8))
        found.append((smaller + no_larger).astype(columns.dtype) @ halves)
    return np.concatenate(found)


def _sorted(column: FloatArray, weights: FloatArray, own: BoolArray) -> FloatArray:
    """The same for all rows of one class, by sorting its column."""
    order = np.argsort(column)
    totals = np.concatenate([[0.0], np.cumsum(weights[order])])
    ordered, asked = column[order], column[own]
    places = [np.searchsorted(ordered, asked, side=side) for side in ("left", "right")]
    found: FloatArray = (totals[places[0]] + totals[places[1]]) / 2
    return found


def adjusted_recalls(logits: FloatArray, codes: IntArray, counts: FloatArray) -> FloatArray:
    """Recall of every class under z - log counts, nan without rows; a class without examples counts as one."""
    predicted = (logits - np.log(np.maximum(counts, 1.0)).astype(logits.dtype)).argmax(axis=1)
    return class_means(predicted == codes, codes, logits.shape[1])


def nearest_recalls(
    features: FloatArray, codes: IntArray, means: FloatArray, counts: IntArray | None = None
) -> FloatArray:
    """Share of every class's rows that are nearest to their own class mean.

    `counts`: examples behind each mean when the rows are among them and leave themselves out; None for other rows. A
    class of one example is never nearest to itself left out.
    """
    known: BoolArray = np.asarray(np.isfinite(means).all(axis=1))
    if not known.any():
        return np.full(len(means), np.nan)
    # In the precision of the features: the common part is subtracted first, so that no digits are lost.
    centre = means[known].mean(axis=0).astype(features.dtype)
    points = np.where(known[:, None], means - centre, 0.0).astype(features.dtype)
    features = features - centre
    distances = features @ (-2 * points.T)  # squared, less the row's own squared length
    distances += np.where(known, np.square(points).sum(axis=1), np.inf)
    if counts is not None:
        n = np.arange(codes.size)
        own, length = counts[codes], np.einsum("ij,ij->i", features, features)
        with np.errstate(divide="ignore", invalid="ignore"):
            left_out = (distances[n, codes] + length).clip(0) * np.square(own / (own - 1)) - length
        distances[n, codes] = np.where(own > 1, left_out, np.inf)
    right = distances.argmin(axis=1) == codes
    return class_means(right & known[codes], codes, len(means))


def class_means(values: NDArray[Any], codes: IntArray, classes: int) -> FloatArray:
    """The mean of the values of every class, nan without rows."""
    counts = np.bincount(codes, minlength=classes)
    with np.errstate(invalid="ignore"):
        means: FloatArray = np.bincount(codes, weights=values, minlength=classes) / np.where(counts > 0, counts, np.nan)
    return means
