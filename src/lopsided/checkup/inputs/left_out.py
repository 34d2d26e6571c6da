"""Which columns are no features, and the notes that say so: nothing that could be a feature is left out without a word.

A usual name keeps a column out of the features only as long as it may be what the name says. Who names the column of
labels (or of groups) has settled which one it is, so that another `y` is a feature. Predictions, splits and names of
rows stay out all the same: they are no measurements, and a model that reads them would cheat.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from lopsided.checkup.inputs.class_scores import LOGIT_NAMES, PROBABILITY_NAMES, some_of
from lopsided.checkup.inputs.parts import column_names, is_name
from lopsided.checkup.inputs.sources import DataSource
from lopsided.data.tables import GROUP_NAMES, LABEL_NAMES, PREDICTION_NAMES, ROW_NAMES, SPLIT_NAMES, looks_like_a_file

_OUTCOMES = {*LABEL_NAMES, *PREDICTION_NAMES, *SPLIT_NAMES, *PROBABILITY_NAMES, *LOGIT_NAMES, *ROW_NAMES, "file"}
_MEANINGS = {
    "could be the labels": LABEL_NAMES,
    "could be groups": GROUP_NAMES,
    "could be predictions": PREDICTION_NAMES,
    "could be the split": SPLIT_NAMES,
    "names of rows": ROW_NAMES,
}


def reserved_names(labels: Any, groups: Any) -> tuple[str, ...]:
    """The usual names that keep a column out of the features, for these arguments."""
    named = any(not looks_like_a_file(name) for name in column_names(labels))
    away = (*PREDICTION_NAMES, *SPLIT_NAMES, *ROW_NAMES)
    return (*away, *(() if named else LABEL_NAMES), *(() if is_name(groups) else GROUP_NAMES))


def describing(source: DataSource, named: Collection[str]) -> tuple[str, ...]:
    """Columns that are neither labels, predictions, split nor names of rows: groups, and words left out of features."""
    if source.table is None:
        return ()
    return tuple(name for name in source.table.columns if name not in named and name.lower() not in _OUTCOMES)


def notes_on_columns(source: DataSource, beside: Sequence[str], read: Mapping[str, str]) -> list[str]:
    """Columns that are not features: of words, and of numbers under a usual name.

    read: the columns used under such a name, and as what.
    """
    if source.table is None or (source.table.width and not source.table.feature_names):
        return []
    left = {name: column for name, column in source.table.columns.items() if name not in beside}
    numbers = [name for name, column in left.items() if column.dtype.kind in "biuf"]
    words = [name for name in left if name not in numbers and name.lower() not in {*_OUTCOMES, *GROUP_NAMES}]
    notes = []
    if words and not source.table.width:
        notes.append(
            f"No column holds numbers, so there are no features; if these should, convert them: {some_of(words)}."
        )
    elif words:
        notes.append(f"Columns that hold no numbers are not features: {some_of(words)}.")
    return notes + _reserved(numbers, read)


def _reserved(numbers: Sequence[str], read: Mapping[str, str]) -> list[str]:
    """One line on columns of numbers whose names keep them out of the features."""
    parts = []
    for meaning, usual in _MEANINGS.items():
        own = [name or "''" for name in numbers if name.lower() in usual and name not in read]
        if own:
            parts.append(f"{some_of(own)} ({meaning})")
    notes = []
    used = [f"{name} ({what})" for name, what in read.items() if name in numbers]
    if used:
        notes.append(f"Columns of numbers read for their names, and thus no features: {', '.join(used)}.")
    if not parts:
        return notes
    way = "to use one, name all features (features=)"
    if any("labels" in part for part in parts):
        way += " or the labels (labels=)"
    return [*notes, f"Columns of numbers left out of the features for their names: {'; '.join(parts)}; {way}."]
