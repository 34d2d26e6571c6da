"""Features, labels and groups from npz, parquet or csv, for `lopsided mixture fit`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_labels, check_matrix
from lopsided.data.csv_file import read_csv_table
from lopsided.data.frames import arrow_of_frame, is_frame
from lopsided.data.npz_tables import npz_shapes, read_npz_array

_FEATURES, _LABELS, _GROUPS = ("features", "x", "data"), ("labels", "label", "y", "target"), ("groups", "group", "g")


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
    if is_frame(data):
        frame = arrow_of_frame(data)
        columns = {name: frame.column(name).to_numpy(zero_copy_only=False) for name in frame.column_names}
        return _from_columns(columns, label, group)
    if not isinstance(data, (str, os.PathLike)):
        got = f"a {type(data).__name__}"
        raise InputError("a path, a frame or a LabelledTable", got, "put arrays into a frame, or save them as npz")
    source = Path(data)
    if not source.is_file():
        got = f"{source}, which is no file" if source.exists() else f"no such file: {source}"
        raise InputError("a data file (npz, parquet or csv)", got, "check the path")
    ending = source.suffix.lower()
    if ending == ".npz":
        return _from_npz(source, label, group)
    if ending not in (".csv", ".tsv", ".parquet"):
        raise InputError("a data file that ends in .npz, .parquet or .csv", repr(source.name), "convert it first")
    return _from_columns(_columns(source, ending), label, group)


def _from_npz(source: Path, label: str | None, group: str | None) -> LabelledTable:
    arrays = {name.lower(): read_npz_array(source, name) for name in npz_shapes(source)}
    features = _pick(arrays, None, _FEATURES, "features")
    labels = _pick(arrays, label, _LABELS, "labels")
    wanted = None if group is None and not set(_GROUPS) & set(arrays) else _pick(arrays, group, _GROUPS, "groups")
    matrix = check_matrix(features, "features")
    return _assembled(matrix, tuple(f"x{index}" for index in range(matrix.shape[1])), labels, wanted)


def _pick(arrays: dict[str, Any], asked: str | None, known: tuple[str, ...], what: str) -> Any:
    names = (asked.lower(),) if asked is not None else known
    for name in names:
        if name in arrays:
            return arrays[name]
    raise InputError(f"{what} named {' or '.join(names)}", f"only {', '.join(arrays) or 'nothing'}", "name them")


def _columns(source: Path, ending: str) -> dict[str, Any]:
    import pyarrow

    try:
        if ending == ".parquet":
            from pyarrow import parquet

            table = parquet.read_table(source)
        else:
            table = read_csv_table(source)
    except InputError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise InputError(f"a readable {ending[1:]} file", f"{source.name}: {error}", "mend the file") from None
    return {name: table.column(name).to_numpy(zero_copy_only=False) for name in table.column_names}


def _from_columns(columns: dict[str, Any], label: str | None, group: str | None) -> LabelledTable:
    if not any(len(values) for values in columns.values()):
        raise InputError("at least one row below the header", "none", "give some data")
    lower = {name.lower(): name for name in columns}

    def find(asked: str | None, known: tuple[str, ...], what: str, needed: bool) -> str | None:
        if asked is not None:
            if asked not in columns:
                raise InputError(
                    f"a column {asked!r} of {what}", f"the columns {_listed(columns)}", "name one of those"
                )
            return asked
        found = next((lower[name] for name in known if name in lower), None)
        if found is None and needed:
            raise InputError(
                f"a column of {what} named {known[0]}", f"the columns {_listed(columns)}", f"give --{known[1]}"
            )
        return found

    label_name = find(label, _LABELS, "labels", True)
    group_name = find(group, _GROUPS, "groups", False)
    assert label_name is not None
    numeric = [
        name for name, values in columns.items() if name not in (label_name, group_name) and values.dtype.kind in "fiub"
    ]
    if not numeric:
        raise InputError("columns of numbers as features", f"the columns {_listed(columns)}", "encode text as numbers")
    matrix = check_matrix(
        np.column_stack([np.asarray(columns[name], dtype=np.float64) for name in numeric]), "features"
    )
    return _assembled(matrix, tuple(numeric), columns[label_name], None if group_name is None else columns[group_name])


def _listed(columns: dict[str, Any], most: int = 8) -> str:
    names = list(columns)
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _assembled(features: FloatArray, names: tuple[str, ...], labels: Any, groups: Any) -> LabelledTable:
    codes, label_names = check_labels(labels, "labels", length=len(features))
    group_codes, group_names = (None, []) if groups is None else check_labels(groups, "groups", length=len(features))
    return LabelledTable(features, names, codes, tuple(label_names), group_codes, tuple(group_names))
