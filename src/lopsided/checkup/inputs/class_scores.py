"""Probabilities or logits, in whatever form, as one row of probabilities per example in the order of the classes.

Columns are matched to classes by name. A name is that of a class bare (`bad`), after a usual opening or before a usual
ending (`p_bad`, `bad_prob`), or after an opening that all columns share (`net_good`, `net_bad`). Names that fit some
classes but not all are refused, because either reading may be the wrong one; names that fit none say nothing, and the
columns follow the order of the classes.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.inputs.parts import find_part, is_name, usual_names
from lopsided.checkup.inputs.sources import DataSource
from lopsided.core.errors import InputError
from lopsided.core.partition import Partition
from lopsided.core.validation import FloatArray, check_matrix
from lopsided.data.columns import some_of
from lopsided.data.frames import arrow_of_frame, is_frame

PROBABILITY_NAMES = ("probabilities", "probability", "probs", "proba", "y_prob", "y_proba")
LOGIT_NAMES = ("logits",)
# Probabilities written with four digits sum to one to about K times half a unit in the last place.
_SUM_SLACK = 1e-2
_SHOWN = 12  # names in a sentence
_WORDS = ("p", "pr", "prob", "probs", "proba", "probability", "logit", "logits", "score", "pred")
_OPENINGS = ("", *(word + mark for word in _WORDS for mark in ("_", "-", ".", " ")))
_ENDINGS = tuple(mark + word for word in _WORDS for mark in ("_", "-", ".", " "))


def class_probabilities(
    source: DataSource, probabilities: Any, logits: Any, classes: Partition | None, rows: int, *, stated: bool
) -> tuple[FloatArray | None, list[str]]:
    """n x K probabilities, and notes on which column was used for which class; None where neither was given.

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
            shown, assumed = some_of(names, _SHOWN), some_of(classes.names, _SHOWN)
            notes.append(f"The columns of {what} ({shown}) are assumed to be in the order of the classes: {assumed}.")
        else:
            matrix = matrix[:, order]
    return (_softmax(matrix) if what == "logits" else _normalised(matrix)), notes


def _columns(
    source: DataSource, given: Any, usual: Sequence[str], what: str, rows: int, classes: Partition | None
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
    note = f"The one column of {what} is taken as that of class {classes[place]}, {why}"
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
        got = f"row {worst} with the sum {totals[worst]:.4g} and the least entry {matrix[worst].min():.4g}"
        raise InputError("probabilities from 0 to 1 that sum to 1 in every row", got, "give logits as logits=")
    return np.asarray(matrix / totals[:, None])


def order_of_columns(names: Sequence[str], classes: Sequence[str], what: str, *, stated: bool) -> list[int] | None:
    """For every class the place of its column; None where the names say nothing and the order of classes holds.

    stated: the user gave the order of the classes, so that names which fit in part are no reason to refuse.
    """
    plain = [_plain(name) for name in names]
    wanted = [_plain(name) for name in classes]
    if len(set(plain)) < len(plain) or len(set(wanted)) < len(wanted):  # alike but for their spelling
        plain, wanted = list(names), list(classes)
    fits = [_places(plain, [before + name + after for name in wanted]) for before, after in _affixes(plain, wanted)]
    for places in fits:
        found = [place for place in places if place is not None]
        if len(found) == len(wanted):
            return found
    numbered = list(names) == [str(place) for place in range(len(names))]  # as pandas numbers columns without a name
    if stated or numbered or not any(place is not None for places in fits for place in places):
        return None
    raise InputError(
        f"columns of {what} named for all classes or for none, which would mean the order {some_of(classes, _SHOWN)}",
        some_of(names, _SHOWN),
        "name each column for its class, such as p_" + classes[0] + ", or give their order as classes=",
    )


def class_of_column(name: str | None, classes: Sequence[str]) -> int | None:
    """Which class a single column is of by its name; None where the name says nothing."""
    if name is None:
        return None
    for spelled in (str, _plain):
        wanted = [spelled(entry) for entry in classes]
        for before, after in _usual(wanted):
            fits = [place for place, entry in enumerate(wanted) if before + entry + after == spelled(name)]
            if len(fits) == 1:
                return fits[0]
    return None


def _affixes(names: Sequence[str], classes: Sequence[str]) -> list[tuple[str, str]]:
    """What may stand before and after a class: the usual words, and what all names begin with."""
    first, last = min(names), max(names)  # what these two begin with, all between them do
    most = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    shared = {
        name[: len(name) - len(entry)]
        for name in names
        for entry in classes
        if entry and name.endswith(entry) and len(name) - len(entry) <= most
    }
    return [*_usual(classes), *((before, "") for before in sorted(shared))]


def _usual(classes: Sequence[str]) -> list[tuple[str, str]]:
    tight = _WORDS if all(entry.isdigit() for entry in classes) else ()  # p1, but not p + ad
    return [*((before, "") for before in (*_OPENINGS, *tight)), *(("", after) for after in _ENDINGS)]


def _places(names: Sequence[str], wanted: Sequence[str]) -> list[int | None]:
    known = {name: place for place, name in enumerate(names)}
    return [known.get(name) for name in wanted]


def _plain(name: str) -> str:
    """Without regard to case and to how a whole number is written: 1.0 is 1."""
    return re.sub(r"(\d)\.0$", r"\1", name.strip().casefold())
