"""The plans, the rule and the figure that the two augmentation claims share."""

from collections.abc import Sequence
from typing import Any

from lopsided.core.figure import Figure, Line, Panel
from lopsided.engine.task import Row
from lopsided.papers.claim import Runs, Scale, Verdict
from lopsided.papers.gi.group_pictures import (
    FACES,
    PAPER_GARMENTS,
    PAPER_PLANES,
    QUICK_DIGITS,
    QUICK_PLANES,
    AlsoFaces,
)
from lopsided.papers.shared.group_trends import accuracy_panel, by_world, hill
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.network_summary import chosen, curve, level, percent
from lopsided.papers.shared.structured_summary import Part, weigh

JUDGED = {"minority": "minority group", "balanced": "average"}


def name_of(row: Row) -> str:
    """`cifar-10, airplanes few`."""
    return f"{row.settings['images']}, {row.settings['minority']} few"


def augmentation_judge(rows: Sequence[Row], key: str, words: str) -> Verdict:
    """A hill over the level, in every world, for the minority and for the average over both groups alike."""
    parts: list[Part] = []
    numbers: dict[str, Any] = {}
    found = []
    for name, own in by_world(rows, name_of).items():
        levels = sorted({float(row.settings[key]) for row in own})
        shapes = {value: hill(own, key, value) for value in (*JUDGED, "natural")}
        parts += [
            Part(f"{name}: {label}", shapes[value].rises_then_falls, shapes[value].valley)
            for value, label in JUDGED.items()
        ]
        numbers[name] = {
            "levels": levels,
            "shapes": shapes,
            **{
                value: [level(chosen(own, **{key: place}), value) for place in levels]
                for value in ("minority", "majority", "balanced", "natural")
            },
        }
        best = shapes["minority"]
        ends = [level(chosen(own, **{key: place}), "minority").mean for place in (levels[0], levels[-1])]
        found.append(
            f"{name}: minority accuracy {100 * ends[0]:.1f} % at {words} 0, {100 * ends[1]:.1f} % at {levels[-1]:g}; "
            f"the best inner level, {best.peak:g}, is {percent(best.above_first)} above the first and "
            f"{percent(best.above_last)} above the last; natural mix "
            f"{100 * level(chosen(own, **{key: levels[0]}), 'natural').mean:.1f} to "
            f"{100 * level(chosen(own, **{key: levels[-1]}), 'natural').mean:.1f} %"
        )
    stuck = sum(bool(row.numbers.get("stuck")) for row in rows)
    if stuck:
        found.append(f"{stuck} of {len(rows)} networks call every picture the same")
    return weigh(parts, "; ".join(found), numbers)


def augmentation_plot(rows: Sequence[Row], key: str, label: str) -> Figure:
    """Accuracies over the level, and the forecast excess where one was computed."""
    panels = []
    for name, own in by_world(rows, name_of).items():
        panels.append(accuracy_panel(own, key, name, label))
        if any(row.numbers.get("forecast_minority") is not None for row in own):
            lines: list[Line] = [
                curve(own, key, "forecast_minority", "minority group"),
                curve(own, key, "forecast_average", "average", dashed=True),
            ]
            panels.append(Panel(f"{name}: forecast", label, "excess risk by the large-n law (nats)", lines))
    return Figure(
        "Augmented copies of minority pictures",
        panels,
        "Bands: 95 % intervals over paired seeds. The average takes both groups alike; the natural mix as they are.",
    )


def augmentation_plans(**levels: tuple[Sequence[float], Sequence[float]]) -> dict[Scale, Runs]:
    """Both scales of a claim on copies of minority pictures; the levels of its one setting at the quick scale and at
    the paper's."""
    ((name, (few, many)),) = levels.items()
    return {
        "quick": Runs(
            [
                *varied({**QUICK_PLANES, "copies": 100}, **{name: few}),
                *varied({**QUICK_DIGITS, "copies": 20}, **{name: few}),
            ],
            seeds=range(5),
        ),
        "paper": Runs(
            AlsoFaces(
                [
                    *varied({**PAPER_PLANES, "copies": 1000}, **{name: many}),
                    *varied({**PAPER_GARMENTS, "copies": 300}, **{name: many}),
                ],
                varied({**FACES, "copies": 300}, **{name: many}),
            ),
            seeds=range(10),
        ),
    }
