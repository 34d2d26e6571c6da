"""Dates and times as words, so that they can name groups: 2024-01-31, or with as much of the clock as they need."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_UNITS = ("D", "m", "s", "ms", "us", "ns")


def time_words(values: NDArray[Any]) -> NDArray[Any]:
    """Strings for datetime64 and timedelta64, None where there is no time; other arrays as they are."""
    if values.dtype.kind not in "mM":
        return values
    missing = np.isnat(values)
    words: NDArray[Any] = _spans(values) if values.dtype.kind == "m" else _dates(values, missing)
    if not missing.any():
        return words
    filled = words.astype(object)
    filled[missing] = None
    return filled


def _spans(values: NDArray[Any]) -> NDArray[Any]:
    return np.array([str(value) for value in values.ravel()]).reshape(values.shape)


def _dates(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    for unit in _UNITS:
        coarse = values.astype(f"M8[{unit}]")
        if (missing | (coarse == values)).all():
            break
    return np.asarray(np.datetime_as_string(coarse))
