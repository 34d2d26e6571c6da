"""Do the same examples occur in training and test, or with two labels?

Rows are compared exactly, in one pass: numbers by their bits, words as text, both through digests of 128 bits
(`data.row_digests`). Columns that describe an example in addition to its features, such as groups, are compared too;
labels, predictions and the split are not. Rows that are nearly equal are found by `near_duplicates`. Sets whose rows
repeat by themselves (few columns of few values) are recognised: when more than `REPEATING` of all rows are repeats
within the training rows alone, repeats say nothing about leakage and are reported as a measure. Rows that were copied
before the split (oversampling, then splitting) repeat as often; there, rows that differ at all differ already in half
of the columns, which rows of few values do not. So where fewer than `FINE` times as many distinct rows agree in one
half of the columns, repeats are copies.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level
from lopsided.checkup.checks.intervals import rate_intervals
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.row_contents import feature_digests
from lopsided.core.validation import IntArray
from lopsided.data.row_digests import Digests, Listed, Repeats, digest_codes, repeats

FAILING_SHARE = 0.01
REPEATING = 0.05
FINE = 0.1


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Digests of all rows, grouped."""
    found = evidence.repeats if evidence.repeats is not None else _repeats(evidence)
    trained = evidence.total(evidence.training)
    within = repeated_share(found, trained)
    findings = []
    measures: dict[str, object] = {"repeated_training_rows": within}
    copied = found.halves is not None and 1 - max(found.halves) / found.distinct < FINE * within
    repeating = within > REPEATING and not copied
    if evidence.is_test is not None:
        leaked, total = found.leaked, evidence.total(evidence.is_test)
        measures["test_rows_in_training"] = leaked.count
        why, remedy = "", "Drop the listed test rows and measure again."
        if copied and leaked.count:
            why = (
                f" {within:.0%} of the training rows repeat another exactly, and the rest are clearly different: rows "
                "were copied before the split."
            )
            remedy = "Split first, then oversample the training rows alone, and measure again."
        elif repeating and leaked.count:
            why = (
                f" {within:.0%} of the training rows repeat another and the columns have few values, so this does not "
                "indicate a leak, unless rows were copied before the split."
            )
        words = (
            f"{leaked.count:,} of {total:,} test rows ({leaked.count / total:.2%}) are also among the training rows."
        )
        findings.append(rows_finding("test rows", leaked, total, words + why, remedy, quiet=repeating))
    if evidence.classes is not None:
        torn, total = found.torn, evidence.examples
        measures["rows_with_two_labels"] = torn.count
        words = f"{torn.count:,} rows ({torn.count / total:.2%}) have a duplicate with another label"
        words += ", as is usual where columns have few values." if torn.count and repeating else "."
        remedy = "Decide which label is right for the rows listed."
        findings.append(rows_finding("labels of equal rows", torn, total, words, remedy, quiet=repeating))
    if not findings:
        words = f"{within:.2%} of the rows repeat an earlier one."
        findings = [Finding(Level.HEALTHY, "all rows", within, None, words)]
    return Checked(findings, measures)


def repeated_share(found: Repeats, training: int) -> float:
    """Of the training rows, those that repeat an earlier one; halves of rows are counted where it is large."""
    return 1 - found.distinct_training / training


def rows_finding(
    subject: str,
    found: Listed,
    total: int,
    message: str,
    remedy: str,
    *,
    quiet: bool = False,
    failing: float = FAILING_SHARE,
) -> Finding:
    """A finding about the rows `found` among `total`, unless `quiet`: at risk from the first, failing above a share."""
    share = found.count / total
    interval = rate_intervals(np.array([found.count]), np.array([total])).of(0)
    rows = tuple(int(row) for row in found.rows)
    if quiet or not found.count:
        return Finding(Level.HEALTHY, subject, share, interval, message, about="example", examples=rows)
    level = Level.FAILING if share > failing else Level.AT_RISK
    return Finding(level, subject, share, interval, message, remedy, "example", rows)


def _repeats(evidence: Evidence) -> Repeats:
    """In memory; halves of rows too where many repeat."""
    digests, codes = _digests(evidence), None if evidence.classes is None else evidence.classes.codes
    found = repeats(digests, np.arange(evidence.rows), evidence.training, codes)
    half = evidence.features.width // 2
    if half == 0 or repeated_share(found, int(evidence.training.sum())) <= REPEATING:
        return found
    parts = (feature_digests(evidence, part) for part in (slice(half), slice(half, None)))
    left, right = (np.unique(_numbered(part)).size for part in parts)
    return replace(found, halves=(left, right))


def _digests(evidence: Evidence) -> Digests:
    """Features and descriptions."""
    digests = feature_digests(evidence)
    digest_codes(digests, description_codes(evidence))
    return digests


def row_identities(evidence: Evidence) -> IntArray:
    """One number per row, equal for equal rows: features and descriptions."""
    return _numbered(_digests(evidence))


def description_codes(evidence: Evidence) -> IntArray:
    """One number per row, equal where all columns that describe it are."""
    found: IntArray = np.zeros(evidence.rows, dtype=np.int64)
    for name in evidence.described_by:
        column = evidence.features.columns[name]
        words = np.array([str(entry) for entry in column]) if column.dtype.kind == "O" else column
        _, codes = np.unique(words, return_inverse=True)
        found = _numbered(np.stack([found, codes.ravel()], axis=1))
    return found


def _numbered(pairs: NDArray[Any]) -> IntArray:
    """One number per row of two columns, equal for equal rows."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    ordered = pairs[order]
    fresh = np.concatenate([[False], (ordered[1:] != ordered[:-1]).any(axis=1)])
    identity = np.empty(len(pairs), dtype=np.int64)
    identity[order] = np.cumsum(fresh)
    return identity


CHECK = Check(
    "duplicates",
    "Do the same examples occur in training and test, or with two labels?",
    f"At risk from the first such row, failing above {FAILING_SHARE:.0%}; neither where more than {REPEATING:.0%} "
    "of the training rows repeat each other because their columns have few values. Counts are exact; the interval is "
    "that of a rate.",
    "test rows seen in training measure memory, not generalisation",
    frozenset({"features"}),
    run,
    exact=True,
)
