"""Do nearly the same examples stand in training and test, or under two labels?

Copies with a little noise, another compression or a last digit rounded off leak as exact ones do (see `near_copies` for
the distance, its threshold and how pairs are found). Equal rows are left to `duplicates`. Rows whose words differ are
no copies. Where rows are crowded by themselves nothing is said.
"""

import numpy as np

from lopsided.checkup.checks.duplicates import FAILING_SHARE, MOST_EXAMPLES
from lopsided.checkup.checks.finding import Check, Checked, Finding, Level
from lopsided.checkup.checks.intervals import rate_intervals
from lopsided.checkup.checks.near_copies import AROUND, COPIES, FRACTION, NEAR, NearPairs, near_pairs
from lopsided.checkup.checks.row_identity import description_codes, row_identities
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.core.validation import IntArray

_GROUND = "near copies of training rows among the test rows measure memory (Barz and Denzler 2020, for CIFAR)"


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Near pairs of rows that differ; one row stands for all that are equal in features, split and label."""
    identity = row_identities(evidence)
    kinds = [identity, evidence.training.astype(np.int64)]
    if evidence.classes is not None:
        kinds.append(evidence.classes.codes)
    _, first = np.unique(np.stack(kinds, axis=1), axis=0, return_index=True)
    found = near_pairs(evidence, np.sort(first), random)
    words = description_codes(evidence)
    pairs = found.pairs[
        (words[found.pairs[:, 0]] == words[found.pairs[:, 1]])
        & (identity[found.pairs[:, 0]] != identity[found.pairs[:, 1]])
    ]
    measures: dict[str, object] = {
        "near_pairs": len(pairs),
        "threshold": found.threshold,
        "usual_distance": found.usual,
        "crowded": found.crowded,
        "pairs_compared": found.compared,
    }
    if found.crowded:
        message = (
            f"Rows lie close together by themselves (fewer than {COPIES:.0%} of the pairs within "
            f"{AROUND * found.threshold:.2g} deviations are within {found.threshold:.2g}): they are no sign of copies."
        )
        quiet = Finding("near_duplicates", Level.HEALTHY, "all rows", None, None, message, "Nothing to do.", _GROUND)
        return Checked([quiet], measures)
    findings = []
    if evidence.is_test is not None:
        training = evidence.training
        across = pairs[training[pairs[:, 0]] != training[pairs[:, 1]]]
        leaked = np.unique(across[~training[across]])
        exact = np.isin(identity, np.unique(identity[training]))
        leaked = leaked[~exact[leaked]]
        measures["test_rows_near_training"] = int(leaked.size)
        findings.append(_leaks(leaked, int(evidence.is_test.sum()), found))
    if evidence.classes is not None:
        codes = evidence.classes.codes
        torn = np.unique(pairs[codes[pairs[:, 0]] != codes[pairs[:, 1]]])
        measures["rows_near_another_label"] = int(torn.size)
        findings.append(_labels(torn, evidence.rows, found))
    if not findings:
        message = f"{len(pairs):,} pairs of rows differ by no more than {found.threshold:.2g} deviations."
        findings = [
            Finding("near_duplicates", Level.HEALTHY, "all rows", None, None, message, "Nothing to do.", _GROUND)
        ]
    return Checked(findings, measures)


def _leaks(leaked: IntArray, total: int, found: NearPairs) -> Finding:
    share = leaked.size / total
    level = Level.HEALTHY
    if leaked.size:
        level = Level.FAILING if share > FAILING_SHARE else Level.AT_RISK
    return Finding(
        "near_duplicates",
        level,
        "test rows",
        share,
        rate_intervals(np.array([leaked.size]), np.array([total])).of(0),
        f"{leaked.size:,} of {total:,} test rows ({share:.2%}) differ from a training row by no more than "
        f"{found.threshold:.2g} deviations of a column (root mean square), but are not equal to one.",
        "Look at the listed test rows; drop the copies and measure again." if leaked.size else "Nothing to do.",
        _GROUND,
        "example",
        tuple(int(row) for row in leaked[:MOST_EXAMPLES]),
    )


def _labels(torn: IntArray, rows: int, found: NearPairs) -> Finding:
    share = torn.size / rows
    return Finding(
        "near_duplicates",
        Level.AT_RISK if torn.size else Level.HEALTHY,
        "labels of near rows",
        share,
        rate_intervals(np.array([torn.size]), np.array([rows])).of(0),
        f"{torn.size:,} rows ({share:.2%}) have a near copy (within {found.threshold:.2g} deviations) "
        "with another label.",
        "Decide which label is right for the rows listed." if torn.size else "Nothing to do.",
        _GROUND,
        "example",
        tuple(int(row) for row in torn[:MOST_EXAMPLES]),
    )


CHECK = Check(
    "near_duplicates",
    "Do nearly the same examples stand in training and test, or under two labels?",
    f"Near: within {NEAR:g} deviations of a column (root mean square) and within {FRACTION:g} of the usual distance "
    f"to the fifth neighbour. At risk from the first such row, failing above {FAILING_SHARE:.0%} of the test rows; "
    "neither where rows are crowded by themselves. Every pair counted was compared exactly; a pair can be missed. The "
    "interval is that of a rate.",
    frozenset({"features"}),
    run,
)
