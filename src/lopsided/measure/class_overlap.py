"""How well simple rules separate the classes of a labelled set before any training: recall by class of

    nearest mean the class whose mean is nearest; each example is left out of its own mean
    nearest neighbour  the label of the nearest other example, which favours large classes as training does
    linear             linear discriminants with shrunk covariance and the class frequencies, on folds left out

A class that all three miss is hard for a network too; the recall law uses them (`theory.recall_law`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.folds import deal
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.class_separation import nearest_recalls

_BLOCK = 512
_FOLDS = 5
MOST_ROWS = 6000  # a neighbour among more costs minutes; larger sets are subsampled class by class


@dataclass(frozen=True)
class ClassOverlap:
    """Recall of every class by the three rules, nan where a class has one example and the rule needs two."""

    counts: IntArray
    nearest_mean: FloatArray
    nearest_neighbour: FloatArray
    linear: FloatArray


def class_overlap(inputs: ArrayLike, labels: ArrayLike, *, classes: int | None = None, seed: int = 0) -> ClassOverlap:
    """Measure the overlap of classes.

    Parameters
    ----------
    inputs : n x ..., pictures or features; rows are flattened.
    labels : class codes 0..K-1.
    classes : K; by default, the largest code plus one.
    seed : of the folds, and of the rows where there are more than 6,000.
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
    if codes.size > MOST_ROWS:
        chosen = _spread(codes, counts, seed)
        rows, codes = rows[chosen], codes[chosen]
    rows = rows - rows.mean(axis=0)
    own = np.bincount(codes, minlength=size)
    with np.errstate(invalid="ignore"):
        sums = np.zeros((size, rows.shape[1]))
        np.add.at(sums, codes, rows)
        means = sums / np.where(own > 0, own, np.nan)[:, None]
    return ClassOverlap(
        counts,
        nearest_recalls(rows, codes, means, own),
        _recalls(_neighbours(rows, codes), codes, size),
        _recalls(_linear(rows, codes, size, seed), codes, size),
    )


def _spread(codes: IntArray, counts: IntArray, seed: int) -> IntArray:
    """Rows in the proportions of the classes, each class keeping what a share of it rounds up to."""
    share = MOST_ROWS / codes.size
    random = generator(seed, "class overlap")
    kept = [random.permutation(np.flatnonzero(codes == k))[: int(np.ceil(share * n))] for k, n in enumerate(counts)]
    return np.sort(np.concatenate(kept))


def _neighbours(rows: FloatArray, codes: IntArray) -> IntArray:
    """The class of the nearest other row."""
    squares = np.square(rows).sum(axis=1)
    found = np.empty_like(codes)
    for start in range(0, codes.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        distances = squares - 2 * rows[block] @ rows.T
        distances[np.arange(len(distances)), np.arange(start, start + len(distances))] = np.inf
        found[block] = codes[distances.argmin(axis=1)]
    return found


def _linear(rows: FloatArray, codes: IntArray, classes: int, seed: int) -> IntArray:
    """Predictions of folds left out, by discriminants  x^T S^{-1} m_k - m_k^T S^{-1} m_k / 2 + log n_k  with the
    within-class covariance S shrunk to its mean variance (Ledoit and Wolf)."""
    from sklearn.covariance import ledoit_wolf

    fold = deal(codes, None, _FOLDS, seed, 0)
    predicted = np.full(codes.size, -1)
    for number in range(_FOLDS):
        train, test = fold != number, fold == number
        counts = np.bincount(codes[train], minlength=classes)
        present = np.flatnonzero(counts)
        means = np.array([rows[train][codes[train] == k].mean(axis=0) for k in present])
        place = np.searchsorted(present, codes[train])
        covariance, _ = ledoit_wolf(rows[train] - means[place], assume_centered=True)
        solved = np.linalg.solve(covariance + 1e-9 * np.trace(covariance) * np.eye(len(covariance)), means.T)
        scores = rows[test] @ solved - (means.T * solved).sum(axis=0) / 2 + np.log(counts[present])
        predicted[test] = present[scores.argmax(axis=1)]
    return predicted


def _recalls(predicted: IntArray, codes: IntArray, classes: int) -> FloatArray:
    counts = np.bincount(codes, minlength=classes)
    with np.errstate(invalid="ignore"):
        right = np.bincount(codes, weights=predicted == codes, minlength=classes)
        found: FloatArray = right / np.where(counts > 0, counts, np.nan)
    return found
