"""Which groups does the model get wrong more often than the rest, over all examples and class by class?

Accuracy per group of every column and intersection. Where labels and groups overlap, the cells (class, group) too: the
worst of them is what group robust training calls the worst group.
"""

from typing import Any

import numpy as np

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level, shortened
from lopsided.checkup.checks.intervals import rate_intervals
from lopsided.checkup.checks.parts import (
    RULE,
    accuracy_figure,
    all_of,
    gap_findings,
    group_subject,
    own_key,
    rates_by_name,
    without_implied,
)
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.partitions import CROSS, SMALL_CELL, intersection
from lopsided.core.figure import Figure
from lopsided.core.partition import Partition
from lopsided.core.validation import BoolArray

MOST_NAMED = 5
_REMEDY = (
    "Train with group weights or group DRO, or collect more of this group if group_mixture forecasts that it helps."
)


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Every column and intersection by itself."""
    classes, predictions = evidence.labelled, evidence.predictions
    assert predictions is not None
    rows = evidence.judged
    hit = rows & (predictions == classes.codes)
    findings: list[Finding] = []
    figures: list[Figure] = []
    measures: dict[str, Any] = {"judged": evidence.judged_words}
    overall = evidence.total(hit) / evidence.total(rows)
    for name, part in evidence.groups.items():
        totals, correct = part.counts_where(rows), part.counts_where(hit)
        own, accuracy = gap_findings(
            [group_subject(part, code) for code in range(len(part.names))],
            correct,
            totals,
            rows=evidence.judged_words,
            remedy=_REMEDY,
        )
        seen = totals > 0
        worst = accuracy.lowest(slice(None))
        words = f"No group of {name} does clearly worse than the rest {evidence.judged_words}; the lowest "
        words += f"accuracy is {accuracy.value[worst]:.1%} ({part.names[worst]})."
        everyone = f"{name}: {all_of(int(seen.sum()), 'groups')}"
        lowest, ends = accuracy.at(worst)
        findings += shortened(own or [Finding(Level.HEALTHY, everyone, lowest, ends, words)], MOST_NAMED, "groups")
        measures[own_key(measures, name)] = {
            "average_over_rows": overall,
            "average_over_groups": float(accuracy.value[seen].mean()),
            "weighting": "over rows every example has the same weight, over groups every group",
            "worst_group": {"group": part.names[worst], "value": lowest, "interval": ends},
            "accuracy": rates_by_name(part.names, accuracy, totals),
            "worst_cell": _worst_cell(classes, part, rows, hit),
        }
        if len(part.names) > 1:
            figures.append(accuracy_figure(f"Accuracy by {name}", list(part.names), accuracy, overall))
    return Checked(without_implied(findings), measures, figures[:4])


def _worst_cell(classes: Partition, part: Partition, rows: BoolArray, hit: BoolArray) -> dict[str, Any] | None:
    """The (class, group) cell of at least `SMALL_CELL` judged rows with the lowest accuracy."""
    cells, _ = intersection([classes.at(rows), part.at(rows)])
    totals = cells.counts
    large = np.flatnonzero(totals >= SMALL_CELL)
    if not large.size:
        return None
    correct = cells.counts_where(hit[rows])
    rates = rate_intervals(correct, totals)
    worst = int(large[rates.lowest(large)])
    return {
        "cell": f"{classes.name}{CROSS}{part.name}: {cells.names[worst]}",
        "value": float(rates.value[worst]),
        "interval": rates.of(worst),
        "examples": int(totals[worst]),
    }


CHECK = Check(
    "group_accuracy",
    "Which groups does the model get wrong?",
    RULE,
    "Li et al. 2024 (group imbalance), Section 2: the group-level risk, and its average over the mixture",
    frozenset({"labels", "groups", "predictions"}),
    run,
    exact=True,
)
