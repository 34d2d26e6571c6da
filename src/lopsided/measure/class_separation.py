"""How well logits or features separate every class from the others, from rows with labels:

margin      mean over its rows of  z_y - max_{j != y} z_j
AUC         P(z_k of a row of class k > z_k of a row of another class), other classes weighted evenly
adjusted    recall after subtracting log n_k from the logits: what is left of the class without the prior
nearest     share of rows nearest to their own class mean, each left out of it: |h - m_{-i}| = n/(n-1) |h - m|
"""

import numpy as np

from lopsided.core.validation import BoolArray, FloatArray, IntArray

FEW = 12  # rows of a class


def class_margins(logits: FloatArray, codes: IntArray) -> FloatArray:
    """Mean margin of every class, nan without rows."""
    others = logits.copy()
    n = np.arange(codes.size)
    own = others[n, codes]
    others[n, codes] = -np.inf
    return _class_means(own - others.max(axis=1), codes, logits.shape[1])


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
    weight, columns = 1.0 / counts[codes], np.ascontiguousarray(logits.T)
    rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts[:-1]).astype(np.int64))
    found = np.full(classes, np.nan)
    for k in np.flatnonzero(present):
        weights, column = weight.copy(), columns[k]
        weights[rows[k]] = 0.0
        below = _weight_below(column[rows[k]], column, weights)
        found[k] = below / (counts[k] * (present.sum() - 1))
    return found


def _weight_below(values: FloatArray, column: FloatArray, weights: FloatArray) -> float:
    """The weights of all entries of a column below each value, added up; of tied entries half counts as below."""
    if values.size <= FEW:  # comparing each costs less than sorting
        smaller, equal = column < values[:, None], column == values[:, None]
        return float((smaller.sum(axis=0) + 0.5 * equal.sum(axis=0)) @ weights)
    order = np.argsort(column)
    totals = np.concatenate([[0.0], np.cumsum(weights[order])])
    places = [np.searchsorted(column, values, side=side, sorter=order) for side in ("left", "right")]
    return float((totals[places[0]] + totals[places[1]]).sum() / 2)


def adjusted_recalls(logits: FloatArray, codes: IntArray, counts: FloatArray) -> FloatArray:
    """Recall of every class under z - log counts, nan without rows; a class without examples counts as one."""
    predicted = (logits - np.log(np.maximum(counts, 1.0))).argmax(axis=1)
    return _class_means(predicted == codes, codes, logits.shape[1])


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
    centre = means[known].mean(axis=0)
    points = np.where(known[:, None], means - centre, 0.0)
    features = features - centre
    distances = np.square(features).sum(axis=1)[:, None] - 2 * features @ points.T + np.square(points).sum(axis=1)
    distances[:, ~known] = np.inf
    if counts is not None:
        n = np.arange(codes.size)
        own = counts[codes]
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(own > 1, np.square(own / (own - 1)), np.inf)
            distances[n, codes] = np.where(np.isinf(scale), np.inf, distances[n, codes].clip(0) * scale)
    right = distances.argmin(axis=1) == codes
    return _class_means(right & known[codes], codes, len(means))


def _class_means(values: FloatArray, codes: IntArray, classes: int) -> FloatArray:
    counts = np.bincount(codes, minlength=classes)
    with np.errstate(invalid="ignore"):
        means: FloatArray = np.bincount(codes, weights=values, minlength=classes) / np.where(counts > 0, counts, np.nan)
    return means
