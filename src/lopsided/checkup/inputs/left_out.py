"""Which columns are not features, and why. Every column that could be a feature and is left out is listed.

A usual name keeps a column out of the features only as long as it may be what the name says. A user who names the
column of labels (or of groups) has settled which one it is, so another column `y` is a feature. Predictions, splits and
names of rows stay out all the same: they are not measurements, and a model that used them would cheat.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from lopsided.checkup.inputs.class_scores import LOGIT_NAMES, PROBABILITY_NAMES
from lopsided.checkup.inputs.parts import column_names, is_name
from lopsided.checkup.inputs.sources import DataSource
from lopsided.data.columns import Columns
from lopsided.data.tables import (
    GROUP_NAMES,
    LABEL_NAMES,
    PREDICTION_NAMES,
    ROW_NAMES,
    SPLIT_NAMES,
    Table,
    looks_like_a_file,
)

_OUTCOMES = {*LABEL_NAMES, *PREDICTION_NAMES, *SPLIT_NAMES, *PROBABILITY_NAMES, *LOGIT_NAMES, *ROW_NAMES, "file"}
_MEANINGS = {
    "labels": LABEL_NAMES,
    "groups": GROUP_NAMES,
    "predictions": PREDICTION_NAMES,
    "a split": SPLIT_NAMES,
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


def columns_of(source: DataSource, roles: Mapping[str, Sequence[str]]) -> Columns:
    """What is used as features and for other roles, and why each of the other columns is not used."""
    table = source.table
    roles = {role: [name for name in names if source.has(name)] for role, names in roles.items()}
    if table is None:
        return Columns(roles=roles)
    named = table.used if table.used is not None else table.feature_names if table.origins is None else None
    told = {*(named or ()), *(name for names in roles.values() for name in names)}
    ignored = [(name, why) for name, why in table.ignored if name not in told]
    told |= {name for name, _ in ignored}
    ignored += [(name or "''", _why(name, table)) for name in table.columns if name not in told]
    if named is None and table.width:
        return Columns((table.array,), tuple(ignored), roles, table.width)
    return Columns(tuple(named or ()), tuple(ignored), roles)


def _why(name: str, table: Table) -> str:
    for meaning, usual in _MEANINGS.items():
        if name.lower() in usual:
            return f"its name suggests {meaning}; to use it as a feature, name the features"
    return "it contains no numbers" if table.columns[name].dtype.kind not in "biuf" else "it is not among the features"
