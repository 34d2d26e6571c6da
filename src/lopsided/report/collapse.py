"""The collapse forecast in words and as a picture; the numbers are those of `theory.collapse`."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Line, Mark, Panel, Points
from lopsided.core.published_skill import skill_sentence
from lopsided.data.columns import some_of
from lopsided.report.style import short
from lopsided.theory.collapse import CollapseForecast, TwoSizeFacts, curve_over_ratio

CURVE_POINTS = 160


def class_list(forecast: CollapseForecast, indices: Sequence[int], most: int = 12) -> str:
    """Class names, or index ranges where there are no names; long lists are cut with a count."""
    if forecast.counts.names is not None:
        return some_of([forecast.counts.name(index) for index in indices], most)
    runs = np.split(np.asarray(indices), np.flatnonzero(np.diff(indices) != 1) + 1) if len(indices) else []
    ranges = [str(run[0]) if run.size == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return ", ".join(ranges[:most]) + (f" and {len(ranges) - most} more ranges" if len(ranges) > most else "")


def verdict(forecast: CollapseForecast) -> str:
    """One sentence: which classes will not be distinguished, and how many examples a class needs."""
    needed = f"a class needs more than {short(forecast.count_needed)} examples"
    collapsed = forecast.collapsed
    if not collapsed:
        return f"No class collapses: {needed}, and the smallest has {short(float(forecast.effective_counts.min()))}."
    classes = "class" if len(collapsed) == 1 else "classes"
    which = class_list(forecast, collapsed)
    return f"{len(collapsed)} of {forecast.classes} classes collapse ({classes} {which}): {needed}."


def summary(forecast: CollapseForecast, given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts in the order of the page, as (name, value); `given` are the options, for the score of the forecast."""
    facts = forecast.to_dict()
    two = forecast.two_sizes
    rows = [
        ("model", facts["model"]),
        ("form", f"{facts['form']}, tau = {short(forecast.tau)}, multiplier = {short(forecast.multiplier)}"),
        ("classes", f"{forecast.classes} with {short(forecast.counts.total)} examples"),
        ("examples a class needs", short(forecast.count_needed)),
        ("collapsed classes", class_list(forecast, forecast.collapsed) or "none"),
        ("minority cosine", short(forecast.minority_cosine)),
        ("majority cosine", short(forecast.majority_cosine)),
    ]
    if two is not None and two.minority_classes:
        rows += [
            ("imbalance ratio R", short(two.ratio)),
            ("collapse from R0", short(two.ratio_threshold, 6)),
            ("vanishing from R1", short(two.vanishing_ratio, 6)),
        ]
    elif forecast.collapsed_cosine is not None:
        rows.append(("cosine among collapsed classes", short(forecast.collapsed_cosine)))
    if forecast.target_cosine is not None:
        rate = forecast.oversampling_rate
        words = "none: even equal class sizes collapse" if rate is None else str(rate)
        rows.append((f"oversampling rate for cosine {short(forecast.target_cosine)}", words))
    if forecast.plan is not None:
        rows += _plan_rows(forecast)
    rows += _skill(forecast, given)
    status = forecast.solution.status.value.partition(":")[0]
    return [
        *rows,
        ("mean cross entropy", f"{forecast.solution.objective:.6g}"),
        ("certificate", f"relative gap {forecast.relative_gap:.1e} ({status})"),
        ("time", f"{forecast.seconds:.3g} s"),
    ]


