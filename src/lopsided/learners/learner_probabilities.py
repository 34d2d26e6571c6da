"""Probabilities of a fitted learner, refused in a sentence where they are none: NaN, a wrong shape, sums other than 1.

Offsets, tuning and group DRO go on computing with whatever they get, and a NaN would pass for an answer.
"""

from typing import Any

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray

SUM_SLACK = 0.01  # probabilities rounded to two digits pass, scores do not


def learner_probabilities(fitted: Any, features: FloatArray, name: str) -> FloatArray:
    """predict_proba of the learner called `name`: n x its classes, finite, none below 0, rows with sum 1."""
    rows, classes = features.shape[0], len(_classes(fitted, name))
    given = fitted.predict_proba(features)
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise _refused(name, f"a {type(given).__name__} that is no array of numbers") from None
    if found.shape != (rows, classes):
        raise _refused(name, f"the shape {found.shape} for {rows:,} examples of {classes:,} classes")
    bad = {
        "NaN": np.isnan(found).any(axis=1),
        "infinite values": np.isinf(found).any(axis=1),
        "values below 0": (found < -SUM_SLACK).any(axis=1),
    }
    for what, where in bad.items():
        if where.any():
            raise _refused(name, f"{what} for {int(where.sum()):,} of {rows:,} examples")
    sums = found.sum(axis=1)
    off = np.abs(sums - 1.0)
    if rows and off.max() > SUM_SLACK:
        count = int(np.count_nonzero(off > SUM_SLACK))
        raise _refused(name, f"a sum of {sums[off.argmax()]:.4g} (sums are off for {count:,} of {rows:,} examples)")
    return np.maximum(found, 0.0)


def _classes(fitted: Any, name: str) -> Any:
    found = getattr(fitted, "classes_", None)
    if found is None:
        raise InputError(
            f"classes_ of {name}, which say what the columns of its predict_proba are", "none", "set them in its fit"
        )
    return found


def _refused(name: str, got: str) -> InputError:
    return InputError(
        f"predict_proba of {name} to give finite probabilities that sum to 1, one per class", got, "mend the learner"
    )
