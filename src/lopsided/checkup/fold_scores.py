"""From right answers, fold by fold, to metrics with intervals, and to paired differences between arms.

With c_fp right answers of t_fp examples of part p (a class, a group, everything) in fold f of J = folds x repeats,
every metric is a sum of shares, theta = sum_p a_p sum_f c_fp / sum_f t_fp: all parts alike for balanced accuracy, the
lowest part alone for the worst class or group. Its value in fold f is linearised, z_f = theta + sum_p a_p (c_fp - r_p
t_fp) / mean t_p, so that folds without an example of a part need no special case.

Intervals are those of the corrected resampled t-test (Nadeau and Bengio 2003): training sets of different folds
overlap, so the variance of the mean of J differences is (1/J + 1/(folds - 1)) s^2, not s^2/J; the plain bootstrap over
folds and the usual t-test ignore this and declare winners where there are none. The price is power: on 150 data sets
where no arm could help (bench/trial.py) no winner was declared, and of 900 single 95% intervals in balanced accuracy
one excluded zero. The lowest part is the one of the
pooled answers, of each arm by itself; its variance is never taken below the binomial one with one success and one
failure added, because ten equal answers of a class with five examples are no certainty.
"""

from dataclasses import dataclass

import numpy as np

from lopsided.core.validation import FloatArray

LEVEL = 0.95


@dataclass(frozen=True)
class Answers:
    """Right answers (J x classes x groups) in each fold, of `total` (same shape) examples tested."""

    right: FloatArray
    total: FloatArray
    folds: int

    @property
    def fold_count(self) -> int:
        """J = folds x repeats."""
        return int(self.right.shape[0])


@dataclass(frozen=True)
class Estimate:
    """A number with its interval; `error` is its standard error and `p` the two-sided p-value of being zero."""

    value: float
    low: float
    high: float
    error: float
    p: float

    def widened(self, comparisons: int, degrees: int) -> tuple[float, float]:
        """The interval that holds for `comparisons` such numbers at once (Bonferroni)."""
        half = _quantile(1 - (1 - LEVEL) / max(comparisons, 1), degrees) * self.error
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


def estimate(metric: Metric, answers: Answers, judged: "Judged") -> Estimate:
    """The metric of one arm."""
    values, lowest = _fold_values(metric, answers, judged)
    return _estimate(values, answers.folds, _floor(metric, [(answers, lowest)]), bounds=(0.0, 1.0))


def gain(metric: Metric, arm: Answers, against: Answers, judged: "Judged") -> Estimate:
    """The paired difference of the metric between two arms on the same folds."""
    ours, our_lowest = _fold_values(metric, arm, judged)
    theirs, their_lowest = _fold_values(metric, against, judged)
    if our_lowest is not None and our_lowest == their_lowest:
        floor = _paired_floor(metric, arm, against, our_lowest)
    else:
        floor = _floor(metric, [(arm, our_lowest), (against, their_lowest)])
    return _estimate(ours - theirs, arm.folds, floor, bounds=(-1.0, 1.0))


@dataclass(frozen=True)
class Judged:
    """Which classes and groups count in class-wise and group-wise metrics."""

    classes: tuple[int, ...]
    groups: tuple[int, ...]

    def parts(self, axis: str) -> list[int]:
        """Codes along an axis."""
        return {"class": list(self.classes), "group": list(self.groups), "everything": [0]}[axis]


def _along(axis: str, counts: FloatArray) -> FloatArray:
    """J x parts."""
    if axis == "class":
        return np.asarray(counts.sum(axis=2))
    return np.asarray(counts.sum(axis=1) if axis == "group" else counts.sum(axis=(1, 2))[:, None])


def _fold_values(metric: Metric, answers: Answers, judged: Judged) -> tuple[FloatArray, int | None]:
    """z_f for every fold, and the part that was picked where one was."""
    parts = judged.parts(metric.axis)
    right, total = _along(metric.axis, answers.right), _along(metric.axis, answers.total)
    pooled = right.sum(axis=0) / np.maximum(total.sum(axis=0), 1.0)
    picked: int | None = None
    if metric.pick == "one":
        picked = metric.part
    elif metric.pick == "lowest":
        picked = min(parts, key=lambda part: float(pooled[part]))
    chosen = parts if picked is None else [picked]
    mean_total = np.maximum(total.mean(axis=0), 1e-300)
    values = pooled + (right - pooled * total) / mean_total
    return values[:, chosen].mean(axis=1), picked


def _floor(metric: Metric, picked: list[tuple[Answers, int | None]]) -> float:
    """Binomial variance of the picked parts with one success and one failure added; 0 where parts are averaged."""
    variance = 0.0
    for answers, part in picked:
        if part is not None:
            right, distinct = _distinct(metric, answers, part)
            share = (right + 1) / (distinct + 2)
            variance += share * (1 - share) / max(distinct, 1.0)
    return variance


def _paired_floor(metric: Metric, arm: Answers, against: Answers, part: int) -> float:
    """The same for the share of a part's examples whose answer changed, in net."""
    ours, distinct = _distinct(metric, arm, part)
    theirs, _ = _distinct(metric, against, part)
    share = (abs(ours - theirs) + 1) / (distinct + 2)
    return share * (1 - share) / max(distinct, 1.0)


def _distinct(metric: Metric, answers: Answers, part: int) -> tuple[float, float]:
    """Right answers and examples of a part, each example once however many repeats there were."""
    repeats = answers.fold_count / answers.folds
    right, total = _along(metric.axis, answers.right), _along(metric.axis, answers.total)
    return float(right[:, part].sum() / repeats), float(total[:, part].sum() / repeats)


def _estimate(values: FloatArray, folds: int, floor: float, bounds: tuple[float, float]) -> Estimate:
    from scipy.stats import t

    count = values.size
    value = float(values.mean())
    variance = float(values.var(ddof=1)) * (1.0 / count + 1.0 / (folds - 1))
    error = float(np.sqrt(max(variance, floor)))
    if error < 1e-12:  # no answer differs between the arms
        return Estimate(value, value, value, 0.0, 1.0 if abs(value) < 1e-12 else 0.0)
    half = _quantile(LEVEL, count - 1) * error
    p = float(2 * t.sf(abs(value) / error, count - 1))
    return Estimate(value, max(value - half, bounds[0]), min(value + half, bounds[1]), error, p)


def _quantile(level: float, degrees: int) -> float:
    from scipy.stats import t

    return float(t.ppf(0.5 + level / 2, degrees))
