"""Tables in parquet and csv files and in frames, read through Apache Arrow."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError, LopsidedError
from lopsided.core.validation import name_one_of
from lopsided.data.columns import decoded, gaps, is_list, is_number, typed, unusable, useless
from lopsided.data.csv_file import check_distinct, read_csv_table
from lopsided.data.encoded_tables import encoded_table
from lopsided.data.rows import Rows, select
from lopsided.data.tables import FEATURE_NAMES, ColumnChoice, Table
from lopsided.data.whole_files import read_arrow, read_json_lines, read_packed_csv, read_sheet

if TYPE_CHECKING:
    from lopsided.data.parts import Parts

# Read pages as they are needed, through a small buffer; Arrow would else hold every row group that it has read.
STREAMED: dict[str, Any] = {"pre_buffer": False, "buffer_size": 1 << 16}
_UNITS = ("D", "m", "s", "ms", "us", "ns")  # of dates as words, the coarsest first
_MOST_HELD = 1 << 28  # bytes of a parquet file, unpacked, up to which all of it is held in memory


def open_parquet(path: Path, choice: ColumnChoice) -> Table:
    """A table over a parquet file. A large one is streamed, one list column of features or many numeric ones."""
    import pyarrow.parquet as pq

    with reading("parquet", path):
        handle = pq.ParquetFile(path, **STREAMED)
        check_distinct(handle.schema_arrow.names, str(path))  # which need not be UTF-8 in a damaged file
        held = checked_size(handle.metadata, path)
    if handle.metadata.num_rows == 0:
        raise InputError(f"at least one example in {path}", "none")
    listed = _feature_columns(handle.schema_arrow, path, replace(choice, needed=False))[1]
    if choice.whole and not listed and held <= _MOST_HELD:
        with reading("parquet", path):
            table = handle.read()
        return table_over_arrow(table, path, choice)
    from lopsided.data.parts import open_parts

    return parts_table(open_parts(path), choice)


def parts_table(parts: "Parts", choice: ColumnChoice) -> Table:
    """A table over parts of a data set: columns of numbers, or the one of lists, read batch by batch."""
    import pyarrow as pa

    def batches(size: int, names: Sequence[str]) -> Iterator[Any]:
        for part in parts.parts:
            for _, batch in part.batches(names, size):
                yield from batch.to_batches()

    def column(name: str) -> Any:
        return pa.chunked_array([chunk for batch in batches(1 << 20, [name]) for chunk in batch.columns])

    told = partial(reading, "parquet", Path(parts.source))
    known = _table(parts.source, parts.rows, parts.schema, column, batches, choice, told)
    return replace(known, parts=parts, notes=(*known.notes, *parts.notes))


def open_whole(path: Path, kind: str, choice: ColumnChoice) -> Table:
    """A table over a file that is read whole: csv or tsv with a header line, feather, lines of JSON, an Excel sheet."""

    def is_no_feature(name: str) -> bool:
        return bool(choice.beside_features([name])) if choice.wanted is None else name not in choice.wanted

    with reading(kind, path):
        if kind == "csv":
            table = read_csv_table(path, is_no_feature)
        elif kind == "packed csv":
            table = read_packed_csv(path, is_no_feature)
        else:
            table = {"Arrow": read_arrow, "JSON lines": read_json_lines, "Excel": read_sheet}[kind](path)
            check_distinct(table.column_names, str(path))
    return table_over_arrow(table, path, choice)


def table_over_arrow(table: Any, source: str | Path, choice: ColumnChoice, frame: Rows = None) -> Table:
    """A table over an Arrow table in memory; `frame` is what it was made of, where that is not a file."""
    if table.num_rows == 0:
        raise InputError(f"at least one example in {source}", "none")

    def batches(size: int, names: Sequence[str]) -> Iterator[Any]:
        return iter(table.select(names).to_batches(max_chunksize=size))

    columns = dict(zip(table.column_names, table.columns, strict=True))
    made = partial(_table, source, table.num_rows, table.schema, columns.__getitem__, batches)
    _, listed = _feature_columns(table.schema, source, replace(choice, needed=False))
    if not choice.whole or listed:
        return made(choice, nullcontext)
    return _whole(table, source, choice, made, frame)


def _whole(table: Any, source: str | Path, choice: ColumnChoice, made: Callable[..., Table], frame: Rows) -> Table:
    """Every column that says something is a feature; blocks are encodings where some are no finite numbers."""
    names = table.column_names
    away = choice.beside_features(names)
    possible = choice.wanted or [name for name in names if name not in away]
    for name in choice.wanted or ():
        if (why := unusable(table[name])) is not None:
            raise InputError("columns that can be features", f"{name!r}: {why}")
    reasons = {name: useless(typed(table[name])) for name in possible}
    used = [name for name, why in reasons.items() if why is None]
    ignored = tuple((name, why) for name, why in reasons.items() if why is not None)
    missing = {name: lacking for name in used if (lacking := gaps(table[name])).any()}
    numbers = [name for name in used if is_number(table.schema.field(name).type)]
    plain = not missing and numbers == used
    if not used and choice.needed:
        have = "; ".join(f"{name}: {why}" for name, why in ignored) or "none"
        raise InputError(f"columns that can be features in {source}", have, "add some, or name them")
    made_of = frame if frame is not None else None if plain else table
    known = made(replace(choice, features=numbers, needed=False), nullcontext)
    known = replace(
        known, frame=None if made_of is None else select(made_of, possible), used=tuple(used), ignored=ignored
    )
    return known if plain else encoded_table(known, table.select(used), missing)


def _table(
    source: str | Path,
    rows: int,
    schema: Any,
    column: Callable[[str], Any],
    batches: Callable[[int, Sequence[str]], Iterator[Any]],
    choice: ColumnChoice,
    told: Callable[[], AbstractContextManager[None]],
) -> Table:
    """The columns beside the features at once, the features batch by batch."""
    names, listed = _feature_columns(schema, source, choice)
    taken = set(names) - set(choice.beside)
    with told():
        others = [field.name for field in schema if field.name not in taken and not _is_nested(field.type)]
        columns = {name: column_values(column(name)) for name in others}
        width = _block(next(batches(1, names)), True, source).shape[1] if listed else len(names)

    def read(size: int) -> Iterator[NDArray[Any]]:
        for batch in batches(size, names) if names else ():
            with told():
                block = _block(batch, listed, source)
            if block.shape[1] != width:
                raise InputError(f"{width} features in every row of {source}", block.shape[1])
            yield block

    ignored = _ignored(schema, names, listed, choice) if choice.features is None else ()
    if listed:
        return Table(str(source), rows, width, columns, read, array=names[0], ignored=ignored)
    return Table(
        str(source), rows, width, columns, read, feature_names=tuple(names), used=tuple(names), ignored=ignored
    )


def checked_size(metadata: Any, path: Path) -> int:
    """The unpacked size of a file, from its row groups. A file whose row groups state another number of rows than the
    file itself is rejected, because Arrow would allocate memory for whatever they state.

    Only row groups are read: reading their column metadata can end the process if the file is damaged there.
    """
    claimed = sum(metadata.row_group(place).num_rows for place in range(metadata.num_row_groups))
    if claimed != metadata.num_rows:
        got = f"{metadata.num_rows:,} in one place and {claimed:,} in another"
        raise InputError(f"one number of rows in {path}", got, "the file is damaged; write it again")
    return sum(metadata.row_group(place).total_byte_size for place in range(metadata.num_row_groups))


def _feature_columns(schema: Any, path: str | Path, choice: ColumnChoice) -> tuple[list[str], bool]:
    """The columns of features, and whether it is one list column; no columns where there are none and none needed."""
    have, away = ", ".join(schema.names), choice.beside_features(schema.names)
    if (wanted := choice.wanted) is not None:
        missing = [name for name in wanted if name not in schema.names]
        if missing:
            remedy = name_one_of(schema.names, missing[0])
            raise InputError(f"the columns {', '.join(missing)} in {path}", f"the columns: {have}", remedy)
        listed = len(wanted) == 1 and is_list(schema.field(wanted[0]).type)
        if not (listed or choice.whole or all(is_number(schema.field(name).type) for name in wanted)):
            raise InputError("columns of numbers, or one column of lists, as features", ", ".join(wanted))
        return wanted, listed
    for name in schema.names:
        if name.lower() in FEATURE_NAMES and is_list(schema.field(name).type):
            return [name], True
    numbers = [name for name in schema.names if name not in away and is_number(schema.field(name).type)]
    if not numbers and choice.needed:
        raise InputError(f"columns of numbers as features in {path}", f"the columns: {have}", "add some, or name them")
    return numbers, False


def _ignored(schema: Any, names: Sequence[str], listed: bool, choice: ColumnChoice) -> tuple[tuple[str, str], ...]:
    """Columns that are neither features nor asked for as something else, and why."""
    away = choice.beside_features(schema.names)
    left = [field for field in schema if field.name not in names and field.name not in away]
    why = f"the features are the lists in `{names[0]}`; to use others, name them (features=)" if listed else ""
    return tuple(
        (field.name, why or ("it contains lists or records" if _is_nested(field.type) else "it contains no numbers"))
        for field in left
    )


def _is_nested(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_nested(kind))


def _block(batch: Any, listed: bool, path: str | Path) -> NDArray[Any]:
    if listed:
        column = batch.column(0)
        flat = _numbers(column.flatten())
        if flat.dtype.kind not in "biuf":
            raise InputError(f"lists of numbers as features in {path}", f"lists of {flat.dtype}")
        if column.null_count or column.flatten().null_count or flat.size % max(len(column), 1):
            raise InputError(f"a list of equally many numbers in every row of {path}", "missing or ragged lists")
        return np.asarray(flat.reshape(len(column), -1))
    return np.column_stack([_numbers(column) for column in batch.columns])


def plain_numbers(batch: Any, names: Sequence[str], listed: bool = False) -> NDArray[Any]:
    """Columns of numbers, or the one of lists, of an Arrow table as a matrix of floats; NaN where one is missing.
    Columns stay whole in memory (Fortran order), as Arrow holds them; so does each of the lists."""
    if listed:
        return np.concatenate([_block(part.select(names), True, "the data") for part in batch.to_batches()])
    found = np.empty((len(names), batch.num_rows))
    for column, name in zip(found, names, strict=True):
        column[:] = _numbers(batch[name])
    return found.T


def _numbers(column: Any) -> NDArray[Any]:
    from pyarrow import float64, types

    if types.is_decimal(column.type) or column.null_count:  # else NumPy would hold decimals, or None, as objects
        column = column.cast(float64())
    values: NDArray[Any] = column.to_numpy(**({} if hasattr(column, "chunks") else {"zero_copy_only": False}))
    return values


@contextmanager
def reading(kind: str, path: Path) -> Iterator[None]:
    """Arrow raises many kinds of errors for damaged files; all of them mean that the file is incomplete."""
    try:
        yield
    except (LopsidedError, MemoryError):
        raise
    except UnicodeEncodeError:
        raise InputError("a path in UTF-8, which Arrow requires", repr(str(path)), "rename the file") from None
    except UnicodeDecodeError:
        raise InputError(f"text in UTF-8 in {path}", "bytes that are none", "save it as UTF-8") from None
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        got = f"{path}, which cannot be read: {first[:300]}"
        raise InputError(f"a whole {kind} file", got, "write it again") from None


def column_values(chunked: Any) -> NDArray[Any]:
    """Numbers unchanged, text as fixed-width strings, times as text; missing values stay None or NaN."""
    from pyarrow import compute, types

    chunked = decoded(chunked)
    if types.is_timestamp(chunked.type) and chunked.type.tz is not None:
        chunked = compute.local_timestamp(chunked)  # the day that the user's clock shows
    if types.is_timestamp(chunked.type) or types.is_date(chunked.type):
        return time_words(chunked.to_numpy().astype("M8"))
    if types.is_temporal(chunked.type):
        return np.array([None if cell is None else str(cell) for cell in chunked.to_pylist()])
    whole = chunked.null_count == 0
    values: NDArray[Any] = chunked.to_numpy() if whole else np.array(chunked.to_pylist(), dtype=object)
    if whole and (types.is_string(chunked.type) or types.is_large_string(chunked.type)):
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
