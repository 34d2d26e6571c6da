"""The effect of post-hoc logit adjustment (Menon et al. 2021) on balanced accuracy, measured on recorded logits.

With d_i = [argmax_k (f_k - tau log n_k) = y_i] - [argmax_k f_k = y_i] for a held-out example i, the gain and its
squared error are

    gain = (1/K) sum_k mean of d_i over class k,    error^2 = (1/K^2) sum_k v_k / m_k

over the K classes that have m_k >= 1 held-out examples. tau and the counts n_k are given, not fitted to these logits,
so no correction for a choice is needed. v_k is the variance of d within class k with the variance pooled over all
classes as one more observation, because one or two examples do not show their own variance. Half a changed answer is
added each way, as in `metrics.shares`, so that classes whose few answers agree do not seem certain. The interval is
Student's with the degrees of freedom of Welch and Satterthwaite.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.statistics import student_reach
from lopsided.core.validation import FloatArray, check_in_range, check_matrix, codes_among

LEVEL = 0.9


@dataclass(frozen=True)
class PosthocGain:
    """The gain in balanced accuracy with its 90 % interval and standard error; `before` is the accuracy it adds to."""

    gain: float
    low: float
    high: float
    error: float
    before: float


def posthoc_gain(logits: ArrayLike, codes: ArrayLike, counts: ArrayLike, tau: float = 1.0) -> PosthocGain:
    """The gain in balanced accuracy from subtracting tau log(counts) from held-out logits.

    Parameters
    ----------
    logits : array, n x K
        Held-out logits or log probabilities.
    codes : array of n whole numbers
        True classes, 0 to K - 1. Classes without an example do not count.
    counts : array of K
        Training examples of every class as they were shown, or shares; a class without any counts as one example.
    tau : float
        Strength of the adjustment; 1 is Bayes' rule for equally frequent classes.

    Returns
    -------
    PosthocGain

    Examples
    --------
    >>> found = posthoc_gain([[2.0, 1.0], [3.0, 0.0], [1.0, 0.5]], [0, 0, 1], [90, 10])
    >>> found.gain, found.before
    (0.25, 0.5)
    """
    scores = check_matrix(logits, "logits")
    rows, classes = scores.shape
    known = [str(code) for code in range(classes)]
    true = codes_among(codes, known, "codes among the columns of the logits", "number classes from 0", length=rows)
    shown = shown_counts(counts, classes)
    strength = check_in_range(tau, "tau", -100.0, 100.0)
    before = scores.argmax(axis=1) == true
    after = (scores - strength * np.log(shown)).argmax(axis=1) == true
    change = after.astype(np.float64) - before
    present, own, held = np.unique(true, return_inverse=True, return_counts=True)
    means = np.bincount(own, weights=change) / held
    squares = np.bincount(own, weights=np.square(change - means[own]))
    # where every class has a single example, the variance around the common mean
    pooled = squares.sum() / (rows - present.size) if rows > present.size else float(change.var())
    variances = (squares + pooled) / held
    parts = variances / held + 1.0 / (held * rows)
    error = math.sqrt(float(parts.sum())) / present.size
    degrees = float(np.square(parts.sum()) / (np.square(parts) / held).sum())
    gain = float(means.mean())
    half = student_reach(LEVEL, degrees) * error
    level = float((np.bincount(own, weights=before) / held).mean())
    return PosthocGain(gain, max(gain - half, -1.0), min(gain + half, 1.0), error, level)


def shown_counts(counts: ArrayLike, classes: int) -> FloatArray:
    """Training counts or shares of the classes; a class without examples counts as one example, or as the smallest."""
    expected, remedy = f"counts of {classes} classes, none below 0", "give one number per class"
    try:
        sizes = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(expected, f"a {type(counts).__name__}", remedy) from None
    if sizes.shape != (classes,):
        raise InputError(expected, f"shape {sizes.shape}", remedy)
    if not np.isfinite(sizes).all() or (sizes < 0).any() or not sizes.any():
        raise InputError(expected, f"{sizes.tolist()}", remedy)
    return np.where(sizes > 0, sizes, min(1.0, sizes[sizes > 0].min()))
