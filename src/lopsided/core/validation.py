"""Checks of user input, each with a helpful error: numbers, matrices, labels, features."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lopsided.core.errors import InputError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def _as_float(value: object, what: str, remedy: str) -> float:
    if isinstance(value, (bool, np.bool_)):
        raise InputError(what, repr(value), remedy)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(what, repr(value), remedy) from None
    return number


def check_positive(value: object, name: str, *, remedy: str = "give a finite number above 0") -> float:
    """A finite number > 0."""
    expected = f"a positive number for {name}"
    number = _as_float(value, expected, remedy)
    if not math.isfinite(number) or number <= 0:
        raise InputError(expected, value, remedy)
    return number


def check_in_range(value: object, name: str, low: float, high: float, *, remedy: str = "") -> float:
    """A number in the closed interval [low, high]."""
    expected = f"a number between {low:g} and {high:g} for {name}"
    number = _as_float(value, expected, remedy)
    if not low <= number <= high:
        raise InputError(expected, value, remedy)
    return number


def check_count(value: object, name: str, *, at_least: int = 1) -> int:
    """A whole number >= at_least."""
    expected = f"a whole number >= {at_least} for {name}"
    number = _as_float(value, expected, "")
    if not math.isfinite(number) or number != math.floor(number) or number < at_least:
        raise InputError(expected, value)
    return int(number)


def is_number(text: str) -> bool:
    """Whether a text is a number, as Python writes them."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_choice(value: object, known: Iterable[str], what: str) -> str:
    """One of the words that are known, where `what` (a process, a schedule) is expected."""
    words = list(known)
    if not isinstance(value, str) or value not in words:
        raise InputError(f"{what} among {', '.join(words)}", repr(value))
    return value


def check_text(value: object, what: str) -> str:
    """Text, where `what` is expected."""
    if not isinstance(value, str):
        raise InputError(what, _kind(value), "give text")
    return value


def check_texts(values: object, what: str) -> list[str]:
    """A list of texts, or one text, where several of `what` are expected."""
    listed = [values] if isinstance(values, str) else values
    if not isinstance(listed, Iterable):
        raise InputError(f"a list, each {what}", _kind(values))
    return [check_text(value, what) for value in listed]


def check_finite(array: FloatArray, name: str) -> None:
    """Every entry is a finite number; the error says how many are not and where the first one is."""
    bad = ~np.isfinite(array)
    if bad.any():
        first = tuple(int(index) for index in np.argwhere(bad)[0])
        where = first[0] if len(first) == 1 else first
        got = f"{int(bad.sum())} NaN or infinite entries, the first at {where}"
        raise InputError(f"finite numbers in {name}", got, "remove or fill them first")


def check_matrix(
    value: ArrayLike, name: str, *, rows: int | None = None, columns: int | None = None, gaps: bool = False
) -> FloatArray:
    """A finite float64 matrix, with the stated number of rows or columns where one is asked for. gaps: NaN may be."""
    if np.iscomplexobj(value):
        raise InputError(f"a matrix of real numbers for {name}", "complex numbers", "give their parts or lengths")
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"a matrix of numbers for {name}", _kind(value), "give a two-dimensional array") from None
    if array.ndim != 2 or array.size == 0:
        raise InputError(f"a non-empty matrix for {name}", f"shape {array.shape}", "give a two-dimensional array")
    for axis, wanted, word in ((0, rows, "rows"), (1, columns, "columns")):
        if wanted is not None and array.shape[axis] != wanted:
            got = f"shape {array.shape}"
            raise InputError(f"{wanted} {word} in {name}", got)
    check_finite(np.where(np.isnan(array), 0.0, array) if gaps and np.isnan(array).any() else array, name)
    return array


def check_labels(value: ArrayLike, name: str = "labels", *, length: int | None = None) -> tuple[IntArray, list[str]]:
    """Labels of any kind to codes 0..K-1 and their names, in sorted order of the labels.

    Strings, whole numbers and booleans are labels; floats only if they are whole numbers.
    """
    array = np.asarray(value)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"one label per example in {name}", f"shape {array.shape}", "give a one-dimensional array")
    if length is not None and array.shape[0] != length:
        expected = f"{length} entries in {name}, one per example"
        raise InputError(expected, array.shape[0])
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):  # what a long double holds beyond float64 is refused as infinite below
            array = array.astype(np.float64)
        check_finite(array, name)
        if np.any(array != np.floor(array)):
            raise InputError(f"class labels in {name}", "fractions", "give whole numbers or strings, one per class")
        if np.abs(array).max() >= 2.0**63:
            raise InputError(f"class labels in {name}", f"{np.abs(array).max():g}", "give smaller numbers or strings")
        array = array.astype(np.int64)
    if array.dtype.kind == "O":
        if any(isinstance(entry, (np.ndarray, list, tuple, set, dict)) for entry in array):
            raise InputError(f"one label per example in {name}", "lists as entries", "give whole numbers or strings")
        missing = [row for row, entry in enumerate(array) if is_missing(entry)]
        if missing:
            got = f"missing values in {len(missing):,} of {array.size:,}, the first in row {missing[0]}"
            raise InputError(f"a label for every example in {name}", got, "remove or fill them first")
        # whole numbers stay numbers, so that 2 comes before 10
        whole = all(isinstance(entry, (int, np.integer)) and not isinstance(entry, bool) for entry in array)
        array = np.array(list(array) if whole else [str(entry) for entry in array])
    if array.dtype.kind not in "biuUS":
        raise InputError(f"class labels in {name}", f"values of type {array.dtype}", "give whole numbers or strings")
    names, codes = _distinct(array)
    return codes.astype(np.int64).ravel(), [_text(entry) for entry in names]


