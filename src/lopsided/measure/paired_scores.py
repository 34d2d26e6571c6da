"""From right answers, example by example, to metrics with intervals, and to paired differences between arms.

Every example is tested once in each repeat of the cross-validation; m_i is the share of repeats in which it was
answered rightly. With part p (a class, a group, everything) of n_p examples, every metric is a sum of shares,

    theta = sum_p a_p r_p,    r_p = mean of m_i over p,    u_i = a_p (m_i - r_p) / n_p   (i in p)

all parts alike for balanced accuracy, the lowest part alone for the worst class or group. The difference of two arms
has u_i = u_i(arm) - u_i(other), so what both answer alike falls out, and its squared error is the sum of

    sum_i u_i^2 n_p / (n_p - 1)             which examples there are
    max(0, s^2 - test noise) / (folds - 1)  which training sets there are
    sum_p a_p^2 / (n_p sum n)               one changed answer

s^2 is the variance between folds of z_f = folds x sum of u_i in fold f; what the examples of a fold explain of it is
folds x sum_i u_i^2, and the rest comes from training: models of different folds share rows and err together. 1/(folds
- 1) is the factor of Nadeau and Bengio (2003) for that, who put it on all of s^2. So did this file before: the error
was then 1.3 to 2 times the true deviation of gains between data sets, its quantile that of nine degrees, and single
95% intervals excluded zero once in 900 where nothing helps. No estimate is unbiased (Bengio and Grandvalet 2004);
bench/trial.py measures what this one does. The last term is the half a changed answer each way of Agresti and
Min (2005): without it, arms whose few answers agree by luck would be certain to be equal.

The lowest part is the one of the pooled answers, of each arm by itself.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lopsided.core.validation import BoolArray, FloatArray, IntArray

LEVEL = 0.95


@dataclass(frozen=True)
class Answers:
    """Whether each example was answered rightly, and the fold it was tested in (both repeats x n); class and group."""

    right: BoolArray
    fold: IntArray
    classes: IntArray
    groups: IntArray

    @cached_property
    def shares(self) -> FloatArray:
        """m_i: the share of repeats in which each example was right."""
        return np.asarray(self.right.mean(axis=0))

    def parts(self, axis: str) -> IntArray:
        """The part of every example along class, group or everything."""
        if axis == "everything":
            return np.zeros_like(self.classes)
        return self.classes if axis == "class" else self.groups


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


@dataclass(frozen=True)
class Metric:
    """What is averaged: the answers of the parts along `axis` (class, group, everything), all, the lowest or `part`."""

    name: str
    axis: str
    pick: str = "all"
    part: int = -1


OVERALL = Metric("overall accuracy", "everything")
BALANCED = Metric("balanced accuracy", "class")
WORST_CLASS = Metric("worst class recall", "class", "lowest")
WORST_GROUP = Metric("worst group accuracy", "group", "lowest")
METRICS = {"overall": OVERALL, "balanced": BALANCED, "worst-class": WORST_CLASS, "worst-group": WORST_GROUP}


def class_recall(name: str, code: int) -> Metric:
    """The recall of one class."""
    return Metric(f"recall of {name}", "class", "one", code)


def group_accuracy(name: str, code: int) -> Metric:
    """The accuracy on one group."""
    return Metric(f"accuracy on {name}", "group", "one", code)


@dataclass(frozen=True)
class Judged:
    """Which classes and groups count in class-wise and group-wise metrics."""

    classes: tuple[int, ...]
    groups: tuple[int, ...]

    def parts(self, axis: str) -> list[int]:
        """Codes along an axis."""
        return {"class": list(self.classes), "group": list(self.groups), "everything": [0]}[axis]


@dataclass(frozen=True)
class _Linear:
    """theta; u_i in every repeat (repeats x n); how far one changed answer moves theta (a_p / n_p, n), the factor
    n_p / (n_p - 1) (n) and the squared floor."""

    value: float
    moves: FloatArray
    step: FloatArray
    unbiased: FloatArray
    floor: float


def estimate(metric: Metric, answers: Answers, judged: Judged) -> Estimate:
    """The metric of one arm."""
    found = _linear(metric, answers, judged)
    return _estimate(found, answers.fold, (0.0, 1.0))


def gain(metric: Metric, arm: Answers, against: Answers, judged: Judged) -> Estimate:
    """The paired difference of the metric between two arms on the same folds."""
    ours, theirs = _linear(metric, arm, judged), _linear(metric, against, judged)
    same = np.array_equal(ours.step, theirs.step)
    difference = _Linear(
        ours.value - theirs.value,
        ours.moves - theirs.moves,
        ours.step + theirs.step,
        ours.unbiased,
        ours.floor if same else ours.floor + theirs.floor,
    )
    return _estimate(difference, arm.fold, (-1.0, 1.0))


def _linear(metric: Metric, answers: Answers, judged: Judged) -> _Linear:
    codes = answers.parts(metric.axis)
    sizes = np.bincount(codes).astype(float)
    shares = np.bincount(codes, weights=answers.shares) / np.maximum(sizes, 1.0)
    parts = judged.parts(metric.axis)
    if metric.pick == "one":
        parts = [metric.part]
    elif metric.pick == "lowest":
        parts = [parts[int(np.argmin(shares[parts]))]]
    weight = np.zeros(sizes.size)
    weight[parts] = 1.0 / len(parts)
    step = (weight / np.maximum(sizes, 1.0))[codes]
    concerned = sizes[parts]
    floor = float((weight[parts] ** 2 / np.maximum(concerned * concerned.sum(), 1.0)).sum())
    unbiased = (sizes / np.maximum(sizes - 1.0, 1.0))[codes]
    return _Linear(float(np.dot(weight, shares)), step * (answers.right - shares[codes]), step, unbiased, floor)


def _estimate(found: _Linear, fold: IntArray, bounds: tuple[float, float]) -> Estimate:
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
