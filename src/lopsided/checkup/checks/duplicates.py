"""Do the same examples stand in training and test, or under two labels?

Rows are compared by the bytes of their features (a 16-byte BLAKE2 digest each) and by the other columns that describe
them, such as groups, so this is exact and one pass. Sets whose rows repeat by themselves (few columns of few values)
are recognised: when more than `REPEATING` of all rows are repeats within the training rows alone, repeats say nothing
about leakage and are reported as a measure.
"""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.evidence import Evidence
from lopsided.checkup.finding import Check, Checked, Finding, Level
from lopsided.checkup.intervals import rate_intervals
from lopsided.core.validation import IntArray

FAILING_SHARE = 0.01
REPEATING = 0.05
MOST_EXAMPLES = 20
_GROUND = "test rows seen in training measure memory, not generalisation"


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Digests of all rows, grouped."""
    identity = _identities(evidence)
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
            " Training rows repeat by themselves here, so this is no sign of a leak."
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


def _identities(evidence: Evidence) -> IntArray:
    """One number per row, equal for equal rows."""
    assert evidence.table is not None
    digests = []
    for block in evidence.table.blocks():
        rows = np.ascontiguousarray(block)
        if rows.dtype.kind == "f":
            rows = rows + 0.0  # minus zero is zero
        size = rows.shape[1] * rows.dtype.itemsize
        view = memoryview(rows.tobytes())
        digests.append(
            b"".join(
                hashlib.blake2b(view[start : start + size], digest_size=16).digest()
                for start in range(0, len(view), size)
            )
        )
    identity = _numbered(np.frombuffer(b"".join(digests), dtype="u8").reshape(-1, 2))
    for name in evidence.described_by:
        column = evidence.table.columns[name]
        words = np.array([str(entry) for entry in column]) if column.dtype.kind == "O" else column
        _, codes = np.unique(words, return_inverse=True)
        identity = _numbered(np.stack([identity, codes.ravel()], axis=1))
    return identity


def _numbered(pairs: NDArray[Any]) -> IntArray:
    """One number per row of two columns, equal for equal rows."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    ordered = pairs[order]
    fresh = np.concatenate([[False], (ordered[1:] != ordered[:-1]).any(axis=1)])
    identity = np.empty(len(pairs), dtype=np.int64)
    identity[order] = np.cumsum(fresh)
    return identity


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