def check_offsets(value: ArrayLike, classes: int) -> FloatArray:
    """The bias of a classifier: a finite number for every class."""
    try:
        offsets = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{classes} finite biases", "other values") from None
    if offsets.shape != (classes,) or not np.isfinite(offsets).all():
        raise InputError(f"{classes} finite biases", f"shape {offsets.shape}")
    return offsets


def check_weights(value: ArrayLike, rows: int) -> FloatArray:
    """A finite weight of at least 0 for every row, some of them above."""
    try:
        weights = np.asarray(value, dtype=np.float64)
    except (ValueError, TypeError):
        raise InputError("numbers in sample_weight", _kind(value), "give a weight for each row") from None
    if weights.shape != (rows,):
        raise InputError(f"one entry of sample_weight for each of {rows:,} rows", f"shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        got = f"{weights[~(weights >= 0) | np.isinf(weights)][0]:g}" if weights.any() else "zero in every row"
        raise InputError("finite weights of at least 0, some above, in sample_weight", got)
    return weights


FEW_CLASSES = 50  # up to here nobody is asked
ROWS_PER_VALUE = 5  # on average; a column of numbers with fewer is a measurement more often than a class


def check_classes(value: ArrayLike, classes: int, *, rows: int | None = None) -> None:
    """Raise an error if labels look like a measurement: many different numbers that hardly repeat.

    rows: how many examples the values stand for, where equal ones were counted.

    Names are classes however many there are, and so are numbers that count them off (most of smallest to largest
    occur), unless every row has its own.
    """
    array = np.asarray(value)
    array = np.array(array.tolist()) if array.dtype.kind == "O" else array
    rows = array.size if rows is None else rows
    if array.dtype.kind not in "iuf" or classes <= FEW_CLASSES or rows >= ROWS_PER_VALUE * classes:
        return
    if float(array.max()) - float(array.min()) < 2 * classes < 2 * rows:
        return
    raise InputError(
        "a column of classes as labels",
        f"{classes:,} different numbers in {rows:,} rows, which look like a measurement or an identifier",
        "bin them or name another column; if each is a class, say so (--many-classes, many_classes=True)",
    )


def codes_among(
    value: ArrayLike,
    known: Sequence[str],
    expected: str,
    remedy: str,
    *,
    name: str = "labels",
    length: int | None = None,
) -> IntArray:
    """The position of each label in a list of known names; the error for others says what was `expected`."""
    codes, names = check_labels(value, name, length=length)
    position = {name: number for number, name in enumerate(known)}
    strange = [name for name in names if name not in position]
    if strange:
        raise InputError(f"{expected} ({', '.join(known[:8])})", ", ".join(strange[:8]), remedy)
    return np.array([position[name] for name in names], dtype=np.int64)[codes]


def _distinct(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sorted distinct entries and where each entry stands among them; small whole numbers are counted, not sorted."""
    if array.dtype.kind in "iu" and array.min() >= 0 and array.max() < max(array.size, 65_536):
        present = np.bincount(array.astype(np.int64)) > 0  # unsigned 64-bit numbers cannot be counted as they are
        return np.flatnonzero(present), (np.cumsum(present) - 1)[array]
    names, codes = np.unique(array, return_inverse=True)
    return names, codes


def is_missing(entry: Any) -> bool:
    """None, NaN, NaT, or pandas' NA, which does not compare with itself."""
    if entry is None:
        return True
    try:
        return bool(entry != entry)
    except (TypeError, ValueError):
        return True


def _text(entry: Any) -> str:
    if isinstance(entry, bytes):
        return entry.decode(errors="replace")
    # a lone surrogate is no text, and no file or page could hold it
    return str(entry).encode(errors="backslashreplace").decode()


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"


def name_one_of(known: Iterable[str], asked: object) -> str:
    """The advice for an unknown name: the most similar known one; empty if none is similar."""
    import difflib

    near = difflib.get_close_matches(str(asked).lower(), names := {name.lower(): name for name in known}, n=1)
    return f"did you mean {names[near[0]]!r}?" if near else ""
