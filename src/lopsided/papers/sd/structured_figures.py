"""The four panels of Fig 1, 6 and 7 of Li and Liang (2018): accuracy, coupling, distance against the step; spectra."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Line, Mark, Panel, Points
from lopsided.core.statistics import seed_mean
from lopsided.engine.task import Row
from lopsided.papers.shared.summary import band


def four_panels(
    title: str,
    groups: Mapping[Any, Sequence[Row]],
    name: str,
    caption: str,
    *,
    components: int | None,
    limit: float | None = 0.1,
) -> Figure:
    """One line per group with a band of one standard deviation over seeds; spectra of the last group.

    `name` formats a group's value ("m = {:,}"); `components` marks k l in the spectrum where one number fits all
    groups, `limit` the "less than 0.1" of Section 7.
    """
    labels = {value: name.format(value) for value in groups}
    panels = [
        Panel(
            heading,
            "SGD step",
            axis,
            [band(rows, key, labels[value]) for value, rows in groups.items()],
            marks=[] if limit is None or key == "accuracy" else [Mark(limit, f"{limit:g}", axis="y")],
            y_range=(0.0, 1.02) if key == "accuracy" else None,
        )
        for heading, axis, key in (
            ("Test accuracy", "accuracy", "accuracy"),
            ("Activation patterns changed", "fraction of (unit, example) pairs", "pattern_change"),
            ("Distance from the start", "|W − W₀| / |W₀|", "distance"),
        )
    ]
    return Figure(title, [*panels, _spectra(groups, labels, components)], caption)


def points_over(groups: Mapping[Any, Sequence[Row]], key: str, label: str) -> Points:
    """One point per group: mean of a number over seeds, bar of one standard deviation; nothing where it is absent."""
    found = {
        place: seed_mean(values)
        for place, rows in groups.items()
        if (values := [row.numbers[key] for row in rows if row.numbers[key] is not None])
    }
    low, high = ([mean.mean + sign * mean.deviation for mean in found.values()] for sign in (-1, 1))
    return Points(list(found), [mean.mean for mean in found.values()], label, low=low, high=high)


def steps_panel(groups: Mapping[Any, Sequence[Row]], title: str, x_label: str) -> Panel:
    """Steps to an accuracy against a setting, from zero up so that a constant looks constant."""
    series = points_over(groups, "step", "mean over seeds, one standard deviation")
    highest = 1.6 * max((value for value in series.high or () if value is not None), default=1.0)
    return Panel(title, x_label, "steps", [series], x_log=True, y_range=(0.0, highest))


def _spectra(groups: Mapping[Any, Sequence[Row]], labels: Mapping[Any, str], components: int | None) -> Panel:
    series = [_spectrum(rows, "update_values", f"update, {labels[value]}") for value, rows in groups.items()]
    last = next(reversed(list(groups)))
    series.append(_spectrum(groups[last], "weight_values", f"weights, {labels[last]}", dashed=True))
    marks = [] if components is None else [Mark(components + 0.5, f"k·l = {components}")]
    return Panel("Singular values at the end", "index", "singular value", series, marks, y_log=True)


def _spectrum(rows: Sequence[Row], key: str, label: str, *, dashed: bool = False) -> Line:
    values = np.array([row.numbers[key] for row in rows], dtype=np.float64)
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    low = np.maximum(mean - deviation, mean / 10).tolist()  # a band below zero has no place on a logarithmic axis
    places, high = list(range(1, len(mean) + 1)), (mean + deviation).tolist()
    return Line(places, mean.tolist(), label, low=low, high=high, dashed=dashed)
