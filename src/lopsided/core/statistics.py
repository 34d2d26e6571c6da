"""Means with error bars over seeds, and what a rule may say of them: intervals, differences, trends, exponents.

Seeds are the replicates. With s the sample standard deviation over n of them, the interval of a mean is Student's,
mean +- t_{0.975, n-1} s / sqrt(n), and its standard error s / sqrt(n). One seed gives no interval, so no rule that
needs one can pass on it. Values under one seed share their random numbers across settings, so changes are judged on
paired differences.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.validation import FloatArray

CONFIDENCE = 0.95
DETECTION = 0.8  # the chance with which an effect must be seen to count as detectable


@dataclass(frozen=True)
class SeedMean:
    """A mean over seeds with its 95 % interval and the standard deviation that the papers' bands show; `detects` is the
    smallest effect whose interval would exclude zero four times in five."""

    mean: float
    low: float
    high: float
    deviation: float
    detects: float = math.inf

    def text(self, digits: int = 3) -> str:
        """`mean [low, high]`."""
        return f"{self.mean:.{digits}g} [{self.low:.{digits}g}, {self.high:.{digits}g}]"

    def percent(self) -> str:
        """`62.1 % [60.0, 64.2]`."""
        return f"{100 * self.mean:.1f} % [{100 * self.low:.1f}, {100 * self.high:.1f}]"

    def within(self, target: float, margin: float) -> bool:
        """The whole interval lies less than `margin` from `target`."""
        return bool(target - margin < self.low and self.high < target + margin)

    def outside(self, target: float, margin: float) -> bool:
        """The whole interval lies more than `margin` from `target`."""
        return bool(self.low > target + margin or self.high < target - margin)

    def less(self, shift: float) -> "SeedMean":
        """The mean of the values minus `shift`."""
        return SeedMean(self.mean - shift, self.low - shift, self.high - shift, self.deviation, self.detects)


class Uncertain(NamedTuple):
    """A value and its standard error."""

    value: float
    error: float

    def interval(self) -> SeedMean:
        """The normal 95 % interval; a standard error of 0 is none, so nothing can be detected with it."""
        if not self.error > 0:
            return SeedMean(self.value, -math.inf, math.inf, 0.0)
        half = _quantile(None, 1 - (1 - CONFIDENCE) / 2) * self.error
        reach = half + _quantile(None, DETECTION) * self.error
        return SeedMean(self.value, self.value - half, self.value + half, self.error, reach)


def seed_mean(values: Iterable[float], *, tests: int = 1) -> SeedMean:
    """Mean and interval of one value per seed; with `tests`, an interval that holds for so many means at once
    (Bonferroni)."""
    sample = np.array(list(values), dtype=np.float64)
    if sample.size < 2:
        return SeedMean(float(sample[0]) if sample.size else math.nan, -math.inf, math.inf, 0.0)
    mean, deviation, half = float(sample.mean()), float(sample.std(ddof=1)), _half_width(sample, tests)
    reach = half + _quantile(sample.size - 1, DETECTION) * deviation / math.sqrt(sample.size)
    return SeedMean(mean, mean - half, mean + half, deviation, reach)


def _half_width(sample: FloatArray, tests: int = 1) -> float:
    quantile = _quantile(sample.size - 1, 1 - (1 - CONFIDENCE) / (2 * tests))
    return quantile * float(sample.std(ddof=1)) / math.sqrt(sample.size)


def _quantile(freedom: int | None, chance: float) -> float:
    """Of Student's distribution, or of the normal one."""
    from scipy.special import ndtri, stdtrit

    return float(ndtri(chance) if freedom is None else stdtrit(freedom, chance))


