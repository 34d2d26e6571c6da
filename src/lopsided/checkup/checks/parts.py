"""Findings about classes and groups: how they name their subjects, and which parts do worse than the rest.

A part is reported when even the lower end of its gap to the rest is large: accuracy of the part against that of all
other rows; intervals are simultaneous over the parts (see `intervals`).
"""

from collections.abc import Sequence

import numpy as np

from lopsided.checkup.checks.finding import Finding, Level
from lopsided.checkup.checks.intervals import Intervals, gaps_to_rest, rate_intervals
from lopsided.checkup.inputs.partitions import CROSS
from lopsided.core.figure import Figure, Mark, Panel, Points
from lopsided.core.partition import Partition
from lopsided.core.validation import IntArray

RISKY_GAP, FAILING_GAP = 0.05, 0.15
MOST_NAMES, LONGEST_NAME = 30, 24  # under a figure; with more, or longer ones, it would be names alone
RULE = (
    "At risk when even the lower end of the gap (accuracy of all other rows minus that of the part) is above "
    f"{RISKY_GAP:g}, failing above {FAILING_GAP:g}. Jeffreys intervals at the level 1 - 0.05/m for m parts, so they "
    "hold for all at once."
)


def class_subject(classes: Partition, code: int) -> str:
    """`class cat`; a name that already says so does not change."""
    name = classes.names[code]
    return name if name.startswith("class ") else f"class {name}"


def group_subject(part: Partition, code: int) -> str:
    """`sex: female`, `sex × race: female × black`."""
    return f"{part.name}: {part.names[code]}"


def counted(number: int, unit: str) -> str:
    """`1 class`, `5 classes`, `1 group`: `unit` is the plural."""
    return f"{number:,} {unit if number != 1 else {'classes': 'class', 'groups': 'group'}[unit]}"


def all_of(number: int, unit: str) -> str:
    """`all 5 classes`, `the only class`."""
    return f"all {counted(number, unit)}" if number != 1 else f"the only {counted(1, unit).removeprefix('1 ')}"


def opening(subject: str) -> str:
    """A subject at the start of a sentence; names keep the user's spelling."""
    return subject[:1].upper() + subject[1:] if subject.startswith(("class", "group")) else f"Group {subject}"


def without_implied(findings: Sequence[Finding]) -> list[Finding]:
    """Drop cells of an intersection when one of their own groups was already found as bad.

    Subjects are those of `group_subject`; columns come before their intersections.
    """
    said: dict[str, int] = {}
    kept = []
    for finding in findings:
        column, _, group = finding.subject.partition(": ")
        columns, groups = column.split(CROSS), group.split(CROSS)
        parents = [f"{one}: {name}" for one, name in zip(columns, groups, strict=False)] if len(columns) > 1 else []
        if any(said.get(parent, 0) >= finding.level.rank > 0 for parent in parents):
            continue
        said[finding.subject] = max(said.get(finding.subject, 0), finding.level.rank)
        kept.append(finding)
    return kept


def gap_findings(
    subjects: list[str], right: IntArray, totals: IntArray, *, rows: str, remedy: str
) -> tuple[list[Finding], Intervals]:
    """Findings of the parts that do worse than the rest, the worst first; and the accuracies."""
    accuracy, gaps = rate_intervals(right, totals), gaps_to_rest(right, totals)
    found = []
    for part in gaps.beyond(RISKY_GAP):
        words = f"{accuracy.value[part]:.1%} of the {int(totals[part]):,} examples of {subjects[part]} are predicted "
        words += f"correctly {rows}, against {accuracy.value[part] + gaps.value[part]:.1%} of all others."
        level = Level.beyond(gaps.low[part], FAILING_GAP)
        found.append(Finding(level, subjects[part], *accuracy.at(part), words, remedy))
    return found, accuracy


def rates_by_name(names: Sequence[str], rates: Intervals, totals: IntArray) -> dict[str, dict[str, object]]:
    """Plain values of the parts that have rows."""
    return {
        name: {"value": float(rates.value[code]), "interval": rates.of(code), "examples": int(totals[code])}
        for code, name in enumerate(names)
        if totals[code]
    }


def accuracy_figure(title: str, names: list[str], accuracy: Intervals, average: float) -> Figure:
    """Accuracies with their intervals, the worst first; at most a hundred."""
    order = np.argsort(np.nan_to_num(accuracy.value, nan=2.0), kind="stable")[:100]
    order = order[np.isfinite(accuracy.value[order])]
    named = len(order) <= MOST_NAMES
    places = [float(place) if named else place + 1.0 for place in range(len(order))]
    points = interval_points(places, accuracy, order, "accuracy", names)
    left = len(names) - len(order)
    # the worst are on the left and low, so the words over the line have room there
    marks = [Mark(average, f"over all rows: {average:.3f}", "y", at_start=True)]
    below = "" if named else "rank, the worst first"
    words = [names[part] if len(names[part]) <= LONGEST_NAME else names[part][:LONGEST_NAME] + "…" for part in order]
    panel = Panel(title, below, "accuracy", [points], marks, y_range=(0.0, 1.03), x_names=words if named else None)
    told = "Bars are simultaneous 95% intervals." + (f" {left} parts are not drawn." if left else "")
    return Figure(title, [panel], told)


def interval_points(places: list[float], shown: Intervals, order: IntArray, label: str, names: Sequence[str]) -> Points:
    """The parts in `order` at their places along x, with their intervals and names."""
    value, low, high = (ends[order].tolist() for ends in (shown.value, shown.low, shown.high))
    return Points(places, value, label, low, high, [names[part] for part in order])
