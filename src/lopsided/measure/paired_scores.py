"""From right answers, example by example, to a metric with its interval, and to paired differences between arms.

A metric is theta with u_i, what every answer does to it (`measure.metrics`). The difference of two arms has u_i =
u_i(arm) - u_i(other), so what both answer alike falls out, and its squared error is the sum of

    sum_i u_i^2 n_p / (n_p - 1)             which examples there are (n_p: those of the part of i)
    max(0, s^2 - test noise) / (folds - 1)  which training sets there are
    the metric's floor                      one changed answer

s^2 is the variance between folds of z_f = folds x sum of u_i in fold f; what the examples of a fold explain of it is
folds x sum_i u_i^2, and the rest comes from training: models of different folds share rows and err together. 1/(folds
- 1) is the factor of Nadeau and Bengio (2003) for that, who put it on all of s^2. So did this file before: the error
was then 1.3 to 2 times the true deviation of gains between data sets, its quantile that of nine degrees, and single
95% intervals excluded zero once in 900 where nothing helps. No estimate is unbiased (Bengio and Grandvalet 2004);
bench/trial.py measures what this one does.
"""

import math
from dataclasses import dataclass

import numpy as np

from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.metrics.contract import Answers, Influence, Judged, Metric

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number with its interval; `error` is its standard error, `p` the two-sided p-value of being zero, `degrees` of
    freedom are the examples it rests on less one."""

    value: float
    low: float
    high: float
    error: float
    p: float
    degrees: float = float("inf")

    def widened(self, comparisons: int) -> tuple[float, float]:
        """The interval that holds for `comparisons` such numbers at once (Bonferroni)."""
        half = _quantile(1 - (1 - LEVEL) / max(comparisons, 1), self.degrees) * self.error
        return self.value - half, self.value + half


def estimate(metric: Metric, answers: Answers, judged: Judged) -> Estimate:
    """The metric of one arm."""
    return _estimate(metric.influence(answers, judged), answers.fold, (0.0, 1.0))


def gain(metric: Metric, arm: Answers, against: Answers, judged: Judged) -> Estimate:
    """The paired difference of the metric between two arms on the same folds."""
    ours, theirs = metric.influence(arm, judged), metric.influence(against, judged)
    same = np.array_equal(ours.step, theirs.step)
    difference = Influence(
        ours.value - theirs.value,
        ours.moves - theirs.moves,
        ours.step + theirs.step,
        ours.unbiased,
        ours.floor if same else ours.floor + theirs.floor,
    )
    return _estimate(difference, arm.fold, (-1.0, 1.0))


def _estimate(found: Influence, fold: IntArray, bounds: tuple[float, float]) -> Estimate:
    from scipy.stats import t

    of_examples = float(np.square(found.moves.mean(axis=0)) @ found.unbiased)
    folds = int(fold.max()) + 1
    error = math.sqrt(of_examples + _of_training(found.moves, fold, folds) / (folds - 1) + found.floor)
    degrees = float(max(int(np.count_nonzero(found.step)) - 1, 1))
    half = _quantile(LEVEL, degrees) * error
    p = float(2 * t.sf(abs(found.value) / error, degrees))
    low, high = max(found.value - half, bounds[0]), min(found.value + half, bounds[1])
    return Estimate(found.value, low, high, error, p, degrees)


def _of_training(moves: FloatArray, fold: IntArray, folds: int) -> float:
    """The variance between folds that their examples do not explain."""
    values = folds * np.concatenate(
        [np.bincount(own, weights=moved, minlength=folds) for own, moved in zip(fold, moves, strict=True)]
    )
    explained = folds * float(np.square(moves).sum()) / len(moves)
    return max(0.0, float(values.var(ddof=1)) - explained)


def _quantile(level: float, degrees: float) -> float:
    from scipy.stats import t

    return float(t.ppf(0.5 + level / 2, degrees))
