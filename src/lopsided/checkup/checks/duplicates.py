"""Do the same examples occur in training and test, or with two labels?

Rows are compared exactly, in one pass: features by the bytes (a 16-byte BLAKE2 digest), words as text. Columns that
describe an example beside its features, such as groups, count; labels, predictions and the split do not. Rows that are
nearly equal are found by `near_duplicates`. Sets whose
rows repeat by themselves (few columns of few values) are recognised: when more than `REPEATING` of all rows are repeats
within the training rows alone, repeats say nothing about leakage and are reported as a measure. Rows that were copied
before the split (oversampling, then splitting) repeat as often; there, rows that differ at all differ already in half
of the columns, which rows of few values do not. So where fewer than `FINE` times as many distinct rows agree in one
half of the columns, repeats are copies.
"""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level
from lopsided.checkup.checks.intervals import rate_intervals
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.core.validation import IntArray

FAILING_SHARE = 0.01
REPEATING = 0.05
FINE = 0.1
MOST_EXAMPLES = 20


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Digests of all rows, grouped."""
    identity = row_identities(evidence)
    training = evidence.training
    within = 1 - np.unique(identity[training]).size / int(training.sum())
    findings = []
    measures: dict[str, object] = {"repeated_training_rows": float(within)}
    copied = within > REPEATING and _copied(evidence, identity, within)
    repeating = within > REPEATING and not copied
    if evidence.is_test is not None:
        leaked = np.flatnonzero(evidence.is_test & np.isin(identity, np.unique(identity[training])))
        total = int(evidence.is_test.sum())
        measures["test_rows_in_training"] = int(leaked.size)
        why, remedy = "", "Drop the listed test rows and measure again."
        if copied and leaked.size:
            why = f" {within:.0%} of the training rows repeat another, and no two others come near: rows were copied "
            why += "before the split."
            remedy = "Split first, then oversample the training rows alone, and measure again."
        elif repeating and leaked.size:
            why = f" {within:.0%} of the training rows repeat another and the columns have few values, so this is no "
            why += "sign of a leak, unless rows were copied before the split."
        words = f"{leaked.size:,} of {total:,} test rows ({leaked.size / total:.2%}) are also among the training rows."
        findings.append(rows_finding("test rows", leaked, total, words + why, remedy, quiet=repeating))
    if evidence.classes is not None:
        torn = _two_labels(identity, evidence.classes.codes)
        measures["rows_with_two_labels"] = int(torn.size)
        words = f"{torn.size:,} rows ({torn.size / evidence.rows:.2%}) have a duplicate with another label"
        words += ", as is usual where columns have few values." if torn.size and repeating else "."
        remedy = "Decide which label is right for the rows listed."
        findings.append(rows_finding("labels of equal rows", torn, evidence.rows, words, remedy, quiet=repeating))
    if not findings:
        words = f"{within:.2%} of the rows repeat an earlier one."
        findings = [Finding(Level.HEALTHY, "all rows", within, None, words)]
    return Checked(findings, measures)


def rows_finding(
    subject: str,
    found: IntArray,
    total: int,
    message: str,
    remedy: str,
    *,
    quiet: bool = False,
    failing: float = FAILING_SHARE,
) -> Finding:
    """A finding about the rows `found` among `total`, unless `quiet`: at risk from the first, failing above a share."""
    share = found.size / total
    interval = rate_intervals(np.array([found.size]), np.array([total])).of(0)
    rows = tuple(int(row) for row in found[:MOST_EXAMPLES])
    if quiet or not found.size:
        return Finding(Level.HEALTHY, subject, share, interval, message, about="example", examples=rows)
    level = Level.FAILING if share > failing else Level.AT_RISK
    return Finding(level, subject, share, interval, message, remedy, "example", rows)


def _copied(evidence: Evidence, identity: IntArray, within: float) -> bool:
    """Are rows that differ at all different already in one half of the columns?"""
    half = evidence.features.width // 2
    if half == 0:
        return False
    distinct = np.unique(identity, return_index=True)[1]
    halves = [feature_identities(evidence, part)[distinct] for part in (slice(half), slice(half, None))]
    agreeing = min(1 - np.unique(ids).size / distinct.size for ids in halves)
    return bool(agreeing < FINE * within)


def _two_labels(identity: IntArray, codes: IntArray) -> IntArray:
    """Positions of rows of which an equal has another label."""
    pairs = np.unique(np.stack([identity, codes], axis=1), axis=0)
    torn = np.flatnonzero(np.bincount(pairs[:, 0]) > 1)
    return np.flatnonzero(np.isin(identity, torn)) if torn.size else np.zeros(0, dtype=np.int64)


def row_identities(evidence: Evidence) -> IntArray:
    """Features and descriptions."""
    return _numbered(np.stack([feature_identities(evidence), description_codes(evidence)], axis=1))


def feature_identities(evidence: Evidence, columns: slice = slice(None)) -> IntArray:
    """Features alone, or some of their columns."""
    digests = []
    for block in evidence.features.blocks():
        rows = np.ascontiguousarray(block[:, columns])
        if rows.dtype.kind == "f":
            rows = rows + 0.0  # minus zero is zero
        size = rows.shape[1] * rows.dtype.itemsize
        view = memoryview(rows.tobytes())
        parts = (view[start : start + size] for start in range(0, len(view), size))
        digests.append(b"".join(hashlib.blake2b(part, digest_size=16).digest() for part in parts))
    return _numbered(np.frombuffer(b"".join(digests), dtype="u8").reshape(-1, 2))


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
)
