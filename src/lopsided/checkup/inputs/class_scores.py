"""Probabilities or logits, in whatever form, as one row of probabilities per example in the order of the classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.inputs.parts import find_part, is_name, usual_names
from lopsided.checkup.inputs.score_columns import class_of_column, order_of_columns, some_of
from lopsided.checkup.inputs.sources import Source
from lopsided.core.errors import InputError
from lopsided.core.partition import Partition
from lopsided.core.validation import FloatArray, check_matrix
from lopsided.data.frames import arrow_of_frame, is_frame

PROBABILITY_NAMES = ("probabilities", "probability", "probs", "proba", "y_prob", "y_proba")
LOGIT_NAMES = ("logits",)
# Probabilities written with four digits sum to one to about K times half a unit in the last place.
_SUM_SLACK = 1e-2


def class_scores(
    source: Source, probabilities: Any, logits: Any, classes: Partition | None, rows: int, *, stated: bool
) -> tuple[FloatArray | None, list[str]]:
    """n x K probabilities, and notes on which column was taken for which class; None where neither was given.

    stated: the order of the classes was given by the user.
    """
    what = "probabilities"
    usual = PROBABILITY_NAMES if logits is None else ()  # logits that were asked for come before what was not
    values, names = _columns(source, probabilities, usual, what, rows, classes)
    if values is None:
        what = "logits"
        values, names = _columns(source, logits, LOGIT_NAMES, what, rows, classes)
    if values is None:
        return None, []
    if classes is None:
        raise InputError(f"labels beside {what}", "none", "give labels=")
    single = values.ndim == 1 or values.shape[1:] == (1,)
    notes: list[str] = []
    if single and len(classes.names) == 2 and values.dtype.kind in "fiu":
        values, notes = _both(values.ravel().astype(np.float64), names, classes.names, what)
        names = None
    matrix = check_matrix(values, what, rows=rows)
    if matrix.shape[1] != len(classes.names):
        raise InputError(
            f"{len(classes.names)} columns of {what}, one per class of the labels", matrix.shape[1],
            "leave out classes without examples",
        )  # fmt: skip
    if names is not None:
        order = order_of_columns(names, classes.names, what, stated=stated)
        if order is None:
            assumed = some_of(classes.names)
            notes.append(f"The columns of {what} ({some_of(names)}) are taken in the order of the classes: {assumed}.")
        else:
            matrix = matrix[:, order]
    return (_softmax(matrix) if what == "logits" else _normalised(matrix)), notes


def _columns(
    source: Source, given: Any, usual: Sequence[str], what: str, rows: int, classes: Partition | None
) -> tuple[NDArray[Any] | None, list[str] | None]:
    """The values, and the names of their columns where they have any."""
    if isinstance(given, (list, tuple)) and is_name(given):
        columns = [np.asarray(find_part(source, name, (), what)) for name in given]
        if {column.shape for column in columns} != {(rows,)}:
            got = ", ".join(f"{name} {column.shape}" for name, column in zip(given, columns, strict=True))
            raise InputError(f"columns of {rows} {what}", got, "name one array, or one column per class")
        return np.stack(columns, axis=1), list(given)
    if is_frame(given):
        arrow = arrow_of_frame(given)
        empty = np.empty((arrow.num_rows, 0))  # NumPy stacks no columns to nothing
        return np.column_stack([empty, *(column.to_numpy() for column in arrow.columns)]), list(arrow.column_names)
    values = find_part(source, given, usual, what)
    if values is None:
        return None, None
    name = usual_names(source, usual)[0] if given is None else given if isinstance(given, str) else None
    name = getattr(given, "name", None) if name is None else name  # of a series
    if isinstance(name, int) and not (classes is not None and classes.names == ("0", "1")):
        name = None  # a place among columns without names, which is a class only where the classes are places too
    array = np.asarray(values)
    return array, [str(name)] if name is not None and array.ndim == 1 else None


def _both(
    one: FloatArray, names: Sequence[str] | None, classes: Sequence[str], what: str
) -> tuple[FloatArray, list[str]]:
    """Two columns from the one of a single class: the class that its name says, else the second."""
    named = class_of_column(names[0] if names else None, classes)
    place = 1 if named is None else named
    why = f"by its name, {names[0]}" if names and named is not None else "the second in order"
    note = f"The one column of {what} is read as that of class {classes[place]}, {why}"
    if named is None:
        note += f"; if it is that of class {classes[0]}, name it p_{classes[0]}"
    columns = [np.zeros(len(one)) if what == "logits" else 1 - one, one]
    return np.stack(columns if place == 1 else columns[::-1], axis=1), [note + "."]


def _softmax(matrix: FloatArray) -> FloatArray:
    if matrix.min() >= 0 and matrix.shape[1] > 1 and np.abs(matrix.sum(axis=1) - 1).max() < _SUM_SLACK:
        raise InputError("logits", "rows from 0 to 1 that sum to 1", "give them as probabilities=")
    with np.errstate(over="ignore"):  # a difference beyond the doubles is a probability of 0 all the same
        shifted = np.exp(matrix - matrix.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def _normalised(matrix: FloatArray) -> FloatArray:
    totals = matrix.sum(axis=1)
    if matrix.min() < 0 or np.abs(totals - 1).max() > _SUM_SLACK:
        worst = int(np.abs(totals - 1).argmax()) if matrix.min() >= 0 else int(matrix.min(axis=1).argmin())
        raise InputError(
            "probabilities from 0 to 1 that sum to 1 in every row",
            f"row {worst} with the sum {totals[worst]:.4g} and the least entry {matrix[worst].min():.4g}",
            "give logits as logits=",
        )
    return np.asarray(matrix / totals[:, None])
