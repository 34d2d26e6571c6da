"""Hit rates with Wilson intervals, errors and coverage of numbers, and reliability of stated chances.

    Wilson:  (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)

A task can have several answers (every group, every ratio), which are correlated. So n is the effective number: p(1-p)
over the variance of the mean of task means, between the number of tasks and the number of answers.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lopsided.skill.family import Amount, Answer, Choice

Z95 = 1.959963984540054
Z90 = 1.6448536269514722  # half of a 90 % interval of the normal law, in deviations
NOMINAL_COVERAGE = 0.9
LEVELS = (0.5, 0.7, 0.8, 0.9, 0.95)
CONFIDENCE_EDGES = (0.0, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0)


@dataclass(frozen=True)
class HitRate:
    """Numbers of answers: `asked` have a clear measurement, `decided` were also forecast, `right` came true."""

    asked: int
    decided: int
    right: int
    rate: float | None
    interval: tuple[float, float] | None
    ties: int  # measurements that were themselves undecided
    auc: float | None = None  # of the forecasts' scores, pooled over tasks; None where they have none


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
    typical_error: float | None = None  # median of the error: a factor >= 1, or an absolute difference
    error_nine_in_ten: float | None = None  # 90 % of the errors are below this
    crps: float | None = None  # of a normal law with that 90 % interval (of log2 where misses are ratios)
    # the factor that would give the intervals a coverage of 0.9; on the development half it sets their widths
    width_needed: float | None = None


@dataclass(frozen=True)
class Reliability:
    """Of `count` forecasts with about the chance `stated`, the share `observed` came true; with its 95 % interval."""

    stated: float
    observed: float
    interval: tuple[float, float]
    count: int


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
    scores: list[tuple[str, float]] = []
    means: list[tuple[int, int]] = []
    for truths, forecasts in tasks:
        own_decided = own_right = 0
        for truth, forecast in zip(truths, forecasts, strict=True):
            if truth.answer is None:
                ties += 1
                continue
            asked += 1
            if forecast.score is not None:
                scores.append((truth.answer, forecast.score))
            if forecast.answer is not None:
                own_decided += 1
                own_right += truth.holds(forecast)
        decided, right = decided + own_decided, right + own_right
        if own_decided:
            means.append((own_right, own_decided))
    if not decided:
        return HitRate(asked, 0, 0, None, None, ties)
    return HitRate(
        asked,
        decided,
        right,
        right / decided,
        wilson(right, decided, _effective(means, right / decided)),
        ties,
        _auc(scores),
    )


def _auc(scores: Sequence[tuple[str, float]]) -> float | None:
    """P(score of an answer "lost" > score of another), None where scores or one of the two answers are missing."""
    from sklearn.metrics import roc_auc_score

    lost = np.array([answer == "lost" for answer, _ in scores], dtype=bool)
    return float(roc_auc_score(lost, [score for _, score in scores])) if 0 < lost.sum() < lost.size else None


def _effective(means: Sequence[tuple[int, int]], rate: float) -> float:
    tasks, answers = len(means), sum(count for _, count in means)
    if tasks == answers or tasks < 2:
        return float(answers if tasks == answers else tasks)
    between = sum((right - rate * count) ** 2 for right, count in means) * tasks / (tasks - 1) / answers**2
    if between == 0:
        return float(tasks)
    return min(max(rate * (1 - rate) / between, float(tasks)), float(answers))


def _answers(tasks: Sequence[tuple[Sequence[Answer], Sequence[Answer]]]) -> Iterator[tuple[Answer, Answer]]:
    """(truth, forecast) of everything that was asked, from those of every task."""
    for truths, forecasts in tasks:
        yield from zip(truths, forecasts, strict=True)


def number_score(tasks: Sequence[tuple[Sequence[Amount], Sequence[Amount]]], miss: str) -> NumberScore:
    """From (truth, forecast) of every task; a ratio is forecast over truth."""
    misses, inside, scores, crps, away, abstained = [], [], [], [], [], 0
    for truth, forecast in _answers(tasks):
        if truth.value is None or forecast.value is None:
            abstained += truth.value is not None
            continue
        misses.append(forecast.value / truth.value if miss == "ratio" else forecast.value - truth.value)
        if forecast.low is not None and forecast.high is not None:
            inside.append(forecast.low <= truth.value <= forecast.high)
            scaled = (_on_scale(value, miss) for value in (truth.value, forecast.value, forecast.low, forecast.high))
            there, here, low, high = scaled
            scores.append(_winkler(there, low, high))
            crps.append(_crps(there, here, low, high))
            away.append(_deviations(there, here, low, high))
    if not misses:
        return NumberScore(0, abstained, None, None, None, None, None, None)
    array = np.array(misses)
    errors = np.abs(np.log2(array)) if miss == "ratio" else np.abs(array)
    low, median, high = np.quantile(array, [0.05, 0.5, 0.95])
    typical, most = np.quantile(errors, [0.5, 0.9])
    return NumberScore(
        len(misses),
        abstained,
        float(median),
        float(low),
        float(high),
        float(errors.mean()),
        float(np.mean(inside)) if inside else None,
        float(np.mean(scores)) if scores else None,
        float(2**typical if miss == "ratio" else typical),
        float(2**most if miss == "ratio" else most),
        float(np.mean(crps)) if crps else None,
        float(np.quantile(away, NOMINAL_COVERAGE)) / Z90 if away and np.isfinite(away).all() else None,
    )


def error_of(truth: float, forecast: float, miss: str) -> float:
    """|log2 of the ratio|, or |difference|."""
    return abs(_on_scale(forecast, miss) - _on_scale(truth, miss))


def _on_scale(value: float, miss: str) -> float:
    return math.log2(max(value, 1e-300)) if miss == "ratio" else value


def _winkler(truth: float, low: float, high: float) -> float:
    return high - low + 2 / (1 - NOMINAL_COVERAGE) * max(low - truth, truth - high, 0.0)


def _deviations(truth: float, forecast: float, low: float, high: float) -> float:
    """The distance of the truth from the forecast, in deviations of a normal distribution with the stated 90 % interval
    (each side separately)."""
    width = abs((high if truth >= forecast else low) - forecast) / Z90
    if width == 0:
        return 0.0 if truth == forecast else math.inf
    return abs(truth - forecast) / width


def _crps(truth: float, forecast: float, low: float, high: float) -> float:
    """s (z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi)) for a normal law with deviation s (Gneiting and Raftery 2007, eq
    21), its deviation taken from the whole interval."""
    gap, s = abs(truth - forecast), (high - low) / (2 * Z90)
    if s <= 0:
        return gap
    z = gap / s
    return s * (z * math.erf(z / math.sqrt(2)) + math.sqrt(2 / math.pi) * math.exp(-z * z / 2) - 1 / math.sqrt(math.pi))


def choice_reliability(tasks: Sequence[tuple[Sequence[Choice], Sequence[Choice]]]) -> list[Reliability]:
    """Forecasts that state a chance, in bins of it."""
    stated, right = [], []
    for truth, forecast in _answers(tasks):
        if truth.answer is not None and forecast.answer is not None and forecast.confidence is not None:
            stated.append(forecast.confidence)
            right.append(truth.holds(forecast))
    found, chances, hits = [], np.array(stated), np.array(right, dtype=bool)
    bins = np.clip(np.searchsorted(CONFIDENCE_EDGES, chances, side="right") - 1, 0, len(CONFIDENCE_EDGES) - 2)
    for number in range(len(CONFIDENCE_EDGES) - 1):
        own = bins == number
        count, came = int(own.sum()), int(hits[own].sum())
        if count:
            found.append(Reliability(float(chances[own].mean()), came / count, wilson(came, count), count))
    return found


def number_reliability(tasks: Sequence[tuple[Sequence[Amount], Sequence[Amount]]], miss: str) -> list[Reliability]:
    """How often the truth lies within the stated interval, rescaled to other levels as for a normal distribution."""
    from statistics import NormalDist

    told = [(truth.value, forecast.value, forecast.low, forecast.high) for truth, forecast in _answers(tasks)]
    known = [[_on_scale(value, miss) for value in four if value is not None] for four in told]
    away = [_deviations(*four) for four in known if len(four) == 4]
    found = []
    for level in LEVELS if away else ():
        # 1e-9: a truth exactly on the edge counts as inside, as it does for the stated interval
        inside = int(np.sum(np.array(away) <= NormalDist().inv_cdf(0.5 + level / 2) * (1 + 1e-9)))
        found.append(Reliability(level, inside / len(away), wilson(inside, len(away)), len(away)))
    return found
