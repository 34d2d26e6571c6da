"""Features, labels and groups from npz, parquet, csv or a frame, for `lopsided mixture fit`."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_labels, check_matrix, check_text
from lopsided.data.frames import frame_table, is_frame
from lopsided.data.tables import WHOLE_FILES, ColumnChoice, Table, open_table

_LABELS, _GROUPS = ("labels", "label", "y", "target"), ("groups", "group", "g")


@dataclass(frozen=True)
class LabelledTable:
    """Features (n, d), label codes with their names, and group codes with theirs where the data have them."""

    features: FloatArray
    feature_names: tuple[str, ...]
    labels: IntArray
    label_names: tuple[str, ...]
    groups: IntArray | None
    group_names: tuple[str, ...]


def labelled_table(data: Any, *, label: str | None = None, group: str | None = None) -> LabelledTable:
    """Read a file or a frame; `label` and `group` name columns (or arrays of an npz), guessed where not given."""
    asked = [check_text(name, "the name of a column") for name in (label, group) if name is not None]
    table = _opened(data, ColumnChoice(beside=asked, reserved=(*_LABELS, *_GROUPS)))
    lower = {name.lower(): name for name in table.columns}
    label_name = label if label is not None else _first(lower, _LABELS)
    group_name = group if group is not None else _first(lower, _GROUPS)
    chosen = [name for name in (label_name, group_name) if name is not None]
    if set(lower) & {*_LABELS, *_GROUPS} - {name.lower() for name in chosen}:  # a coordinate may be called y
        table = _opened(data, ColumnChoice(beside=chosen, reserved=()))
    features = check_matrix(table.features(), "features")
    codes, label_names = check_labels(table.labels(label_name), "labels", length=len(features))
    names = table.feature_names or tuple(f"x{index}" for index in range(table.width))
    if group_name is None:
        return LabelledTable(features, names, codes, tuple(label_names), None, ())
    group_codes, group_names = check_labels(table.column(group_name), "groups", length=len(features))
    return LabelledTable(features, names, codes, tuple(label_names), group_codes, tuple(group_names))


def _opened(data: Any, choice: ColumnChoice) -> Table:
    if is_frame(data):
        return frame_table(data, choice)
    if not isinstance(data, (str, os.PathLike)):
        got = f"a {type(data).__name__}"
        raise InputError("a path, a frame or a LabelledTable", got, "put arrays into a frame, or save them as npz")
    source = Path(data)
    if not source.is_file():
        got = f"{source}, which {'is not a file' if os.path.exists(source) else 'does not exist'}"
        raise InputError("a data file (npz, parquet or csv)", got)
    if not source.name.lower().endswith((".npz", ".parquet", *WHOLE_FILES)):
        raise InputError("a data file that ends in .npz, .parquet or .csv", repr(source.name), "convert it first")
    return open_table(source, choice)


def _first(known: dict[str, str], usual: Sequence[str]) -> str | None:
    return next((known[name] for name in usual if name in known), None)
