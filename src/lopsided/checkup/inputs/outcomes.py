"""Predictions, the split and the weight decay as the checks want them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.core.partition import Partition
from lopsided.core.validation import BoolArray, IntArray, check_in_range, check_labels

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
        raise InputError(
            f"predictions that are labels such as {', '.join(classes.names[:4])}", some, "use the same names in both"
        )
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
