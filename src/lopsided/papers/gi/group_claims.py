"""Code shared by the claims on groups of pictures: plans, rules and figures, for copies of minority pictures over a
level and for shares of a fixed total.

Copies: a hill (rises, then falls) is claimed only if some inner level beats both ends with intervals that hold for all
inner levels at once (Bonferroni), because the best of several levels is chosen after seeing them. Shares: opposite
trends with one and with the other group as the minority. Seeds are paired.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lopsided.core.figure import Figure, Line, Panel
from lopsided.core.statistics import SeedMean, paired_mean
from lopsided.engine.task import Row
from lopsided.papers.claim import Part, Power, Runs, Verdict, weigh
from lopsided.papers.gi import group_pictures as pictures
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.summary import NOTICEABLE, Value, by_world, chosen, curve, level, paired, per_seed

NOISES = (0.0, 0.1, 0.2, 0.4, 0.8)
MANY_NOISES = (0.0, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
SHARES = (0.01, 0.05, 0.1, 0.2, 0.35, 0.5)
PAIRS = {
    "cifar-10": ("airplanes", "animals"),
    "mnist": (pictures.HALVES[1], pictures.HALVES[0]),
    "fashion-mnist": (pictures.HALVES[1], pictures.HALVES[0]),
    "celeba": ("Male", "not Male"),
}
HILLS = {"minority": "minority group", "balanced": "average"}
OPPOSED = {"minority": "minority accuracy", "balanced": "average"}


def name_of(row: Row) -> str:
    """`cifar-10, airplanes few`."""
    return f"{row.settings['images']}, {row.settings['minority']} few"


@dataclass(frozen=True)
class Hill:
    """The inner level with the largest lower bound; how far it lies above the first and the last level there; whether
    the intervals exclude that any inner level lies noticeably above both."""

    peak: float
    above_first: SeedMean
    above_last: SeedMean
    rises_then_falls: bool
    valley: bool
    excluded: bool

    def part(self, name: str) -> Part:
        """What the rule says of it, with its power where a noticeable hill is not excluded."""
        gaps = (self.above_first, self.above_last)
        power = None if self.excluded else Power(max(gap.detects for gap in gaps), NOTICEABLE)
        return Part(name, self.rises_then_falls, self.valley, power, min(gap.mean for gap in gaps))


def hill(rows: Sequence[Row], key: str, value: str) -> Hill:
    """Whether `value` rises and then falls over the level; `valley` where it falls and then rises, by the same rule."""
    first, *inner, last = sorted({float(row.settings[key]) for row in rows})
    at = {place: per_seed(chosen(rows, **{key: place}), value) for place in (first, *inner, last)}
    gaps = {place: [paired_mean(at[end], at[place], tests=len(inner)) for end in (first, last)] for place in inner}
    best = max(gaps, key=lambda place: min(gap.low for gap in gaps[place]))
    worst = min(gaps, key=lambda place: max(gap.high for gap in gaps[place]))
    rises, valley = all(gap.low > 0 for gap in gaps[best]), all(gap.high < 0 for gap in gaps[worst])
    excluded = all(min(gap.high for gap in pair) < NOTICEABLE for pair in gaps.values())
    return Hill(best, gaps[best][0], gaps[best][1], rises, valley, excluded)


@dataclass(frozen=True)
class Trends:
    """Change from the smallest to the largest level in two worlds, and whether the two signs differ beyond error."""

    first: SeedMean
    second: SeedMean

    @property
    def opposite(self) -> bool:
        """One rises and the other falls."""
        return (self.first.low > 0 and self.second.high < 0) or (self.first.high < 0 and self.second.low > 0)

    @property
    def alike(self) -> bool:
        """Both rise or both fall."""
        return (self.first.low > 0 and self.second.low > 0) or (self.first.high < 0 and self.second.high < 0)

    def part(self, name: str) -> Part:
        """What the rule says of them, with its power where noticeable opposite changes are not excluded."""
        both = (self.first, self.second)
        pairs = (both, both[::-1])
        possible = any(up.high >= NOTICEABLE and down.low <= -NOTICEABLE for up, down in pairs)
        power = Power(max(change.detects for change in both), NOTICEABLE) if possible else None
        return Part(name, self.opposite, self.alike, power, min(abs(change.mean) for change in both))


def trends(first: Sequence[Row], second: Sequence[Row], key: str, value: Value) -> Trends:
    """Paired over seeds within each world."""

    def change(rows: Sequence[Row]) -> SeedMean:
        levels = sorted({float(row.settings[key]) for row in rows})
        return paired(chosen(rows, **{key: levels[0]}), chosen(rows, **{key: levels[-1]}), value)

    return Trends(change(first), change(second))


def augmentation_plans(**levels: tuple[Sequence[float], Sequence[float]]) -> dict[str, Any]:
    """Both scales of a claim on copies of minority pictures; the levels of its one setting at the quick scale and at
    the paper's."""
    ((name, (few, many)),) = levels.items()
    quick = ((pictures.QUICK_PLANES, 100), (pictures.QUICK_DIGITS, 20))
    paper = ((pictures.PAPER_PLANES, 1000), (pictures.PAPER_GARMENTS, 300), (pictures.FACES, 300))
    *always, faces = (varied({**base, "copies": copies}, **{name: many}) for base, copies in paper)
    return {
        "quick": Runs(
            [one for base, copies in quick for one in varied({**base, "copies": copies}, **{name: few})],
            seeds=range(8),
        ),
        "paper": Runs(pictures.AlsoFaces([one for own in always for one in own], faces), seeds=range(10)),
    }


