"""From rows of runs to what a rule may say: means with 95 % intervals over seeds, paired differences, exponents, parts.

Intervals are Student's: with s the sample standard deviation over n seeds, mean +- t_{0.975, n-1} s / sqrt(n). One seed
gives no interval, so no rule that needs one can pass on it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.core.figure import Line
from lopsided.engine.task import Numbers, Row
from lopsided.papers.claim import Outcome, Verdict


@dataclass(frozen=True)
class Spread:
    """A mean over seeds with its 95 % interval and the standard deviation that the paper's bands show."""

    mean: float
    low: float
    high: float
    deviation: float

    def text(self, digits: int = 3) -> str:
        """`mean [low, high]`."""
        return f"{self.mean:.{digits}g} [{self.low:.{digits}g}, {self.high:.{digits}g}]"


@dataclass(frozen=True)
class Part:
    """One stated part of a claim: whether its rule passes, and whether the opposite was measured beyond error bars."""

    name: str
    passes: bool
    opposite: bool = False


def spread(values: Iterable[float]) -> Spread:
    """Mean and interval of one value per seed."""
    from scipy.special import stdtrit

    sample = np.array(list(values), dtype=np.float64)
    mean = float(sample.mean())
    if len(sample) < 2:
        return Spread(mean, -math.inf, math.inf, 0.0)
    deviation = float(sample.std(ddof=1))
    half = float(stdtrit(len(sample) - 1, 0.975)) * deviation / math.sqrt(len(sample))
    return Spread(mean, mean - half, mean + half, deviation)


def within(value: Spread, target: float, margin: float) -> bool:
    """The whole interval lies less than `margin` from `target`."""
    return bool(target - margin < value.low and value.high < target + margin)


def outside(value: Spread, target: float, margin: float) -> bool:
    """The whole interval lies more than `margin` from `target`."""
    return bool(value.low > target + margin or value.high < target - margin)


def grouped(rows: Sequence[Row], key: str) -> dict[Any, list[Row]]:
    """Rows by the value of one setting, in ascending order, each group in the order of its seeds."""
    groups: dict[Any, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.settings[key], row.seed)):
        groups.setdefault(row.settings[key], []).append(row)
    return groups


def difference(groups: Mapping[Any, list[Row]], value: Callable[[Numbers], float]) -> Spread:
    """Value at the largest setting minus value at the smallest, seed by seed."""
    first, last = groups[min(groups)], groups[max(groups)]
    before = {row.seed: value(row.numbers) for row in first}
    return spread(value(row.numbers) - before[row.seed] for row in last if row.seed in before)


def exponent(rows: Sequence[Row], key: str, value: Callable[[Numbers], float]) -> Spread:
    """The s of value ~ setting^s: a least squares line through logarithms for each seed, then the spread of slopes."""
    by_seed: dict[int, list[tuple[float, float]]] = {}
    for row in rows:
        by_seed.setdefault(row.seed, []).append((math.log(row.settings[key]), math.log(value(row.numbers))))
    lines = [np.array(pairs).T for pairs in by_seed.values()]
    return spread(float(np.polyfit(line[0], line[1], 1)[0]) for line in lines)


def weigh(parts: Sequence[Part], found: str, numbers: Numbers) -> Verdict:
    """All parts pass: holds. Some: partly. None: contradicted if every part's opposite was measured, else fails."""
    passed = [part.name for part in parts if part.passes]
    missed = [part.name for part in parts if not part.passes]
    if not missed:
        outcome = Outcome.HOLDS
    elif passed:
        outcome = Outcome.PARTLY
    else:
        outcome = Outcome.CONTRADICTED if all(part.opposite for part in parts) else Outcome.FAILS
    opposed = [part.name for part in parts if part.opposite]
    sentence = found.rstrip(".") + "."
    if outcome is Outcome.PARTLY:
        sentence += f" Passes: {'; '.join(passed)}. Does not: {'; '.join(missed)}."
    if opposed:
        sentence += f" The opposite was measured for: {'; '.join(opposed)}."
    return Verdict(outcome, sentence, {**numbers, "passed": passed, "missed": missed})


def band(rows: Sequence[Row], key: str, label: str, *, dashed: bool = False) -> Line:
    """Mean of a curve over seeds with a band of one standard deviation, as in the paper's figures."""
    length = min(len(row.numbers["steps"]) for row in rows)
    curves = np.array([row.numbers[key][:length] for row in rows], dtype=np.float64)
    mean, deviation = curves.mean(axis=0), curves.std(axis=0)
    steps = list(rows[0].numbers["steps"][:length])
    return Line(
        steps, mean.tolist(), label, low=(mean - deviation).tolist(), high=(mean + deviation).tolist(), dashed=dashed
    )


def at_step(numbers: Numbers, key: str, step: int) -> float:
    """A curve's value at the last record that is not after `step`."""
    place = max(index for index, at in enumerate(numbers["steps"]) if at <= step)
    return float(numbers[key][place])


def final(numbers: Numbers, key: str) -> float:
    """A curve's last value."""
    return float(numbers[key][-1])
