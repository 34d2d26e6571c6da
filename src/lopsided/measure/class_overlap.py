"""How well simple rules separate the classes of a labelled set before any training: recall by class of

    nearest mean the class whose mean is nearest; each example is left out of its own mean
    nearest neighbour  the label of the nearest other example, which favours large classes as training does
    linear             linear discriminants with shrunk covariance and the class frequencies, on folds left out

A class that all three miss is hard for a network too; the recall law uses them (`theory.recall_law`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve
from scipy.sparse import csr_array

from lopsided.core.errors import InputError
from lopsided.core.folds import deal
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.class_separation import nearest_recalls

Rates = tuple[FloatArray, FloatArray, FloatArray]  # by the nearest mean, the nearest neighbour, the linear rule
_BLOCK = 512
_FOLDS = 5


@dataclass(frozen=True)
class ClassOverlap:
    """Recall of every class by the three rules, nan where a class has one example and the rule needs two."""

    nearest_mean: FloatArray
    nearest_neighbour: FloatArray
    linear: FloatArray

    @property
    def rates(self) -> Rates:
        """All three."""
        return self.nearest_mean, self.nearest_neighbour, self.linear


def class_overlap(inputs: ArrayLike, labels: ArrayLike, *, classes: int | None = None, seed: int = 0) -> ClassOverlap:
    """Measure the overlap of classes; the time grows with the square of the number of rows.

    Parameters
    ----------
    inputs : n x ..., pictures or features; rows are flattened.
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
    rows = np.asarray(inputs, dtype=np.float64).reshape(codes.size, -1)
    if not np.isfinite(rows).all():
        raise InputError("finite inputs", "NaN or infinite entries", "remove or fill them first")
    rows = rows - rows.mean(axis=0)
    with np.errstate(invalid="ignore"):
        means = _class_sums(rows, codes, size) / np.where(counts > 0, counts, np.nan)[:, None]
    return ClassOverlap(
        nearest_recalls(rows, codes, means, counts),
        _recalls(_neighbours(rows, codes), codes, size),
        _recalls(_linear(rows, codes, size, seed), codes, size),
    )


def _neighbours(rows: FloatArray, codes: IntArray) -> IntArray:
    """The class of the nearest other row, of equally near ones the first. Each pair is compared once."""
    squares = np.square(rows).sum(axis=1)
    nearest, found = np.full(codes.size, np.inf), np.empty_like(codes)
    for start in range(0, codes.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        distances = squares[start:] + squares[block, None] - 2 * rows[block] @ rows[start:].T
        np.fill_diagonal(distances, np.inf)
        later = distances[:, _BLOCK:]
        for first, table in ((start, distances.T), (start + _BLOCK, later)):  # of the block's rows, of those after it
            place = table.argmin(axis=0)
            least = table[place, np.arange(place.size)]
            closer = np.flatnonzero(least < nearest[first : first + place.size])
            nearest[first + closer], found[first + closer] = least[closer], codes[start + place[closer]]
    return found


def _linear(rows: FloatArray, codes: IntArray, classes: int, seed: int) -> IntArray:
    """Predictions of folds left out, by discriminants  x^T S^{-1} m_k - m_k^T S^{-1} m_k / 2 + log n_k  with the
    within-class covariance S shrunk to its mean variance (Ledoit and Wolf).

    Sums and products of rows, less the means of their classes, are taken once a fold; those of the other folds are what
    is left of the whole.
    """
    fold = deal(codes, None, _FOLDS, seed, 0)
    every = np.bincount(codes, minlength=classes)
    class_means = _class_sums(rows, codes, classes) / np.maximum(every, 1)[:, None]
    within = rows - class_means[codes]
    folds = [fold == number for number in range(_FOLDS)]
    sums = [_class_sums(within[own], codes[own], classes) for own in folds]
    products = [within[own].T @ within[own] for own in folds]
    predicted = np.full(codes.size, -1)
    for number, own in enumerate(folds):
        counts = every - np.bincount(codes[own], minlength=classes)
        present = np.flatnonzero(counts)
        totals = (sum(sums) - sums[number])[present]
        shifts = totals / counts[present, None]
        means, place = class_means[present] + shifts, np.searchsorted(present, codes[~own])
        scatter = sum(products) - products[number] - shifts.T @ totals
        lengths = np.square(within[~own] - shifts[place]).sum(axis=1)
        solved = solve(_shrunk(scatter / lengths.size, lengths), means.T, assume_a="pos")
        scores = rows[own] @ solved - (means.T * solved).sum(axis=0) / 2 + np.log(counts[present])
        predicted[own] = present[scores.argmax(axis=1)]
    return predicted


def _class_sums(rows: FloatArray, codes: IntArray, classes: int) -> FloatArray:
    """classes x columns: the sum of every class's rows."""
    each = csr_array((np.ones(codes.size), (codes, np.arange(codes.size))), shape=(classes, codes.size))
    found: FloatArray = each @ rows
    return found


def _shrunk(covariance: FloatArray, lengths: FloatArray) -> FloatArray:
    """The covariance of n centred rows with these squared lengths, shrunk to its mean variance (Ledoit and Wolf 2004):
    the share of the latter is  (sum |x|^4 / n - |S|^2) / (n |S - m I|^2), at most 1; a little more makes it regular."""
    mean = np.trace(covariance) / len(covariance)
    square = np.square(covariance).sum()
    apart = square - len(covariance) * mean**2
    noise = (np.square(lengths).mean() - square) / lengths.size
    share = min(noise / apart, 1.0) if apart > 0 and noise > 0 else 0.0
    found: FloatArray = (1 - share) * covariance
    found.flat[:: len(covariance) + 1] += share * mean + 1e-9 * np.trace(covariance) or 1.0
    return found


def _recalls(predicted: IntArray, codes: IntArray, classes: int) -> FloatArray:
    counts = np.bincount(codes, minlength=classes)
    with np.errstate(invalid="ignore"):
        right = np.bincount(codes, weights=predicted == codes, minlength=classes)
        found: FloatArray = right / np.where(counts > 0, counts, np.nan)
    return found
