"""Checks of everything besides features and labels: predictions, the split, weight decay, the classifier, and the
columns that say how rows may be divided and how much each counts (owner, time, weight)."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.parts import Finder
from lopsided.core.arrays import plain_array
from lopsided.core.errors import InputError
from lopsided.core.folds import Design
from lopsided.core.partition import Partition
from lopsided.core.validation import (
    BoolArray,
    IntArray,
    check_in_range,
    check_labels,
    check_matrix,
    check_offsets,
    check_weights,
    is_missing,
)

CLASSIFIER_NAMES = ("classifier", "classifier_weight", "classifier_weights", "w", "fc.weight", "head.weight", "coef")
BIAS_NAMES = ("bias", "classifier_bias", "b", "fc.bias", "head.bias", "intercept")
DECAY_NAMES = ("weight_decay", "wd")
_TEST_WORDS = frozenset({"test", "testing", "val", "valid", "validation", "dev", "holdout", "held-out", "eval"})
_TRAIN_WORDS = frozenset({"train", "training", "fit"})


def predicted_codes(given: NDArray[Any], classes: Partition | None, rows: int) -> IntArray:
    """Codes of the classes; -1 for a class that no label has."""
    if classes is None:
        raise InputError("labels beside predictions", "none", "give labels=")
    codes, names = check_labels(given, "predictions", length=rows)
    place = {name: code for code, name in enumerate(classes.names)}
    if not set(names) & set(place):
        some = ", ".join(names[:4])
        expected = f"predictions that are labels such as {', '.join(classes.names[:4])}"
        raise InputError(expected, some, "use the same names in both")
    return np.array([place.get(name, -1) for name in names], dtype=np.int64)[codes]


def is_test_row(values: NDArray[Any], rows: int) -> BoolArray:
    """True for test rows, from words or numbers."""
    codes, names = check_labels(values, "split", length=rows)
    words = [name.strip().lower() for name in names]
    if all(word in _TEST_WORDS | _TRAIN_WORDS for word in words):
        test = np.array([word in _TEST_WORDS for word in words])
    elif all(word in ("0", "1", "false", "true") for word in words):
        test = np.array([word in ("1", "true") for word in words])
    else:
        raise InputError("train and test, or True for test rows, as split", ", ".join(names[:6]), "rename them")
    chosen: BoolArray = test[codes]
    if chosen.all() or not chosen.any():
        raise InputError("training and test rows in the split", f"only {names[int(codes[0])]}", "leave the split out")
    return chosen


def checked_decay(value: Any) -> float | None:
    """One number from 0; None for 0 and for what is not one number."""
    if np.size(value) != 1:
        return None
    return check_in_range(np.ravel(value)[0], "the weight decay", 0.0, 1e3) or None


def weight_and_bias(value: Any) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """(W, b) of an array, a PyTorch layer or a scikit-learn model."""
    for weight, bias in (("weight", "bias"), ("coef_", "intercept_")):
        if value is not None and not isinstance(value, np.ndarray) and hasattr(value, weight):
            own = getattr(value, bias, None)
            matrix = plain_array(getattr(value, weight), "the classifier")
            offset = None if own is None else plain_array(np.atleast_1d(own) if weight == "coef_" else own, "the bias")
            if matrix.shape[0] == 1 and weight == "coef_":  # one row stands for two classes
                return np.concatenate([-matrix, matrix]) / 2, None if offset is None else np.array([-1, 1]) * offset / 2
            return matrix, offset
    return value, None


def with_classifier(evidence: Evidence, weight: Any, bias: Any) -> Evidence:
    """The evidence with a classifier of one row per class; unchanged where there is none."""
    if weight is None:
        return evidence
    if evidence.classes is None:
        raise InputError("labels beside a classifier", "none", "give labels=")
    classes = len(evidence.classes.names)
    matrix = check_matrix(weight, "the classifier", columns=evidence.table.width if evidence.table else None)
    if matrix.shape[0] != classes:
        expected = f"{classes} rows in the classifier, one per class of the labels"
        raise InputError(expected, matrix.shape[0], "leave out other classes")
    offset = None if bias is None else check_offsets(np.ravel(bias), classes)
    return replace(evidence, classifier=matrix, bias=offset)


def design_of(found: Finder, rows: int, split_by: Any, time: Any, sample_weight: Any) -> Design:
    """What was given of the three, checked."""
    return Design(
        found.part(split_by, (), "split_by", lambda part: _codes(_column(part, "split_by", rows))),
        found.part(time, (), "time", lambda part: _codes(_times(_column(part, "time", rows)))),
        found.part(sample_weight, (), "sample_weight", lambda part: check_weights(part, rows)),
    )


def _column(part: Any, name: str, rows: int) -> Any:
    values = np.asarray(part)
    if values.shape != (rows,):
        raise InputError(f"one entry of {name} for each of {rows:,} rows", f"shape {values.shape}")
    if values.dtype.kind in "OfM" and any(is_missing(entry) for entry in values.tolist()):
        raise InputError(f"an entry of {name} in every row", "missing values", "fill them or leave out those rows")
    return values


def _codes(values: Any) -> IntArray:
    values = values.astype(str) if values.dtype.kind == "O" else values
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _times(values: Any) -> Any:
    if values.dtype.kind in "iufM":
        return values
    for kind in ("float64", "datetime64[ns]"):
        try:
            return values.astype(str).astype(kind)
        except (ValueError, TypeError):
            continue
    got = f"words such as {str(values[0])[:40]!r}"
    raise InputError("times as numbers or dates such as 2024-01-31", got, "write dates as in ISO 8601")
