"""Columns of probabilities or logits to classes: by the names of the columns where they are those of the classes.

A name is that of a class bare (`bad`), after a usual opening or before a usual ending (`p_bad`, `bad_prob`), or after
an opening that all columns share (`net_good`, `net_bad`). Names that fit some classes but not all are refused, because
either reading may be the wrong one; names that fit none say nothing, and the columns follow the order of the classes.
"""

import re
from collections.abc import Sequence

from lopsided.core.errors import InputError

_SHOWN = 12  # names in a sentence
_WORDS = ("p", "pr", "prob", "probs", "proba", "probability", "logit", "logits", "score", "pred")
_OPENINGS = ("", *(word + mark for word in _WORDS for mark in ("_", "-", ".", " ")))
_ENDINGS = tuple(mark + word for word in _WORDS for mark in ("_", "-", ".", " "))


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
        f"columns of {what} named for all classes or for none, which would mean the order {some_of(classes)}",
        some_of(names),
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


def some_of(names: Sequence[str]) -> str:
    """The names, or the first of many."""
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


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
