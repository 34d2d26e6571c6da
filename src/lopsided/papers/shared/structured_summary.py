"""From rows of runs to what a rule may say: groups, columns, paired differences, exponents, curves."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Line
from lopsided.core.statistics import SeedMean, paired_mean, seed_mean
from lopsided.engine.task import Numbers, Row


def grouped(rows: Sequence[Row], key: str) -> dict[Any, list[Row]]:
    """Rows by the value of one setting, in ascending order, each group in the order of its seeds."""
    groups: dict[Any, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.settings[key], row.seed)):
        groups.setdefault(row.settings[key], []).append(row)
    return groups


def named(rows: Sequence[Row], name: str, *order: str) -> dict[str, list[Row]]:
    """Rows by a name made of their settings ("{network} on {images}"), each group by these settings and its seeds."""
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (*(row.settings[key] for key in order), row.seed)):
        groups.setdefault(name.format(**row.settings), []).append(row)
    return groups


def column(rows: Sequence[Row], name: str, *, least: float = -math.inf) -> list[Any]:
    """A setting or a number of every row; `least` lifts numbers to what a logarithmic axis can show."""
    values = [row.settings[name] if name in row.settings else row.numbers[name] for row in rows]
    return values if math.isinf(least) else [max(value, least) for value in values]


def difference(groups: Mapping[Any, list[Row]], value: Callable[[Numbers], float]) -> SeedMean:
    """Value at the largest setting minus value at the smallest, seed by seed."""
    first, last = groups[min(groups)], groups[max(groups)]
    before, after = ({row.seed: value(row.numbers) for row in end} for end in (first, last))
    return paired_mean(before, after)


def exponent(rows: Sequence[Row], key: str, value: Callable[[Numbers], float]) -> SeedMean:
    """The s of value ~ setting^s: a least squares line through logarithms for each seed, then the spread of slopes."""
    by_seed: dict[int, list[tuple[float, float]]] = {}
    for row in rows:
        by_seed.setdefault(row.seed, []).append((math.log(row.settings[key]), math.log(value(row.numbers))))
    lines = [np.array(pairs).T for pairs in by_seed.values()]
    return seed_mean(float(np.polyfit(line[0], line[1], 1)[0]) for line in lines)


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
