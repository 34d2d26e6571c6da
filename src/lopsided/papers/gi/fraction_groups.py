"""Minority shares of a fixed total, with the one and with the other group as the minority: plans, rule, figure."""

from collections.abc import Mapping, Sequence
from typing import Any

from lopsided.core.figure import Figure, Line, Panel
from lopsided.engine.task import Row
from lopsided.papers.claim import Verdict
from lopsided.papers.gi.group_pictures import HALVES
from lopsided.papers.shared.group_trends import accuracy_panel, by_world, trends
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.network_summary import curve, level, percent
from lopsided.papers.shared.structured_summary import Part, weigh

SHARES = (0.01, 0.05, 0.1, 0.2, 0.35, 0.5)
PAIRS = {
    "cifar-10": ("airplanes", "animals"),
    "mnist": (HALVES[1], HALVES[0]),
    "fashion-mnist": (HALVES[1], HALVES[0]),
    "celeba": ("Male", "not Male"),
}
JUDGED = {"minority": "minority accuracy", "balanced": "average"}


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
        found = {value: trends(worlds[0], worlds[1], "share", value) for value in (*JUDGED, "natural", "majority")}
        parts += [
            Part(f"{images}: {label}", found[value].opposite, found[value].alike) for value, label in JUDGED.items()
        ]
        covariance = [level(world, "minority_covariance").mean for world in worlds]
        forecast = trends(worlds[0], worlds[1], "share", lambda row: row.numbers.get("forecast_minority"))
        numbers[images] = {
            "minorities": pair,
            "forecast_change_of_the_minority_excess": [forecast.first, forecast.second],
            "changes": {value: [trend.first, trend.second] for value, trend in found.items()},
            "feature_covariance_of_the_minority": covariance,
        }
        words.append(
            f"{images}: from the smallest to the largest share the minority's accuracy changes by "
            f"{percent(found['minority'].first)} with {pair[0]} as the minority, {percent(found['minority'].second)} "
            f"with {pair[1]}, the average over both groups alike by {percent(found['balanced'].first)} and "
            f"{percent(found['balanced'].second)}, the natural mix by {percent(found['natural'].first)} and "
            f"{percent(found['natural'].second)} (|covariance| of their features {covariance[0]:.2g} and "
            f"{covariance[1]:.2g})"
        )
    return parts, numbers, words


def fraction_judge(rows: Sequence[Row]) -> Verdict:
    """Opposite trends of the minority's accuracy and of the average, in every pair of worlds."""
    parts, numbers, words = fraction_parts(rows)
    return weigh(parts, "; ".join(words), numbers)


def fraction_panels(rows: Sequence[Row]) -> list[Panel]:
    """Accuracies over the share, and the forecast where one was computed."""
    panels = []
    named = by_world(rows, lambda row: f"{row.settings['images']}, {row.settings['minority']} few")
    for name, own in named.items():
        panels.append(accuracy_panel(own, "share", name, "share of the minority group"))
        if any(row.numbers.get("forecast_minority") is not None for row in own):
            lines: list[Line] = [curve(own, "share", "forecast_minority", "minority group")]
            title = f"{name}: forecast"
            panels.append(Panel(title, "share of the minority group", "excess risk, large-n law (nats)", lines))
    return panels


def fraction_plot(rows: Sequence[Row]) -> Figure:
    """One pair of panels per world."""
    return Figure(
        "The minority's share of a fixed total",
        fraction_panels(rows),
        "Bands: 95 % intervals over paired seeds. Forecast: a mixture of two Gaussians on three components.",
    )