def augmentation_judge(rows: Sequence[Row], key: str, words: str) -> Verdict:
    """A hill over the level, in every world, for the minority and for the unweighted average over both groups."""
    parts: list[Part] = []
    numbers: dict[str, Any] = {}
    found = []
    for name, own in by_world(rows, name_of).items():
        levels = sorted({float(row.settings[key]) for row in own})
        shapes = {value: hill(own, key, value) for value in (*HILLS, "natural")}
        parts += [shapes[value].part(f"{name}: {label}") for value, label in HILLS.items()]
        means = {
            value: [level(chosen(own, **{key: place}), value) for place in levels]
            for value in ("minority", "majority", "balanced", "natural")
        }
        numbers[name] = {"levels": levels, "shapes": shapes, **means}
        best, minority, natural = shapes["minority"], means["minority"], means["natural"]
        found.append(
            f"{name}: minority accuracy {100 * minority[0].mean:.1f} % at {words} 0, {100 * minority[-1].mean:.1f} % "
            f"at {levels[-1]:g}; the best inner level, {best.peak:g}, is {best.above_first.percent()} above the first "
            f"and {best.above_last.percent()} above the last; natural mix {100 * natural[0].mean:.1f} to "
            f"{100 * natural[-1].mean:.1f} %"
        )
    stuck = sum(bool(row.numbers.get("stuck")) for row in rows)
    if stuck:
        found.append(f"{stuck} of {len(rows)} networks call every picture the same")
    return weigh(parts, "; ".join(found), numbers)


def both_ways(base: Mapping[str, Any], total: int, shares: Sequence[float]) -> list[dict[str, Any]]:
    """Each share with either group as the minority."""
    own = {key: value for key, value in base.items() if key not in ("minority_size", "majority_size", "copies")}
    return varied({**own, "total": total}, minority=PAIRS[base["images"]], share=shares)


def fraction_parts(rows: Sequence[Row]) -> tuple[list[Part], dict[str, Any], list[str]]:
    """Opposite trends in each pair of worlds."""
    parts: list[Part] = []
    numbers: dict[str, Any] = {}
    words = []
    for images, own in by_world(rows, lambda row: str(row.settings["images"])).items():
        pair = PAIRS[images]
        worlds = [[row for row in own if row.settings["minority"] == name] for name in pair]
        found = {value: trends(worlds[0], worlds[1], "share", value) for value in (*OPPOSED, "natural", "majority")}
        parts += [found[value].part(f"{images}: {label}") for value, label in OPPOSED.items()]
        covariance = [level(world, "minority_covariance").mean for world in worlds]
        forecast = trends(worlds[0], worlds[1], "share", lambda row: row.numbers.get("forecast_minority"))
        numbers[images] = {
            "minorities": pair,
            "forecast_change_of_the_minority_excess": [forecast.first, forecast.second],
            "changes": {value: [trend.first, trend.second] for value, trend in found.items()},
            "feature_covariance_of_the_minority": covariance,
        }
        first = {value: trend.first.percent() for value, trend in found.items()}
        second = {value: trend.second.percent() for value, trend in found.items()}
        words.append(
            f"{images}: from the smallest to the largest share the minority's accuracy changes by {first['minority']} "
            f"with {pair[0]} as the minority, {second['minority']} with {pair[1]}, the average over both groups alike "
            f"by {first['balanced']} and {second['balanced']}, the natural mix by {first['natural']} and "
            f"{second['natural']} (|covariance| of their features {covariance[0]:.2g} and {covariance[1]:.2g})"
        )
    return parts, numbers, words


def fraction_judge(rows: Sequence[Row]) -> Verdict:
    """Opposite trends of the minority's accuracy and of the average, in every pair of worlds."""
    parts, numbers, words = fraction_parts(rows)
    return weigh(parts, "; ".join(words), numbers)


def group_panels(rows: Sequence[Row], key: str, label: str, forecast: str, *, average: bool) -> list[Panel]:
    """For each world accuracies over the level, and the forecast excess where one was computed."""
    panels = []
    for name, own in by_world(rows, name_of).items():
        lines: list[Line] = [
            curve(own, key, "minority", "minority group"),
            curve(own, key, "majority", "majority group"),
            curve(own, key, "balanced", "both groups, same weight", dashed=True),
            curve(own, key, "natural", "natural mix", dashed=True),
        ]
        panels.append(Panel(name, label, "test accuracy", lines))
        if any(row.numbers.get("forecast_minority") is not None for row in own):
            lines = [curve(own, key, "forecast_minority", "minority group")]
            if average:
                lines.append(curve(own, key, "forecast_average", "average", dashed=True))
            panels.append(Panel(f"{name}: forecast", label, forecast, lines))
    return panels


def augmentation_plot(rows: Sequence[Row], key: str, label: str) -> Figure:
    """Accuracies over the level."""
    return Figure(
        "Augmented copies of minority pictures",
        group_panels(rows, key, label, "excess risk by the large-n law (nats)", average=True),
        "Bands: 95 % intervals over paired seeds. The average gives both groups the same weight; the natural mix uses "
        "their shares.",
    )


def fraction_panels(rows: Sequence[Row]) -> list[Panel]:
    """Accuracies over the share."""
    label, forecast = "share of the minority group", "excess risk, large-n law (nats)"
    return group_panels(rows, "share", label, forecast, average=False)
