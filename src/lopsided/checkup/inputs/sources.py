"""Opens whatever a user gives as data: a table of features and columns, and other arrays by name.

A path (npz, npy, parquet, csv, tsv, folder of pictures), a pandas or Polars frame, a mapping of arrays, an array, a
tensor, or a `Table`. Arrays of an npz file or a mapping that are stored as training and test halves (`x_train`,
`y_train`, `x_test`, `y_test`) are put together, with a column `split`.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.arrays import plain_array
from lopsided.core.errors import InputError
from lopsided.data.encoded_tables import sparse_table
from lopsided.data.frames import frame_table, is_frame
from lopsided.data.npz_tables import (
    choose_features,
    is_saved_sparse,
    npz_shapes,
    read_npz_array,
    table_without_features,
)
from lopsided.data.rows import is_sparse
from lopsided.data.tables import ColumnChoice, Table, array_table, open_table

_HALVES = re.compile(r"^(?P<stem>.+)[_-](?P<half>train|test)$|^(?P<first>train|test)[_-](?P<rest>.+)$", re.IGNORECASE)


@dataclass(frozen=True)
class DataSource:
    """A table (None for labels alone), and the arrays that are neither features nor columns, by name."""

    table: Table | None
    others: Mapping[str, Callable[[], NDArray[Any]]]
    name: str

    def find(self, name: str) -> NDArray[Any] | None:
        """A column or another array with exactly that name."""
        if self.table is not None and name in self.table.columns:
            return self.table.columns[name]
        return self.others[name]() if name in self.others else None

    def has(self, name: str) -> bool:
        """Is there a column or another array with exactly that name?"""
        return (self.table is not None and name in self.table.columns) or name in self.others

    def names(self) -> list[str]:
        """The names that can be given."""
        if self.table is None:
            return [*self.others]
        features = self.table.feature_names or () if self.table.origins is None else self.table.used or ()
        return list(dict.fromkeys([*self.table.columns, *self.others, *features]))

    def listed(self, most: int = 10) -> str:
        """The names, for an error."""
        names = self.names()
        return (", ".join(names[:most]) + (", ..." if len(names) > most else "")) or "nothing by name"


def open_source(data: Any, choice: ColumnChoice) -> DataSource:
    """Open whatever was given."""
    if data is None:
        return DataSource(None, {}, "the arrays")
    if isinstance(data, Table):
        return DataSource(data, {}, data.source)
    if isinstance(data, (str, os.PathLike)):
        return _path(Path(data), choice)
    if is_frame(data):
        table = frame_table(data, choice)
        return DataSource(table, {}, table.source)
    if is_sparse(data):
        return DataSource(sparse_table(data, {}, "the matrix"), {}, "the matrix")
    if isinstance(data, Mapping):
        sparse = [name for name, value in data.items() if is_sparse(value)]
        if sparse and choice.wanted in (None, [sparse[0]]):
            rest = {str(name): plain_array(data[name], str(name)) for name in data if name != sparse[0]}
            table = sparse_table(data[sparse[0]], rest, "the mapping")
            return DataSource(replace(table, array=str(sparse[0])), {}, table.source)
        arrays = {str(name): plain_array(value, str(name)) for name, value in data.items() if np.ndim(value) > 0}
        scalars = {str(name): np.asarray(value) for name, value in data.items() if np.ndim(value) == 0}
        found = _arrays(_halves(arrays), choice, "the mapping")
        return DataSource(found.table, {**found.others, **_held(scalars)}, found.name)
    return DataSource(array_table(plain_array(data, "the features"), {}, "the array"), {}, "the array")


def _path(path: Path, choice: ColumnChoice) -> DataSource:
    if path.suffix.lower() == ".npz" and path.is_file():
        shapes = npz_shapes(path)
        if is_saved_sparse(shapes):
            return DataSource(open_table(path), {}, str(path))
        if _has_halves(shapes):
            return _arrays(_halves({name: read_npz_array(path, name) for name in shapes}), choice, str(path))
        table = open_table(path, choice)
        rest = [name for name in shapes if name not in table.columns]
        return DataSource(table, {name: partial(read_npz_array, path, name) for name in rest}, str(path))
    return DataSource(open_table(path, choice, with_test=True), {}, str(path))


def _arrays(arrays: Mapping[str, NDArray[Any]], choice: ColumnChoice, source: str) -> DataSource:
    shapes = {name: array.shape for name, array in arrays.items()}
    chosen = choose_features(source, shapes, choice)
    if chosen is None:
        table = table_without_features(source, shapes, lambda name: arrays[name])
    else:
        rows = shapes[chosen][0]
        columns = {name: array for name, array in arrays.items() if name != chosen and array.shape == (rows,)}
        table = replace(array_table(arrays[chosen], columns, source), array=chosen)
    rest = {name: array for name, array in arrays.items() if name not in table.columns and name != chosen}
    return DataSource(table, _held(rest), source)


def _held(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Callable[[], NDArray[Any]]]:
    return {name: partial(np.asarray, array) for name, array in arrays.items()}


def _split_name(name: str) -> tuple[str, str] | None:
    """(stem, half) of a name such as x_train or train_x."""
    match = _HALVES.match(name)
    if match is None:
        return None
    if match["stem"] is not None:
        return match["stem"], match["half"].lower()
    return match["rest"], match["first"].lower()


def _has_halves(names: Mapping[str, Any]) -> bool:
    parts = [part for part in map(_split_name, names) if part is not None]
    stems = {stem for stem, half in parts if half == "train"} & {stem for stem, half in parts if half == "test"}
    return bool(stems)


def _halves(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Arrays stored by halves, put together; the others as they are."""
    if not _has_halves(arrays):
        return dict(arrays)
    halves: dict[str, dict[str, NDArray[Any]]] = {}
    whole: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        part = _split_name(name)
        if part is None:
            whole[name] = array
        else:
            halves.setdefault(part[0], {})[part[1]] = array
    lengths: dict[str, tuple[int, int]] = {}
    for stem, both in halves.items():
        if len(both) == 2:
            train, test = both["train"], both["test"]
            if train.shape[1:] != test.shape[1:]:
                got = f"{train.shape[1:]} and {test.shape[1:]}"
                raise InputError(f"rows of one shape in {stem}_train and {stem}_test", got)
            whole[stem] = np.concatenate([train, test])
            lengths[stem] = (len(train), len(test))
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{stem} {train} + {test}" for stem, (train, test) in lengths.items())
        raise InputError("training and test halves of one length in every array", got)
    whole["split"] = np.repeat(np.array(["train", "test"]), next(iter(lengths.values())))
    return whole
