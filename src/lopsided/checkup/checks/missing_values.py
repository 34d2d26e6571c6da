"""Are feature values missing, and which classes and groups would lose rows if those were dropped?

Checks of features put the median of a column in place of a missing number. Rows that lack a value are often not a fair
sample: dropping them takes more from one class or group than from the rest, which shifts the fractions of the mixture.
"""

import numpy as np

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level, shortened
from lopsided.checkup.checks.intervals import gaps_to_rest, rate_intervals
from lopsided.checkup.checks.parts import class_subject, group_subject, opening, without_implied
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.core.errors import InputError
from lopsided.core.partition import Partition
from lopsided.core.validation import BoolArray
from lopsided.data.columns import some_of

RISKY_GAP, FAILING_GAP = 0.05, 0.15
MOST_NAMED = 5


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """All rows, then every class and group against the rest."""
    missing, classes = evidence.missing, evidence.labelled
    if missing is None:
        if evidence.table is None:
            raise InputError("features", "none", "provide features (numbers, one row per example)")
        words = f"All {evidence.examples:,} x {evidence.table.width:,} feature values are finite numbers."
        return Checked([Finding(Level.HEALTHY, "all rows", 0.0, None, words)], {"rows_with_missing": 0})
    lacking = evidence.total(missing.rows)
    share = lacking / evidence.examples
    listed = [f"{name}: {count:,}" for name, count in missing.columns.items()]
    words = (
        f"{lacking:,} of {evidence.examples:,} rows ({share:.1%}) lack a feature value ({some_of(listed)}); the checks "
        "of features use the column's median instead."
    )
    remedy = "Find out why they are missing; fill them, or use a learner that takes missing values."
    first = Finding(Level.AT_RISK, "features", share, (share, share), words, remedy)
    parts = _parts(classes, missing.rows, is_class=True)
    for part in evidence.groups.values():
        parts += _parts(part, missing.rows, is_class=False)
    measures = {"rows_with_missing": lacking, "missing_by_column": dict(missing.columns)}
    return Checked([first, *shortened(without_implied(parts), MOST_NAMED, "parts")], measures)


def _parts(part: Partition, lacking: BoolArray, *, is_class: bool) -> list[Finding]:
    """Classes or groups that lack values clearly more often than the rest."""
    whole = part.counts_where(~lacking)
    gaps, rates = gaps_to_rest(whole, part.counts), rate_intervals(part.counts - whole, part.counts)
    found = []
    for code in gaps.beyond(RISKY_GAP):
        subject = class_subject(part, code) if is_class else group_subject(part, code)
        own, rest = rates.value[code], rates.value[code] - gaps.value[code]
        words = f"{opening(subject)} lacks a feature value in {own:.1%} of its {int(part.counts[code]):,} rows, "
        words += f"all others in {rest:.1%}: dropping these rows would make it even smaller."
        remedy = "Fill the values rather than drop the rows, or collect them again for this part."
        found.append(Finding(Level.beyond(gaps.low[code], FAILING_GAP), subject, *rates.at(code), words, remedy))
    return found


CHECK = Check(
    "missing_values",
    "Are feature values missing?",
    "At risk when a value is missing; a class or group is at risk when even the lower end of the gap between its rate "
    f"of such rows and that of all others is above {RISKY_GAP:g}, failing above {FAILING_GAP:g}. Intervals hold for "
    "all parts of a column at once.",
    "dropping rows changes the fractions of the mixture: Li et al. 2024 (group imbalance), Section 2",
    frozenset({"labels"}),
    run,
    exact=True,
)
