"""Do the same examples stand in training and test, or under two labels?

Rows are compared exactly (see `row_identity`); those that are nearly equal are found by `near_duplicates`. Sets whose
rows repeat by themselves (few columns of few values) are recognised: when more than `REPEATING` of all rows are repeats
within the training rows alone, repeats say nothing about leakage and are reported as a measure.
"""

import numpy as np

from lopsided.checkup.evidence import Evidence
from lopsided.checkup.finding import Check, Checked, Finding, Level
from lopsided.checkup.intervals import rate_intervals
from lopsided.checkup.row_identity import row_identities
from lopsided.core.validation import IntArray

FAILING_SHARE = 0.01
REPEATING = 0.05
MOST_EXAMPLES = 20
_GROUND = "test rows seen in training measure memory, not generalisation"


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Digests of all rows, grouped."""
    identity = row_identities(evidence)
    training = evidence.training
    within = 1 - np.unique(identity[training]).size / int(training.sum())
    findings = []
    measures: dict[str, object] = {"repeated_training_rows": float(within)}
    repeating = within > REPEATING
    if evidence.is_test is not None:
        leaked = np.flatnonzero(evidence.is_test & np.isin(identity, np.unique(identity[training])))
        total = int(evidence.is_test.sum())
        measures["test_rows_in_training"] = int(leaked.size)
        share = leaked.size / total
        level = Level.HEALTHY
        if leaked.size and not repeating:
            level = Level.FAILING if share > FAILING_SHARE else Level.AT_RISK
        why = (
            f" {within:.0%} of the training rows repeat another, so this is no sign of a leak, unless rows were copied "
            "before the split."
            if repeating and leaked.size
            else ""
        )
        findings.append(
            Finding(
                "duplicates",
                level,
                "test rows",
                share,
                rate_intervals(np.array([leaked.size]), np.array([total])).of(0),
                f"{leaked.size:,} of {total:,} test rows ({share:.2%}) are also among the training rows.{why}",
                "Drop the listed test rows and measure again." if level is not Level.HEALTHY else "Nothing to do.",
                _GROUND,
                "example",
                tuple(int(row) for row in leaked[:MOST_EXAMPLES]),
            )
        )
    if evidence.classes is not None:
        torn = _two_labels(identity, evidence.classes.codes)
        measures["rows_with_two_labels"] = int(torn.size)
        share = torn.size / evidence.rows
        level = Level.HEALTHY
        if torn.size and not repeating:
            level = Level.FAILING if share > FAILING_SHARE else Level.AT_RISK
        findings.append(
            Finding(
                "duplicates",
                level,
                "labels of equal rows",
                share,
                rate_intervals(np.array([torn.size]), np.array([evidence.rows])).of(0),
                f"{torn.size:,} rows ({share:.2%}) have an equal with another label.",
                "Decide which label is right for the rows listed." if level is not Level.HEALTHY else "Nothing to do.",
                _GROUND,
                "example",
                tuple(int(row) for row in torn[:MOST_EXAMPLES]),
            )
        )
    if not findings:
        words = f"{within:.2%} of the rows repeat an earlier one."
        findings = [Finding("duplicates", Level.HEALTHY, "all rows", within, None, words, "Nothing to do.", _GROUND)]
    return Checked(findings, measures)


def _two_labels(identity: IntArray, codes: IntArray) -> IntArray:
    """Positions of rows of which an equal has another label."""
    pairs = np.unique(np.stack([identity, codes], axis=1), axis=0)
    torn = np.flatnonzero(np.bincount(pairs[:, 0]) > 1)
    return np.flatnonzero(np.isin(identity, torn)) if torn.size else np.zeros(0, dtype=np.int64)


CHECK = Check(
    "duplicates",
    "Do the same examples stand in training and test, or under two labels?",
    f"At risk from the first such row, failing above {FAILING_SHARE:.0%}; neither where more than {REPEATING:.0%} "
    "of the "
    "training rows repeat each other. Counts are exact; the interval is that of a rate.",
    frozenset({"features"}),
    run,
)
