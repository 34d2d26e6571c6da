"""Tables in parquet and csv files and in frames, read through Apache Arrow; columns as numbers or words."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.core.validation import name_one_of
from lopsided.data.csv_file import check_distinct, read_csv_table
from lopsided.data.tables import FEATURE_NAMES, ColumnChoice, Table

# Read pages as they are needed, through a small buffer; Arrow would else hold every row group that it has read.
_STREAMED: dict[str, Any] = {"pre_buffer": False, "buffer_size": 1 << 16}
_UNITS = ("D", "m", "s", "ms", "us", "ns")  # of dates as words, the coarsest first


def open_parquet(path: Path, choice: ColumnChoice) -> Table:
    """A table over a parquet file: one list column of features or many numeric ones, streamed."""
    import pyarrow.parquet as pq

    with _reading("parquet", path):
        handle = pq.ParquetFile(path, **_STREAMED)
    check_distinct(handle.schema_arrow.names, str(path))
    with _reading("parquet", path):
        _check_sizes(handle.metadata, path)

    def batches(size: int, names: Sequence[str]) -> Iterator[Any]:
        with _reading("parquet", path):
            found = pq.ParquetFile(path, **_STREAMED).iter_batches(size, columns=names)
        while True:
            with _reading("parquet", path):
                batch = next(found, None)
            if batch is None:
                return
            yield batch

    rows = int(handle.metadata.num_rows)
    if rows == 0:
        raise InputError(f"at least one example in {path}", "none", "write the file again")
    reading = partial(_reading, "parquet", path)
    return _table(path, rows, handle.schema_arrow, lambda name: handle.read([name])[name], batches, choice, reading)


def open_csv(path: Path, choice: ColumnChoice) -> Table:
    """A table over a csv or tsv file with a header line, read whole."""

    def is_no_feature(name: str) -> bool:
        return bool(choice.beside_features([name])) if choice.wanted is None else name not in choice.wanted

    with _reading("csv", path):
        table = read_csv_table(path, is_no_feature)
    return table_over_arrow(table, path, choice)


def table_over_arrow(table: Any, source: str | Path, choice: ColumnChoice) -> Table:
    """A table over an Arrow table in memory."""
    if table.num_rows == 0:
        raise InputError(f"at least one example in {source}", "none", "write one row per example below the header")

    def batches(size: int, names: Sequence[str]) -> Iterator[Any]:
        return iter(table.select(names).to_batches(max_chunksize=size))

    columns = dict(zip(table.column_names, table.columns, strict=True))
    return _table(source, table.num_rows, table.schema, columns.__getitem__, batches, choice, nullcontext)


def _table(
    source: str | Path,
    rows: int,
    schema: Any,
    column: Callable[[str], Any],
    batches: Callable[[int, Sequence[str]], Iterator[Any]],
    choice: ColumnChoice,
    reading: Callable[[], AbstractContextManager[None]],
) -> Table:
    """The columns beside the features at once, the features batch by batch."""
    away = choice.beside_features(schema.names)
    names, listed = _feature_columns(schema, source, choice, away)
    taken = set(names)
    with reading():
        others = [field.name for field in schema if field.name not in taken and _plain(field.type)]
        columns = {name: column_values(column(name)) for name in others}
        width = _block(next(batches(1, names)), True, source).shape[1] if listed else len(names)

    def read(size: int) -> Iterator[NDArray[Any]]:
        for batch in batches(size, names) if names else ():
            with reading():
                block = _block(batch, listed, source)
            if block.shape[1] != width:
                raise InputError(f"{width} features in every row of {source}", block.shape[1], "make them equal")
            yield block

    def gaps(size: int) -> Iterator[NDArray[np.bool_]]:
        for batch in batches(size, names) if names else ():
            with reading():
                yield _gaps(batch)

    told = _notes(schema, names, listed, away) if choice.features is None else ()
    shown = None if listed else tuple(names)
    missing = None if listed else gaps
    return Table(str(source), rows, width, columns, read, feature_names=shown, notes=told, read_gaps=missing)


def _check_sizes(metadata: Any, path: Path) -> None:
    """Refuse a file whose parts claim another number of rows than it: Arrow would make room for whatever they claim.

    Only the parts are asked: to ask for their columns ends the process where the file is damaged there.
    """
    claimed = sum(metadata.row_group(place).num_rows for place in range(metadata.num_row_groups))
    if claimed != metadata.num_rows:
        got = f"{metadata.num_rows:,} in one place and {claimed:,} in another"
        raise InputError(f"one number of rows in {path}", got, "the file is damaged, write it again")


def _feature_columns(schema: Any, path: str | Path, choice: ColumnChoice, away: set[str]) -> tuple[list[str], bool]:
    """The columns of features, and whether it is one list column; no columns where there are none and none needed."""
    have = ", ".join(schema.names)
    if (wanted := choice.wanted) is not None:
        missing = [name for name in wanted if name not in schema.names]
        if missing:
            remedy = name_one_of(schema.names, missing[0])
            raise InputError(f"the columns {', '.join(missing)} in {path}", f"the columns: {have}", remedy)
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
    if not numbers and choice.needed:
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


def column_values(chunked: Any) -> NDArray[Any]:
    """Numbers as they are, words as fixed-width strings, times as words; missing values stay None or NaN."""
    import pyarrow as pa
    from pyarrow import compute, types

    if types.is_dictionary(chunked.type):  # categories
        kind = chunked.type.value_type
        kind = pa.string() if kind == pa.string_view() else kind  # Polars' words, which Arrow cannot take from
        chunks = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in chunked.chunks]
        chunked = pa.chunked_array(chunks, type=kind)
    if types.is_timestamp(chunked.type) and chunked.type.tz is not None:
        chunked = compute.local_timestamp(chunked)  # the day that the user's clock shows
    if types.is_timestamp(chunked.type) or types.is_date(chunked.type):
        return time_words(chunked.to_numpy().astype("M8"))
    if types.is_temporal(chunked.type):
        return np.array([None if cell is None else str(cell) for cell in chunked.to_pylist()])
    whole = chunked.null_count == 0
    values: NDArray[Any] = chunked.to_numpy() if whole else np.array(chunked.to_pylist(), dtype=object)
    if values.dtype == object and whole and all(isinstance(value, str) for value in values):
        return values.astype(np.str_)
    return values


def time_words(values: NDArray[Any]) -> NDArray[Any]:
    """Strings for datetime64 (2024-01-31, or with as much of the clock as is needed) and timedelta64, so that times can
    name groups; None where there is no time; other arrays as they are."""
    if values.dtype.kind not in "mM":
        return values
    missing = np.isnat(values)
    words: NDArray[Any] = _spans(values) if values.dtype.kind == "m" else _dates(values, missing)
    if not missing.any():
        return words
    filled = words.astype(object)
    filled[missing] = None
    return filled


def _spans(values: NDArray[Any]) -> NDArray[Any]:
    return np.array([str(value) for value in values.ravel()]).reshape(values.shape)


def _dates(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    for unit in _UNITS:
        coarse = values.astype(f"M8[{unit}]")
        if (missing | (coarse == values)).all():
            break
    return np.asarray(np.datetime_as_string(coarse))
