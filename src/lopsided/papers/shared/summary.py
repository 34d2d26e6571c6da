"""From rows of runs to what rules and figures need: groups, columns, values per seed, paired differences, exponents,
crossings, curves."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Line
from lopsided.core.statistics import SeedMean, paired_mean, seed_mean
from lopsided.engine.task import Numbers, Row

NOTICEABLE = 0.02  # of an accuracy: the effect that a rule must be able to detect where a paper names no size
Value = str | Callable[[Row], float | None]


def read(row: Row, value: Value) -> float | None:
    """A number of a row by its name, or by a function of the row."""
    found = value(row) if callable(value) else row.numbers[value]
    return None if found is None else float(found)


def chosen(rows: Sequence[Row], **fixed: Any) -> list[Row]:
    """Rows whose settings have these values; a setting that is absent counts as None."""
    return [row for row in rows if all(row.settings.get(key) == value for key, value in fixed.items())]


def of_one_seed(rows: Sequence[Row]) -> list[Row]:
    """Those with the first row's seed, for pictures of single runs."""
    return [row for row in rows if row.seed == rows[0].seed]


def by_world(rows: Sequence[Row], name: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Rows by the world that `name` gives them, in the order of their first appearance."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(name(row), []).append(row)
    return found


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


def per_seed(rows: Sequence[Row], value: Value) -> dict[int, float]:
    """Seed to value; the mean where a seed has several rows. Undefined values are left out."""
    found: dict[int, list[float]] = {}
    for row in rows:
        number = read(row, value)
        if number is not None and math.isfinite(number):
            found.setdefault(row.seed, []).append(number)
    return {seed: float(np.mean(numbers)) for seed, numbers in sorted(found.items())}


def paired(first: Sequence[Row], second: Sequence[Row], value: Value) -> SeedMean:
    """Mean and 95 % interval of second - first over common seeds."""
    return paired_mean(per_seed(first, value), per_seed(second, value))


def level(rows: Sequence[Row], value: Value) -> SeedMean:
    """Mean and 95 % interval over seeds."""
    return seed_mean(per_seed(rows, value).values())


def crossing(places: Sequence[float], values: Sequence[float], target: float) -> float | None:
    """The x at which a curve first crosses `target` from below, interpolated in log x; None if it does not."""
    for number, value in enumerate(values):
        if value >= target:
            if number == 0:
                return None  # it was past it from the start
            share = (target - values[number - 1]) / (value - values[number - 1])
            start, end = math.log(places[number - 1]), math.log(places[number])
            return math.exp(start + share * (end - start))
    return None


def crossings(rows: Sequence[Row], value: Value, target: float, x: str = "ratio") -> dict[int, float | None]:
    """For each seed, the crossing of its own curve over finite `x`."""
    found: dict[int, float | None] = {}
    for seed in sorted({row.seed for row in rows}):
        own = [(float(row.settings[x]), read(row, value)) for row in rows if row.seed == seed and row.settings[x]]
        points = sorted((place, number) for place, number in own if number is not None)
        found[seed] = crossing([place for place, _ in points], [number for _, number in points], target)
    return found


def interval_line(
    places: Sequence[float],
    means: Sequence[SeedMean],
    label: str,
    *,
    limits: tuple[float, float] = (0.0, math.inf),
    markers: bool = False,
) -> Line:
    """Means with a band of their intervals, cut at what the value can be."""
    low, high = [max(found.low, limits[0]) for found in means], [min(found.high, limits[1]) for found in means]
    return Line(places, [found.mean for found in means], label, low=low, high=high, markers=markers)


def curve(
    rows: Sequence[Row],
    x: str,
    value: Value,
    label: str,
    *,
    dashed: bool = False,
    limits: tuple[float, float] = (-1.0, 1.0),
) -> Line:
    """Means over seeds with a band of 95 % intervals, cut at what the value can be; one seed has no band."""
    places = sorted({float(row.settings[x]) for row in rows if row.settings[x] is not None})
    levels = [level(chosen(rows, **{x: place}), value) for place in places]
    low = [max(found.low, limits[0]) if math.isfinite(found.low) else found.mean for found in levels]
    high = [min(found.high, limits[1]) if math.isfinite(found.high) else found.mean for found in levels]
    means = [None if math.isnan(found.mean) else found.mean for found in levels]
    if len({row.seed for row in rows}) < 2:
        return Line(places, means, label, dashed=dashed, markers=True)
    return Line(places, means, label, low=low, high=high, dashed=dashed, markers=not dashed)


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
