"""Does a single column give the label away?

A column that was written down with the label (a code of the diagnosis, a date of closing, the label again) makes every
model look good and is not there when it matters. Each column alone, numbers through a tree of at most `LEAVES` leaves a
class and words by their most frequent label, predicts one half of a sample of the training rows after the other, both
ways round; a column is suspected when the interval of its error (for all columns at once) lies below `LEFT` times the
error of always predicting the largest class. If a forest on all columns that are not suspected predicts the label
better on the same halves, the task is easy and nothing is reported. A reported column may be legitimate: only its owner
knows whether it is known before the label.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level, shortened
from lopsided.checkup.checks.intervals import rate_intervals
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.feature_space import chosen_rows, read_rows
from lopsided.checkup.inputs.row_contents import feature_digests, largest_classes
from lopsided.core.errors import InputError
from lopsided.core.validation import IntArray

MOST_ROWS, MOST_COLUMNS = 4000, 1000
FEWEST_ROWS = 40
LEFT = 0.1
LEAVES = 2
TREES = 50
HOPELESS = 0.9  # of the error of the largest class
MOST_NAMED = 5
_BINS, _FOR_A_CLASS, _ROWS_OF_A_BIN = 64, 8, 8


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Columns of features and columns of words, one after the other."""
    classes, table = evidence.labelled, evidence.features
    if table.width > MOST_COLUMNS:
        raise InputError(
            f"at most {MOST_COLUMNS:,} columns", f"{table.width:,}", "this check does not apply to pictures"
        )
    rows = chosen_rows(evidence, MOST_ROWS)
    present, codes = np.unique(classes.codes[rows], return_inverse=True)
    if rows.size < FEWEST_ROWS or present.size < 2:
        raise InputError(f"{FEWEST_ROWS} training rows of two classes", f"{rows.size}")
    # of two classes as frequent in a bin or a leaf the larger one is said: their names must not decide
    order = largest_classes(np.arange(present.size), np.bincount(codes), codes, feature_digests(evidence)[rows])
    codes = np.argsort(order)[codes]
    half = random.permutation(rows.size) < rows.size // 2
    tested, usual = rows.size, int(rows.size - np.bincount(codes).max())
    columns = _columns(evidence, rows)
    errors = np.array([sum(_errors(one, codes, side, usual) for side in (half, ~half)) for one in columns.values()])
    high = rate_intervals(errors, np.full(errors.size, tested)).high
    suspected = high < LEFT * usual / tested
    others = [values for values, suspect in zip(columns.values(), suspected, strict=True) if not suspect]
    together = _together(others, codes, half) if suspected.any() and others else tested
    caught = np.flatnonzero(suspected & (errors <= together))
    names, right = list(columns), 1 - errors / tested
    intervals = rate_intervals(tested - errors, np.full(errors.size, tested))
    largest = f"(always predicting the largest class: {1 - usual / tested:.1%})"
    remedy = "If it is recorded together with the label or later, leave it out and train again."
    findings = []
    for at in caught[np.argsort(errors[caught], kind="stable")]:
        words = f"Column {names[at]} alone predicts the class of {right[at]:.1%} of {tested:,} held-out examples "
        words += f"{largest}."
        findings.append(Finding(Level.AT_RISK, f"column {names[at]}", *intervals.at(at), words, remedy))
    if not findings:
        best = int(np.argmin(errors))
        easier = f", but the others together for {1 - together / tested:.1%}" if suspected.any() else ""
        words = f"No single column gives the label away; the best, {names[best]}, is right for {right[best]:.1%} of "
        words += f"{tested:,} held-out examples{easier} {largest}."
        findings = [Finding(Level.HEALTHY, "all columns", *intervals.at(best), words)]
    measures = {"weighting": "every example has the same weight", "held_out": tested, "columns": errors.size}
    return Checked(shortened(findings, MOST_NAMED, "columns"), measures)


