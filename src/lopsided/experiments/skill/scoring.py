"""Hit rates with Wilson intervals, and the errors and coverage of numbers.

    Wilson:  (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)

A task can be asked several times (every group, every ratio), and its answers stand or fall together. So n is the
effective number: p(1-p) over the variance of the mean of task means, between the number of tasks and of answers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lopsided.experiments.skill.family import Choice, Estimate

Z95 = 1.959963984540054
NOMINAL_COVERAGE = 0.9


@dataclass(frozen=True)
class HitRate:
    """`asked` answers were measured clearly; `decided` of them were forecast, the others not; `right` came true."""

    asked: int
    decided: int
    right: int
    rate: float | None
    interval: tuple[float, float] | None
    ties: int  # measurements that were themselves undecided


@dataclass(frozen=True)
class NumberScore:
    """Errors over the answers where forecast and truth exist."""

    count: int
    abstained: int
    median_miss: float | None  # of the ratio, or of the difference
    low_miss: float | None  # 5 % and 95 % quantiles
    high_miss: float | None
    mean_absolute_error: float | None  # of log2 of the ratio, or of the difference
    coverage: float | None
    interval_score: float | None  # Winkler's: width, and 2/alpha times what lies outside


def wilson(right: int, decided: int, effective: float | None = None) -> tuple[float, float]:
    """The 95 % interval of a rate."""
    n = float(decided) if effective is None else effective
    p = right / decided
    middle, spread = p + Z95**2 / (2 * n), Z95 * math.sqrt(p * (1 - p) / n + Z95**2 / (4 * n * n))
    scale = 1 + Z95**2 / n
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def hit_rate(tasks: Sequence[tuple[Sequence[Choice], Sequence[Choice]]]) -> HitRate:
    """From (truth, forecast) of every task."""
    asked = decided = right = ties = 0
    means: list[tuple[int, int]] = []
    for truths, forecasts in tasks:
        own_decided = own_right = 0
        for truth, forecast in zip(truths, forecasts, strict=True):
            if truth.answer is None:
                ties += 1
                continue
            asked += 1
            if forecast.answer is not None:
                own_decided += 1
                own_right += forecast.answer == truth.answer
        decided, right = decided + own_decided, right + own_right
        if own_decided:
            means.append((own_right, own_decided))
    if not decided:
        return HitRate(asked, 0, 0, None, None, ties)
    return HitRate(
        asked, decided, right, right / decided, wilson(right, decided, _effective(means, right / decided)), ties
    )


def _effective(means: Sequence[tuple[int, int]], rate: float) -> float:
    tasks, answers = len(means), sum(count for _, count in means)
    if tasks == answers or tasks < 2:
        return float(answers if tasks == answers else tasks)
    between = sum((right - rate * count) ** 2 for right, count in means) * tasks / (tasks - 1) / answers**2
    if between == 0:
        return float(tasks)
    return min(max(rate * (1 - rate) / between, float(tasks)), float(answers))


def number_score(tasks: Sequence[tuple[Sequence[Estimate], Sequence[Estimate]]], miss: str) -> NumberScore:
    """From (truth, forecast) of every task; a ratio is forecast over truth."""
    misses, inside, scores, abstained = [], [], [], 0
    for truths, forecasts in tasks:
        for truth, forecast in zip(truths, forecasts, strict=True):
            if truth.value is None:
                continue
            if forecast.value is None:
                abstained += 1
                continue
            misses.append(forecast.value / truth.value if miss == "ratio" else forecast.value - truth.value)
            if forecast.low is not None and forecast.high is not None:
                inside.append(forecast.low <= truth.value <= forecast.high)
                scores.append(_winkler(truth.value, forecast.low, forecast.high, miss))
    if not misses:
        return NumberScore(0, abstained, None, None, None, None, None, None)
    array = np.array(misses)
    errors = np.abs(np.log2(array)) if miss == "ratio" else np.abs(array)
    low, median, high = np.quantile(array, [0.05, 0.5, 0.95])
    return NumberScore(
        len(misses),
        abstained,
        float(median),
        float(low),
        float(high),
        float(errors.mean()),
        float(np.mean(inside)) if inside else None,
        float(np.mean(scores)) if scores else None,
    )


def _winkler(truth: float, low: float, high: float, miss: str) -> float:
    if miss == "ratio":
        truth, low, high = (math.log2(max(value, 1e-300)) for value in (truth, low, high))
    outside = max(low - truth, truth - high, 0.0)
    return high - low + 2 / (1 - NOMINAL_COVERAGE) * outside
