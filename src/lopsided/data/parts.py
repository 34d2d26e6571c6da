"""Data sets larger than memory, in parts: row groups of a parquet file, of a folder of parquet files (hive partitions
too), or the fragments of an Arrow data set.

A part knows its first row and reads itself batch by batch; it can be sent to another machine that sees the same files.
Columns that are given only by folder names (`split=train/`) count like the others.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from lopsided.core.errors import InputError
from lopsided.core.files import PARQUET, ParquetWalk, check_regular, parquet_parts
from lopsided.data.arrow_tables import STREAMED, checked_size, reading
from lopsided.data.csv_file import check_distinct

_BATCH_BYTES = 32_000_000
_LARGE = 1 << 30  # bytes of a parquet file, unpacked, above which it is not held in memory


@dataclass(frozen=True)
class DataPart:
    """`rows` rows from `start` on: one row group, or one fragment of another Arrow data set."""

    fragment: Any
    schema: Any
    source: str
    start: int
    rows: int

    def batches(self, columns: Sequence[str] | None = None, size: int | None = None) -> Iterator[tuple[int, Any]]:
        """(first row, Arrow table) of every batch, all columns or some; `size` rows a batch, else as make 32 MB."""
        names = list(self.schema.names if columns is None else columns)
        told, done = partial(reading, "parquet", Path(self.source)), 0
        with told():
            found = self._tables(names, size or max(1, _BATCH_BYTES // self._row_bytes()))
        while True:
            with told():
                table = next(found, None)
            if table is None:
                break
            if table.num_rows:
                yield self.start + done, table
                done += table.num_rows
        if done != self.rows:
            got = f"{done:,} in a part that should have {self.rows:,}"
            raise InputError(f"all rows of {self.source}", got, "the file is damaged or was changed; write it again")

    def _row_bytes(self) -> int:
        """About how much a row holds: a number a column, or what the file says where there are lists or long words."""
        said: int = sum(group.total_byte_size for group in getattr(self.fragment, "row_groups", ()))
        return max(8 * len(self.schema.names), said // max(self.rows, 1), 1)

    def _tables(self, names: list[str], size: int) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.dataset as ds

        wanted = pa.schema([self.schema.field(name) for name in names])
        if not isinstance(self.fragment, ds.ParquetFileFragment):
            ahead = {"batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
            for batch in self.fragment.to_batches(schema=self.schema, columns=names, batch_size=size, **ahead):
                yield pa.Table.from_batches([batch])
            return
        import pyarrow.parquet as pq

        # Arrow's scanner would hold a whole row group; the file's own reader goes page by page
        handle = pq.ParquetFile(self.fragment.path, filesystem=self.fragment.filesystem, **STREAMED)
        own = handle.schema_arrow.names
        keys = ds.get_partition_keys(self.fragment.partition_expression)
        present = [name for name in names if name in own] or own[:1]
        groups = [group.id for group in self.fragment.row_groups]
        for batch in handle.iter_batches(size, row_groups=groups, columns=present):
            table = pa.Table.from_batches([batch])
            for name in (name for name in names if name not in own):
                value = pa.scalar(keys.get(name), self.schema.field(name).type)
                table = table.append_column(name, pa.repeat(value, table.num_rows))
            table = table.select(names)
            yield table if table.schema.equals(wanted) else table.cast(wanted)


@dataclass(frozen=True)
class Parts:
    """All parts of a data set, in order."""

    source: str
    schema: Any
    rows: int
    parts: tuple[DataPart, ...]
    notes: tuple[str, ...] = ()  # what was passed over, one sentence each


def is_in_parts(data: Any) -> bool:
    """Is it an Arrow data set, a folder of parquet files, or a parquet file too large to be held in memory?"""
    if not isinstance(data, (str, os.PathLike)):
        return _is_data_set(data)
    path = Path(data)
    try:
        if path.is_dir():
            return next(parquet_parts(path), None) is not None
    except OSError:  # no permission, or no name of a path: whoever opens it says so
        return False
    if path.suffix.lower() not in PARQUET or not path.is_file():
        return False
    import pyarrow.parquet as pq

    with reading("parquet", path):
        return checked_size(pq.read_metadata(path), path) > _LARGE


def open_parts(data: Any) -> Parts:
    """The parts of an Arrow data set, of a folder of parquet files, or of one parquet file of any size."""
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    if _is_data_set(data):
        return _parts(data, "the Arrow data set")
    if not isinstance(data, (str, os.PathLike)):
        got = f"a {type(data).__name__}"
        raise InputError(
            "a parquet file, a folder of them or an Arrow data set to read in parts", got, "write the data as parquet"
        )
    path = Path(data)
    walk = ParquetWalk(path)
    if not os.path.exists(path):
        raise InputError("a file or folder of examples", f"{path}, which does not exist")
    if path.is_dir():
        with reading("parquet", path):
            files = [str(entry) for entry in parquet_parts(path, walk)]
        if not files:
            raise InputError("a folder of parquet files", str(path), "name the folder that holds them")
    else:
        check_regular(path, "a parquet file or a folder of them")
        if path.suffix.lower() not in PARQUET:
            raise InputError("a parquet file or a folder of them", str(path), "convert it first")
        files = [str(path)]
    with reading("parquet", path):
        options = ds.FileSystemFactoryOptions()
        if path.is_dir():
            options = ds.FileSystemFactoryOptions(str(path), ds.HivePartitioning.discover())
        found = ds.FileSystemDatasetFactory(LocalFileSystem(), files, ds.ParquetFileFormat(), options).finish()
    return replace(_parts(found, str(path)), notes=walk.notes())


def _parts(found: Any, source: str) -> Parts:
    parts: list[DataPart] = []
    start = 0
    first: Any = None
    with reading("parquet", Path(source)):
        check_distinct(found.schema.names, source)
        for fragment in found.get_fragments():
            own = set(fragment.physical_schema.names)
            first = own if first is None else first
            if own != first:
                odd = ", ".join(sorted(own ^ first)[:6])
                raise InputError(f"the same columns in all parts of {source}", f"some with {odd}", "make them alike")
            for piece, rows in _pieces(fragment):
                if rows:
                    parts.append(DataPart(piece, found.schema, source, start, rows))
                start += rows
    if start == 0:
        raise InputError(f"at least one example in {source}", "none", "write the file again")
    return Parts(source, found.schema, start, tuple(parts))


def _pieces(fragment: Any) -> Iterator[tuple[Any, int]]:
    if not hasattr(fragment, "split_by_row_group"):
        yield fragment, int(fragment.count_rows())
        return
    checked_size(fragment.metadata, Path(fragment.path))
    for piece in fragment.split_by_row_group():
        yield piece, sum(group.num_rows for group in piece.row_groups)


def _is_data_set(data: Any) -> bool:
    return any(cls.__module__ == "pyarrow._dataset" and cls.__name__ == "Dataset" for cls in type(data).__mro__)