def _skill(forecast: CollapseForecast, given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Scored with free features, a multiplier or energies, both of a pilot run: nothing is said of other calls.

    Holding the multiplier and holding the energies are two forecasts, and the second misses more.
    """
    ways = {"multiplier": ("collapse", "multiplier"), "weight_energy": ("collapse by energies", "energies")}
    kind, held = next((way for name, way in ways.items() if given.get(name) is not None), ("", ""))
    told = skill_sentence(kind) if kind and forecast.model.features == "free" else ""
    return [(f"measured skill with the {held} of a pilot run", told)] if told else []


def _plan_rows(forecast: CollapseForecast) -> list[tuple[str, str]]:
    plan = forecast.plan
    assert plan is not None
    rows = [("largest multiplier without collapse", f"{short(plan.safe_multiplier)} (tau {short(plan.safe_tau)})")]
    if not plan.oversampling.possible:
        return [*rows, ("oversampling", f"cannot help: {plan.oversampling.why_not}")]
    rates, extra = plan.oversampling.rates, plan.collection.extra
    checked = "verified" if plan.oversampling.verified and plan.collection.verified else "NOT verified"
    return [
        *rows,
        ("oversample", f"{int((rates > 1).sum())} classes, at rates up to {short(float(rates.max()))} ({checked})"),
        ("or collect", f"{short(plan.collection.extra_total)} examples, up to {short(float(extra.max()))} a class"),
    ]


def collapse_figure(forecast: CollapseForecast) -> Figure:
    """Two sizes: cosines against R with the thresholds and this point. More: class size against norm and margin."""
    two = forecast.two_sizes
    if two is not None and two.minority_classes:
        panel = _ratio_panel(forecast, two)
        if any(isinstance(series, Line) for series in panel.series):  # one class a side has no angle to draw
            return Figure("Collapse forecast", [panel], caption=verdict(forecast))
    return Figure("Collapse forecast", _size_panels(forecast), caption=verdict(forecast))


def _ratio_panel(forecast: CollapseForecast, two: TwoSizeFacts) -> Panel:
    thresholds = [value for value in (two.ratio_threshold, two.vanishing_ratio) if value and math.isfinite(value)]
    top = min(max([3 * two.ratio, *(4 * value for value in thresholds)]), 1e12)
    ratios = np.geomspace(1.0, max(top, 10.0), CURVE_POINTS)
    # The corner of the curve at a threshold is only sharp if the threshold itself is a point of it.
    ratios = np.unique(np.concatenate([ratios, [value for value in thresholds if value < top]]))
    problem = two.majority_classes, two.minority_classes, forecast.held, forecast.model
    values = curve_over_ratio(*problem, ratios.tolist())
    series: list[Line | Points] = []
    for label, position in (("minority classes", 0), ("majority classes", 1)):
        heights = [value[position] for value in values]
        if any(height is not None for height in heights):
            series.append(Line(ratios.tolist(), heights, label))
    if forecast.minority_cosine is not None:
        series.append(Points([two.ratio], [forecast.minority_cosine], "your data", emphasised=True))
    marks = []
    if two.ratio_threshold and two.ratio_threshold < top:
        marks.append(Mark(two.ratio_threshold, f"collapse, R0 = {short(two.ratio_threshold)}"))
    if two.vanishing_ratio and two.vanishing_ratio < top:
        marks.append(Mark(two.vanishing_ratio, f"vanishing, R1 = {short(two.vanishing_ratio)}"))
    if forecast.minority_cosine is None:
        marks.append(Mark(two.ratio, f"your data, R = {short(two.ratio)}: no angle"))
    marks.append(Mark(-1.0 / (forecast.classes - 1), "equal sizes", axis="y"))
    title = f"{two.majority_classes} majority and {two.minority_classes} minority classes, tau = {short(forecast.tau)}"
    ends = -0.6 if forecast.classes > 2 else -1.05, 1.05
    upward = "mean cosine between classifiers"
    return Panel(title, "imbalance ratio R", upward, series, marks, x_log=True, y_range=ends)


def _size_panels(forecast: CollapseForecast) -> list[Panel]:
    rows = forecast.to_dict()["sizes"]
    counts = [row["count"] for row in rows]
    names = [f"{row['classes']} class{'es' if row['classes'] > 1 else ''} of {short(row['count'])}" for row in rows]
    mark = Mark(forecast.count_needed, f"needed: {short(forecast.count_needed)}")
    ends = min(*counts, forecast.count_needed) / 1.3, max(*counts, forecast.count_needed) * 1.3

    def panel(key: str, title: str, label: str) -> Panel:
        points = Points(counts, [row[key] for row in rows], title.lower(), names=names)
        return Panel(title, "examples in the class", label, [points], [mark], x_log=True, x_range=ends)

    return [
        panel("classifier_norm", "Length of the classifier", "|w|"),
        panel("margin", "Margin over the next class", "logit margin"),
    ]
