"""Tables in parquet and csv files, read through Apache Arrow."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.data.arrow_columns import column_values
from lopsided.data.column_names import check_distinct
from lopsided.data.csv_file import read_csv_table
from lopsided.data.tables import BESIDE_NAMES, FEATURE_NAMES, Table, beside_features


def open_parquet(
    path: Path,
    *,
    features: str | Sequence[str] | None,
    beside: Sequence[str],
    reserved: Sequence[str] = BESIDE_NAMES,
    need_features: bool = True,
) -> Table:
    """A table over a parquet file: one list column of features or many numeric ones, streamed."""
    import pyarrow.parquet as pq

    with _reading("parquet", path):
        handle = pq.ParquetFile(path)
    check_distinct(handle.schema_arrow.names, str(path))
    with _reading("parquet", path):
        _check_sizes(handle.metadata, path)
    away = beside_features(handle.schema_arrow.names, beside, reserved)
    names, listed = _feature_columns(handle.schema_arrow, path, features, away, need_features)
    rows = int(handle.metadata.num_rows)
    if rows == 0:
        raise InputError(f"at least one example in {path}", "none", "write the file again")
    others = [field.name for field in handle.schema_arrow if field.name not in names]
    with _reading("parquet", path):
        columns = {
            name: column_values(handle.read([name])[name])
            for name in others
            if _plain(handle.schema_arrow.field(name).type)
        }
        width = len(names) if not listed else _block(next(handle.iter_batches(1, columns=names)), True, path).shape[1]

    def batches(size: int) -> Iterator[Any]:
        found: Iterator[Any] = iter(())
        if names:
            with _reading("parquet", path):
                found = pq.ParquetFile(path).iter_batches(size, columns=names)
        while True:
            with _reading("parquet", path):
                batch = next(found, None)
            if batch is None:
                return
            yield batch

    def read(size: int) -> Iterator[NDArray[Any]]:
        for batch in batches(size):
            with _reading("parquet", path):
                block = _block(batch, listed, path)
            if block.shape[1] != width:
                raise InputError(f"{width} features in every row of {path}", block.shape[1], "make them equal")
            yield block

    def gaps(size: int) -> Iterator[NDArray[np.bool_]]:
        for batch in batches(size):
            with _reading("parquet", path):
                yield _gaps(batch)

    told = _notes(handle.schema_arrow, names, listed, away) if features is None else ()
    shown = None if listed else tuple(names)
    missing = None if listed else gaps
    return Table(str(path), rows, width, columns, read, feature_names=shown, notes=told, read_gaps=missing)


def open_csv(
    path: Path,
    *,
    features: str | Sequence[str] | None,
    beside: Sequence[str],
    reserved: Sequence[str] = BESIDE_NAMES,
    need_features: bool = True,
) -> Table:
    """A table over a csv or tsv file with a header line, read whole."""
    wanted = [features] if isinstance(features, str) else features

    def is_no_feature(name: str) -> bool:
        return bool(beside_features([name], beside, reserved)) if wanted is None else name not in wanted

    with _reading("csv", path):
        table = read_csv_table(path, is_no_feature)
    return table_over_arrow(
        table, path, features=features, beside=beside, reserved=reserved, need_features=need_features
    )


def table_over_arrow(
    table: Any,
    source: str | Path,
    *,
    features: str | Sequence[str] | None,
    beside: Sequence[str],
    reserved: Sequence[str] = BESIDE_NAMES,
    need_features: bool = True,
) -> Table:
    """A table over an Arrow table in memory."""
    if table.num_rows == 0:
        raise InputError(f"at least one example in {source}", "none", "write one row per example below the header")
    away = beside_features(table.column_names, beside, reserved)
    names, listed = _feature_columns(table.schema, source, features, away, need_features)
    taken = set(names)
    columns = {
        name: column_values(column)
        for name, column in zip(table.column_names, table.columns, strict=True)
        if name not in taken and _plain(column.type)
    }
    chosen = table.select(names)
    width = _block(chosen.slice(0, 1).to_batches()[0], True, source).shape[1] if listed else len(names)

    def read(size: int) -> Iterator[NDArray[Any]]:
        for batch in chosen.to_batches(max_chunksize=size) if names else ():
            block = _block(batch, listed, source)
            if block.shape[1] != width:
                raise InputError(f"{width} features in every row of {source}", block.shape[1], "make them equal")
            yield block

    def gaps(size: int) -> Iterator[NDArray[np.bool_]]:
        return (_gaps(batch) for batch in (chosen.to_batches(max_chunksize=size) if names else ()))

    told = _notes(table.schema, names, listed, away) if features is None else ()
    shown = None if listed else tuple(names)
    missing = None if listed else gaps
    return Table(str(source), table.num_rows, width, columns, read, feature_names=shown, notes=told, read_gaps=missing)


def _check_sizes(metadata: Any, path: Path) -> None:
    """Refuse a file whose parts claim another number of rows than it: Arrow would make room for whatever they claim.

    Only the parts are asked: to ask for their columns ends the process where the file is damaged there.
    """
    claimed = sum(metadata.row_group(place).num_rows for place in range(metadata.num_row_groups))
    if claimed != metadata.num_rows:
        got = f"{metadata.num_rows:,} in one place and {claimed:,} in another"
        raise InputError(f"one number of rows in {path}", got, "the file is damaged, write it again")


def _feature_columns(
    schema: Any, path: str | Path, features: str | Sequence[str] | None, away: set[str], needed: bool
) -> tuple[list[str], bool]:
    """The columns of features, and whether it is one list column; no columns where there are none and none needed."""
    have = ", ".join(schema.names)
    if features is not None:
        wanted = [features] if isinstance(features, str) else list(features)
        missing = [name for name in wanted if name not in schema.names]
        if missing:
            raise InputError(f"the columns {', '.join(missing)} in {path}", f"the columns: {have}", "name one of those")
        listed = _is_list(schema.field(wanted[0]).type)
        if not (listed and len(wanted) == 1) and not all(_is_number(schema.field(name).type) for name in wanted):
            raise InputError(
                "columns of numbers, or one column of lists, as features", ", ".join(wanted), "choose others"
            )
        return wanted, listed
    for name in schema.names:
        if name.lower() in FEATURE_NAMES and _is_list(schema.field(name).type):
            return [name], True
    numbers = [name for name in schema.names if name not in away and _is_number(schema.field(name).type)]
    if not numbers and needed:
        raise InputError(f"columns of numbers as features in {path}", f"the columns: {have}", "add some, or name them")
    return numbers, False


def _notes(schema: Any, names: Sequence[str], listed: bool, away: set[str]) -> tuple[str, ...]:
    """Columns that hold numbers and are neither features nor columns that were asked for."""
    left = [field for field in schema if field.name not in names and field.name not in away]
    lists = [field.name for field in left if _is_list(field.type)]
    numbers = [field.name for field in left if listed and _is_number(field.type)]
    notes = []
    if lists:
        some = ", ".join(lists[:6])
        notes.append(f"Columns of lists are left out: {some}; to use one as features, name it (features=).")
    if numbers:
        some = ", ".join(numbers[:6]) + (f" and {len(numbers) - 6} more" if len(numbers) > 6 else "")
        notes.append(
            f"Features are the lists in {names[0]}; columns of numbers beside it are left out: {some}; to use them "
            "instead, name them (features=)."
        )
    return tuple(notes)


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def _plain(kind: Any) -> bool:
    from pyarrow import types

    return not types.is_nested(kind)


def _block(batch: Any, listed: bool, path: str | Path) -> NDArray[Any]:
    if listed:
        column = batch.column(0)
        flat = _numbers(column.flatten())
        if flat.dtype.kind not in "biuf":
            raise InputError(f"lists of numbers as features in {path}", f"lists of {flat.dtype}", "choose others")
        if column.null_count or column.flatten().null_count or flat.size % max(len(column), 1):
            raise InputError(
                f"a list of equally many numbers in every row of {path}", "missing or ragged lists", "mend it"
            )
        return np.asarray(flat.reshape(len(column), -1))
    for column, name in zip(batch.columns, batch.schema.names, strict=True):
        if column.null_count:
            raise InputError(
                f"a number in every row of {name} in {path}", f"{column.null_count} missing", "fill them first"
            )
    return np.column_stack([_numbers(column) for column in batch.columns])


def _gaps(batch: Any) -> NDArray[np.bool_]:
    """Empty cells and NaN."""
    return np.column_stack(
        [column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False) for column in batch.columns]
    )


def _numbers(column: Any) -> NDArray[Any]:
    from pyarrow import float64, types

    if types.is_decimal(column.type):  # NumPy would hold Python's decimals as objects
        column = column.cast(float64())
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


@contextmanager
def _reading(kind: str, path: Path) -> Iterator[None]:
    """Damaged bytes lead Arrow into errors of many kinds, which all mean that the file is not whole."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except UnicodeEncodeError:
        raise InputError("a path in UTF-8, as Arrow asks for", repr(str(path)), "rename the file") from None
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        got = f"{path}, of which the reader says: {first[:300]}"
        raise InputError(f"a whole {kind} file", got, "write it again") from None
