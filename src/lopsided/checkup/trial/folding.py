"""Which folds a trial uses: a splitter's, pairs of (train, test) or its own, and whether each can be used."""

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from lopsided.checkup.checks.duplicates import row_identities
from lopsided.checkup.checks.near_duplicates import near_pairs
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.core.errors import InputError
from lopsided.core.folds import given_folds
from lopsided.core.seeds import generator
from lopsided.core.validation import IntArray, check_count
from lopsided.data.labelled_set import LabelledSet

WORTH_SAYING = 0.01  # share of rows with a near copy


def folded(training: LabelledSet, cv: Any, folds: int, repeats: int, seed: int) -> tuple[LabelledSet, int, int]:
    """The training set with the folds of `cv` in its design, and how many folds and repeats there are."""
    folds, repeats = check_count(folds, "the folds", at_least=2), check_count(repeats, "the repeats")
    design = training.design
    if isinstance(cv, (int, np.integer)):
        folds = check_count(cv, "the folds", at_least=2)
    elif cv is not None:
        given = given_folds(_splits(cv, training), training.size)
        design = replace(design, given=given)
        training = replace(training, design=design)
        repeats, folds = given.shape[:2]
    elif design.time is not None:
        repeats = 1  # there is one past
    if training.size < 2 * folds:
        raise InputError(f"at least {2 * folds} training rows for {folds} folds", training.size, "use fewer folds")
    if folds * repeats < 3:
        raise InputError("at least three folds in all for an interval", folds * repeats, "use more folds or repeats")
    for repeat in range(repeats):
        dealt = training.folds(folds, seed, repeat)
        for number in range(folds):
            if not (dealt.fold == number).any():
                what = "times" if design.time is not None else "rows that may be divided"
                raise InputError(f"{what} enough for {folds} folds", f"none to test in fold {number + 1}", "use fewer")
            if np.unique(training.classes.codes[dealt.inside(number)]).size < 2:
                got = f"one alone in fold {number + 1}"
                raise InputError("two classes among the training rows of each fold", got, "use fewer folds")
    return training, folds, repeats


def _splits(cv: Any, training: LabelledSet) -> Iterable[Any]:
    """Pairs of places in the training set. A splitter sees the training rows; other pairs name rows of the data."""
    if isinstance(cv, (str, type)) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        expected = "cv as a scikit-learn splitter, pairs (train, test) or a number of folds"
        raise InputError(expected, repr(cv)[:60], "give for example sklearn.model_selection.GroupKFold(5)")
    if hasattr(cv, "split"):
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The groups parameter is ignored")
                warnings.filterwarnings("ignore", "The least populated class in y")  # a note of the trial says it
                return list(cv.split(np.zeros((training.size, 1)), training.classes.codes, training.design.together))
        except Exception as error:  # a splitter of the user's may raise anything
            message, mend = " ".join(str(error).split()), "give split_by where it needs groups"
            raise InputError(f"{type(cv).__name__} to split the rows", message, mend) from None
    place = {int(row): at for at, row in enumerate(training.rows)}

    def placed(part: Any) -> IntArray:
        given = np.asarray(part)
        given = np.flatnonzero(given) if given.dtype.kind == "b" else given
        strange = [row for row in given.tolist() if row not in place]
        if strange:
            raise InputError("training rows in cv", f"row {strange[0]!r}", "leave out the test rows of the split")
        return np.array([place[row] for row in given.tolist()], dtype=np.int64)

    return [tuple(placed(part) for part in pair) for pair in cv]


def about_design(training: LabelledSet, folds: int, seed: int, recalibrated: bool) -> list[str]:
    """Notes on how rows are divided, and on weights and recalibration."""
    design, notes = training.design, []
    if design.given is None and design.time is not None:
        never = int((training.folds(folds, seed).fold < 0).sum())
        notes.append(
            f"Each fold trains on the past and tests on the rows that follow; the first {never:,} rows are not tested."
        )
    if design.given is None and design.together is not None:
        notes.append("Rows with the same value of split_by stay in one fold.")
    if design.weights is not None:
        notes.append("sample_weight counts in training and in every metric; threshold moving tunes on unweighted rows.")
    if recalibrated:
        notes.append("Probabilities are recalibrated on held-out training rows; decisions do not change.")
    return notes


def about_copies(evidence: Evidence, training: LabelledSet, seed: int) -> list[str]:
    """A warning if rows are near copies of each other and nothing keeps them in the same fold."""
    if training.design.arrays().keys() & {"together", "time", "given"} or evidence.table is None:
        return []
    try:
        _, first = np.unique(row_identities(evidence)[training.rows], return_index=True)
        found = near_pairs(evidence, training.rows[np.sort(first)], generator(seed, "near copies"))
    except InputError:  # too few rows to say
        return []
    rows = np.unique(found.pairs).size
    if found.crowded or rows < WORTH_SAYING * training.size:
        return []
    return [
        f"{rows:,} rows ({rows / training.size:.0%}) have a near copy, so a model may be tested on rows it has nearly "
        "seen; keep copies together with split_by, or order rows with time."
    ]