def student_reach(level: float, freedom: float) -> float:
    """How many standard errors an interval of this level reaches to both sides, by Student's distribution. It stands
    apart from `_quantile`, which is part of every frozen rule."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2))


def paired_mean(before: Mapping[int, float], after: Mapping[int, float], *, tests: int = 1) -> SeedMean:
    """Mean and interval of after - before over the seeds that both have."""
    return seed_mean([after[seed] - before[seed] for seed in before if seed in after], tests=tests)


def standard_error(values: ArrayLike) -> FloatArray:
    """Of the mean over the first axis, which holds the replicates; 0 for one."""
    array = np.asarray(values, dtype=np.float64)
    if len(array) < 2:
        return np.zeros(array.shape[1:])
    return np.asarray(array.std(axis=0, ddof=1) / np.sqrt(len(array)))


def accuracy_mean(values: Sequence[float], tests: int) -> Uncertain:
    """Mean of accuracies over seeds; the error is never below what `tests` examples a seed allow (binomial)."""
    mean = float(np.mean(values))
    return Uncertain(mean, max(math.sqrt(_binomial(mean, tests, len(values))), float(standard_error(values))))


def _binomial(accuracy: float, tests: int, seeds: int) -> float:
    """Variance of an accuracy over so many examples under each of the seeds; no error seen is not no error."""
    return max(accuracy * (1 - accuracy), 1.0 / tests) / (tests * seeds)


def rise(first: Uncertain, last: Uncertain) -> tuple[float, float]:
    """(difference, difference in standard errors)."""
    difference = last.value - first.value
    return difference, difference / float(np.hypot(first.error, last.error))


def paired_rise(first: Mapping[int, float], last: Mapping[int, float], tests: int) -> tuple[float, float]:
    """The same where a seed fixes the data of both: the mean difference of accuracies within seeds, in its own
    errors."""
    seeds = sorted(first.keys() & last.keys())
    gaps = np.array([last[seed] - first[seed] for seed in seeds])
    ends = [float(np.mean(list(end.values()))) for end in (first, last)]
    floor = math.sqrt(sum(_binomial(end, tests, len(seeds)) for end in ends))
    return float(gaps.mean()), float(gaps.mean() / max(floor, float(standard_error(gaps))))


@dataclass(frozen=True)
class SeedCurve:
    """Values over x (columns) and seeds (rows); NaN where a run gave none."""

    x: FloatArray
    values: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Over seeds."""
        good = np.isfinite(self.values)
        total = np.where(good, self.values, 0.0).sum(axis=0)
        return np.asarray(np.where(good.any(axis=0), total / np.maximum(good.sum(axis=0), 1), np.nan))

    @property
    def error(self) -> FloatArray:
        """Standard error of the mean over seeds; 0 with one seed."""
        good = np.isfinite(self.values)
        count = good.sum(axis=0)
        gaps = np.where(good, self.values - self.mean, 0.0)
        return np.asarray(np.sqrt(np.square(gaps).sum(axis=0) / np.maximum(count - 1, 1) / np.maximum(count, 1)))

    def logarithmic(self) -> "SeedCurve":
        """The curve of logarithms: means over seeds become geometric, which single extreme teachers do not rule."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return SeedCurve(self.x, np.log(self.values))

    def change(self, first: int, last: int) -> tuple[float, float]:
        """Mean paired difference value[last] - value[first] and half the width of its 95 % interval; 0 for one seed,
        which stands for a computation without chance."""
        gaps = self.values[:, last] - self.values[:, first]
        gaps = gaps[np.isfinite(gaps)]
        if gaps.size == 0:
            return math.nan, math.nan
        return float(gaps.mean()), _half_width(gaps) if gaps.size > 1 else 0.0

    def rank_correlation(self) -> float:
        """Spearman's correlation of the mean curve with x."""
        ranks = np.argsort(np.argsort(self.mean))
        return float(np.corrcoef(np.arange(len(self.x)), ranks)[0, 1])


def trend(line: SeedCurve) -> str:
    """'rises' or 'falls' where the ends differ beyond error and the mean curve follows in rank, else 'flat'."""
    if not np.isfinite(line.mean).all() or len(line.x) < 2:
        return "undefined"
    gap, half = line.change(0, -1)
    rank = line.rank_correlation()
    if gap > half and rank > 0.5:
        return "rises"
    if -gap > half and rank < -0.5:
        return "falls"
    return "flat"


def shape(line: SeedCurve) -> str:
    """'valley' (falls, then rises, each beyond error), 'hill', or the trend."""
    if not np.isfinite(line.mean).all():
        return "undefined"
    low, high = int(np.argmin(line.mean)), int(np.argmax(line.mean))
    last = len(line.x) - 1
    for turn, sign, word in ((low, 1.0, "valley"), (high, -1.0, "hill")):
        if 0 < turn < last:
            left, left_half = line.change(turn, 0)
            right, right_half = line.change(turn, last)
            if sign * left > left_half and sign * right > right_half:
                return word
    return trend(line)


def straight_line(x: FloatArray, y: FloatArray) -> tuple[float, float, float]:
    """Slope, intercept and R^2 of least squares."""
    slope, intercept = np.polyfit(x, y, 1)
    spread = float(np.square(y - y.mean()).sum())
    rest = float(np.square(y - slope * x - intercept).sum())
    return float(slope), float(intercept), 1.0 - rest / spread if spread > 0 else math.nan


def log_slope(x: ArrayLike, y: ArrayLike) -> float:
    """The p of y ~ x^p by least squares on logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def power(line: SeedCurve) -> Uncertain:
    """Exponent of y ~ x^p: mean over seeds of the log-log slope, and its standard error."""
    slopes = [
        log_slope(line.x[good], values[good])
        for values in line.values
        for good in [np.isfinite(values) & (values > 0)]
        if good.sum() >= 2
    ]
    return Uncertain(float(np.mean(slopes)), float(standard_error(slopes))) if slopes else Uncertain(math.nan, math.nan)


def power_of_square_mean(line: SeedCurve) -> Uncertain:
    """Exponent of the root mean square over seeds, with its jackknife error: for errors that single seeds have by
    chance near zero, where logarithms of each would rule."""

    def slope(values: FloatArray) -> float:
        return float(np.polyfit(np.log(line.x), 0.5 * np.log(np.mean(np.square(values), axis=0)), 1)[0])

    count = line.values.shape[0]
    if count < 3:
        return Uncertain(slope(line.values), math.nan)
    left_out = np.array([slope(np.delete(line.values, seed, axis=0)) for seed in range(count)])
    error = np.sqrt((count - 1) / count * np.square(left_out - left_out.mean()).sum())
    return Uncertain(slope(line.values), float(error))
