"""How well simple rules separate the classes of a labelled set before any training: recall by class of

    nearest mean the class whose mean is nearest; each example is left out of its own mean
    nearest neighbour  the label of the nearest other example, which favours large classes as training does; of
                       several that are equally near, the share that has the right one
    linear             linear discriminants with shrunk covariance and the class frequencies, on folds left out

A class that all three miss is hard for a network too; the recall law uses them (`theory.recall_law`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve
from scipy.sparse import csr_array

from lopsided.core.errors import InputError
from lopsided.core.folds import deal
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.class_separation import class_means, nearest_recalls

RuleRecalls = tuple[FloatArray, FloatArray, FloatArray]  # by the nearest mean, the nearest neighbour, the linear rule
_BLOCK = 512
_FOLDS = 5


@dataclass(frozen=True)
class ClassOverlap:
    """Recall of every class by the three rules, nan where a class has one example and the rule needs two."""

    nearest_mean: FloatArray
    nearest_neighbour: FloatArray
    linear: FloatArray

    @property
    def rates(self) -> RuleRecalls:
        """All three."""
        return self.nearest_mean, self.nearest_neighbour, self.linear


def class_overlap(inputs: ArrayLike, labels: ArrayLike, *, classes: int | None = None, seed: int = 0) -> ClassOverlap:
    """Measure the overlap of classes; the time grows with the square of the number of rows.

    Parameters
    ----------
    inputs : n x ..., pictures or features; rows are flattened. Single precision takes half the time of double.
    labels : class codes 0..K-1.
    classes : K; by default, the largest code plus one.
    seed : of the folds.
    """
    codes = np.asarray(labels)
    if codes.ndim != 1 or codes.dtype.kind not in "iu" or codes.size < 2 or codes.min() < 0:
        raise InputError(
            "labels coded as 0..K-1, two or more", f"{codes.dtype} of shape {codes.shape}", "code them first"
        )
    size = int(codes.max()) + 1 if classes is None else classes
    counts = np.bincount(codes, minlength=size)
    rows = np.asarray(inputs).reshape(codes.size, -1)
    if not np.isfinite(rows).all():
        raise InputError("finite inputs", "NaN or infinite entries", "remove or fill them first")
    rows = _centred(rows)
    with np.errstate(invalid="ignore"):
        means = _class_sums(rows, codes, size) / np.where(counts > 0, counts, np.nan)[:, None]
    return ClassOverlap(
        nearest_recalls(rows, codes, means, counts),
        class_means(_neighbours(rows, codes), codes, size),
        class_means(_linear(rows, codes, size, seed) == codes, codes, size),
    )


def _centred(rows: NDArray[Any]) -> FloatArray:
    """Rows less their mean, in units of their spread, so that products of single precision do not overflow."""
    precision = np.float32 if rows.dtype == np.float32 else np.float64
    centred = rows - rows.mean(axis=0, dtype=np.float64)
    found: FloatArray = (centred / (centred.std() or 1.0)).astype(precision)
    return found


def _neighbours(rows: FloatArray, codes: IntArray) -> FloatArray:
    """For every row, the share of its nearest other rows that have its class. Each pair is compared once."""
    squares = np.square(rows).sum(axis=1)
    near = _Nearest(squares, codes)
    for start in range(0, codes.size, _BLOCK):
        block, after = slice(start, start + _BLOCK), slice(start + _BLOCK, None)
        distances = (-2 * rows[block]) @ rows[start:].T
        distances += squares[start:]
        distances += squares[block, None]
        np.fill_diagonal(distances, np.inf)
        near.look(block, distances, codes[start:])
        near.look(after, distances[:, _BLOCK:].T, codes[block])
    share: FloatArray = near.own / np.maximum(near.every, 1.0)
    return share


class _Nearest:
    """The nearest rows so far: how near, how `every` many of them, and how many are of the row's `own` class. Those
    whose distances differ by rounding alone are equally near, whatever the order of the rows."""

    def __init__(self, squares: FloatArray, codes: IntArray) -> None:
        self._squares, self._codes = squares, codes
        self._distance = np.full_like(squares, np.inf)
        self.own, self.every = np.zeros(codes.size), np.zeros(codes.size)

    def look(self, rows: slice, distances: FloatArray, codes: IntArray) -> None:
        """Further rows, which have these codes, at these distances from some `rows`."""
        if not distances.size:
            return
        least, known = distances.min(axis=1), self._distance[rows]
        rounding = 64 * np.finfo(least.dtype).eps * (self._squares[rows] + least)
        row, column = np.nonzero(distances <= (least + rounding)[:, None])
        agree = self._codes[rows][row] == codes[column]
        nearer, no_further = least < known - rounding, least <= known + rounding
        for total, weights in ((self.own, agree), (self.every, None)):
            found = np.bincount(row, weights=weights, minlength=least.size)
            total[rows] = np.where(nearer, 0.0, total[rows]) + np.where(no_further, found, 0.0)
        self._distance[rows] = np.minimum(known, least)


def _linear(rows: FloatArray, codes: IntArray, classes: int, seed: int) -> IntArray:
    """Predictions of folds left out, by discriminants  x^T S^{-1} m_k - m_k^T S^{-1} m_k / 2 + log n_k  with the
    within-class covariance S shrunk to its mean variance (Ledoit and Wolf).

    Sums and products of rows, less the means of their classes, are taken once a fold; those of the other folds are what
    is left of the whole.
    """
    fold = deal(codes, None, _FOLDS, seed, 0)
    every = np.bincount(codes, minlength=classes)
    middles = _class_sums(rows, codes, classes) / np.maximum(every, 1)[:, None]
    within = (rows - middles[codes]).astype(rows.dtype)
    rounding = max(100.0 * float(np.finfo(rows.dtype).eps), 1e-9)  # of the sums of thousands of products
    folds = [fold == number for number in range(_FOLDS)]
    sums = [_class_sums(within[own], codes[own], classes) for own in folds]
    products = [(within[own].T @ within[own]).astype(np.float64) for own in folds]
    all_sums, all_products, predicted = sum(sums), sum(products), np.full(codes.size, -1)
    for number, own in enumerate(folds):
        counts = every - np.bincount(codes[own], minlength=classes)
        present = np.flatnonzero(counts)
        totals = (all_sums - sums[number])[present]
        shifts = totals / counts[present, None]
        means, place = middles[present] + shifts, np.searchsorted(present, codes[~own])
        scatter = all_products - products[number] - shifts.T @ totals
        lengths = np.square(within[~own] - shifts[place].astype(rows.dtype)).sum(axis=1)
        solved = solve(_shrunk(scatter / lengths.size, lengths, rounding), means.T, assume_a="pos")
        scores = rows[own] @ solved.astype(rows.dtype) - (means.T * solved).sum(axis=0) / 2 + np.log(counts[present])
        predicted[own] = present[scores.argmax(axis=1)]
    return predicted


def _class_sums(rows: FloatArray, codes: IntArray, classes: int) -> FloatArray:
    """classes x columns: the sum of every class's rows."""
    each = csr_array((np.ones(codes.size), (codes, np.arange(codes.size))), shape=(classes, codes.size))
    found: FloatArray = each @ rows
    return found


def _shrunk(covariance: FloatArray, lengths: FloatArray, rounding: float) -> FloatArray:
    """The covariance of n centred rows with these squared lengths, shrunk to its mean variance (Ledoit and Wolf 2004):
    the share of the latter is  (sum |x|^4 / n - |S|^2) / (n |S - m I|^2), at most 1; the rounding of its entries,
    relative to the trace, is added to make it regular."""
    mean = np.trace(covariance) / len(covariance)
    square = np.square(covariance).sum()
    apart = square - len(covariance) * mean**2
    noise = (np.square(lengths).mean() - square) / lengths.size
    share = min(noise / apart, 1.0) if apart > 0 and noise > 0 else 0.0
    found: FloatArray = (1 - share) * covariance
    found.flat[:: len(covariance) + 1] += share * mean + rounding * np.trace(covariance) or 1.0
    return found