def _columns(evidence: Evidence, rows: IntArray) -> dict[str, NDArray[Any]]:
    """Features by name or number, then columns of words."""
    table = evidence.features
    values = read_rows(evidence, rows)
    named = table.feature_names or [str(place) for place in range(table.width)]
    words = set(evidence.described_by) if table.origins is not None else set()  # asked as they are, not as encoded
    found: dict[str, NDArray[Any]] = {
        name: values[:, place]
        for place, name in enumerate(named)
        if table.origins is None or table.origins[place] not in words
    }
    for name in evidence.described_by:
        column = table.columns[name][rows]
        found[name] = np.array([str(entry) for entry in column]) if column.dtype.kind not in "fiub" else column
    return found


def _errors(values: NDArray[Any], codes: IntArray, learn: NDArray[np.bool_], usual: int) -> int:
    """Wrong answers on the rows that were not learned from."""
    _, place, rows_of = np.unique(values, return_inverse=True, return_counts=True)
    kinds, words = rows_of.size, values.dtype.kind == "U"
    binned = place if kinds <= _BINS or words else _bins(rows_of, int(codes.max() + 1))[place]
    wrong = _majority_errors(binned, codes, learn)
    # a tree is grown where the bins are no worse than the largest class; where most rows are of other classes, a column
    # that gives the label away is clearly better in the bins too
    hopeless = 0.5 * usual if usual < 0.5 * codes.size else HOPELESS * 0.5 * usual
    if words or kinds <= _BINS or wrong > hopeless:
        return wrong
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES * int(codes.max() + 1), random_state=0)
    # trees see single precision: values on the scale from 0 to 1, and ranks, which no scale can crowd
    spread = values.astype(np.float64) / max(float(np.abs(values).max()), 1e-300)
    for column in (spread[:, None].astype(np.float32), place[:, None].astype(np.float32)):
        said = _fitted(tree, column[learn], codes[learn]).predict(column[~learn])
        wrong = min(wrong, int((said != codes[~learn]).sum()))
    return wrong


def _bins(rows_of: IntArray, classes: int) -> IntArray:
    """Of every value its bin: of about as many rows each, several for a class as long as each has some rows."""
    rows = int(rows_of.sum())
    bins = max(_BINS, min(_FOR_A_CLASS * classes, rows // _ROWS_OF_A_BIN))
    before: IntArray = np.cumsum(rows_of) - rows_of
    return before * bins // rows


def _together(columns: list[NDArray[Any]], codes: IntArray, half: NDArray[np.bool_]) -> int:
    """Wrong answers of a forest on all these columns, each as ranks, which ask for no scale; both ways round."""
    from sklearn.ensemble import RandomForestClassifier

    ranks = np.stack([np.unique(values, return_inverse=True)[1] for values in columns], axis=1).astype(np.float32)
    wrong = 0
    for learn in (half, ~half):
        forest = _fitted(RandomForestClassifier(TREES, random_state=0), ranks[learn], codes[learn])
        wrong += int((forest.predict(ranks[~learn]) != codes[~learn]).sum())
    return wrong


def _fitted(model: Any, points: NDArray[Any], codes: IntArray) -> Any:
    with warnings.catch_warnings():  # scikit-learn takes many classes of few examples for a regression
        warnings.filterwarnings("ignore", message="The number of unique classes")
        return model.fit(points, codes)


def _majority_errors(place: IntArray, codes: IntArray, learn: NDArray[np.bool_]) -> int:
    """Every value stands for its most frequent class; one that was not seen for the largest."""
    classes, kinds = int(codes.max()) + 1, int(place.max()) + 1
    table = np.bincount(place[learn] * classes + codes[learn], minlength=kinds * classes).reshape(kinds, classes)
    said = np.where(table.sum(axis=1) > 0, table.argmax(axis=1), table.sum(axis=0).argmax())
    return int((said[place[~learn]] != codes[~learn]).sum())


CHECK = Check(
    "label_leaks",
    "Does a single column give the label away?",
    f"At risk when the error of one column alone on held-out examples is clearly (by its interval) below {LEFT:.0%} "
    "of that of always predicting the largest class, and no larger than that of a forest on all columns that are not "
    "suspected. Intervals hold for all columns at once; every example has the same weight.",
    "target leakage (Kaufman et al. 2012): a legitimate column is known before the label",
    frozenset({"labels", "features"}),
    run,
)
