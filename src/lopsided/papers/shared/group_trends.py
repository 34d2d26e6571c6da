"""Rules for accuracies over a level under paired seeds: a hill (rises, then falls), and opposite trends.

A hill is claimed only if some inner level beats both ends with intervals that hold for all inner levels at once
(Bonferroni), because the best of several levels is chosen after seeing them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lopsided.core.figure import Line, Panel
from lopsided.engine.task import Row
from lopsided.papers.shared.network_summary import Value, chosen, curve, paired, per_seed
from lopsided.papers.shared.structured_summary import Spread

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Hill:
    """The inner level with the largest lower bound; how far it lies above the first and the last level there."""

    peak: float
    above_first: Spread
    above_last: Spread
    rises_then_falls: bool
    valley: bool


def hill(rows: Sequence[Row], level: str, value: str) -> Hill:
    """Whether `value` rises and then falls over `level`; `valley` where it falls and then rises, by the same rule."""
    levels = sorted({float(row.settings[level]) for row in rows})
    inner = levels[1:-1]
    first, last = chosen(rows, **{level: levels[0]}), chosen(rows, **{level: levels[-1]})
    gaps = [
        (
            place,
            _simultaneous(first, chosen(rows, **{level: place}), value, len(inner)),
            _simultaneous(last, chosen(rows, **{level: place}), value, len(inner)),
        )
        for place in inner
    ]
    best = max(gaps, key=lambda gap: min(gap[1].low, gap[2].low))
    worst = min(gaps, key=lambda gap: max(gap[1].high, gap[2].high))
    return Hill(
        best[0],
        best[1],
        best[2],
        best[1].low > 0 and best[2].low > 0,
        worst[1].high < 0 and worst[2].high < 0,
    )


def _simultaneous(first: Sequence[Row], second: Sequence[Row], value: str, tests: int) -> Spread:
    """Second minus first with an interval that holds for `tests` such differences at once."""
    from scipy.special import stdtrit

    before, after = per_seed(first, value), per_seed(second, value)
    gaps = np.array([after[seed] - before[seed] for seed in before if seed in after])
    if gaps.size < 2:
        return Spread(float(gaps.mean()) if gaps.size else math.nan, -math.inf, math.inf, 0.0)
    deviation = float(gaps.std(ddof=1))
    half = float(stdtrit(gaps.size - 1, 1 - (1 - CONFIDENCE) / (2 * tests))) * deviation / math.sqrt(gaps.size)
    return Spread(float(gaps.mean()), float(gaps.mean()) - half, float(gaps.mean()) + half, deviation)


@dataclass(frozen=True)
class Trends:
    """Change from the smallest to the largest level in two worlds, and whether the two signs differ beyond error."""

    first: Spread
    second: Spread

    @property
    def opposite(self) -> bool:
        """One rises and the other falls."""
        return (self.first.low > 0 and self.second.high < 0) or (self.first.high < 0 and self.second.low > 0)

    @property
    def alike(self) -> bool:
        """Both rise or both fall."""
        return (self.first.low > 0 and self.second.low > 0) or (self.first.high < 0 and self.second.high < 0)


def trends(first: Sequence[Row], second: Sequence[Row], level: str, value: Value) -> Trends:
    """Paired over seeds within each world."""

    def change(rows: Sequence[Row]) -> Spread:
        levels = sorted({float(row.settings[level]) for row in rows})
        return paired(chosen(rows, **{level: levels[0]}), chosen(rows, **{level: levels[-1]}), value)

    return Trends(change(first), change(second))


def by_world(rows: Sequence[Row], name: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Rows by the world that `name` gives them, in the order of their first appearance."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(name(row), []).append(row)
    return found


def accuracy_panel(rows: Sequence[Row], level: str, title: str, label: str, *, x_log: bool = False) -> Panel:
    """Accuracies of the groups and their two averages over a level."""
    lines: list[Line] = [
        curve(rows, level, "minority", "minority group"),
        curve(rows, level, "majority", "majority group"),
        curve(rows, level, "balanced", "groups alike", dashed=True),
        curve(rows, level, "natural", "natural mix", dashed=True),
    ]
    return Panel(title, label, "test accuracy", lines, x_log=x_log)
