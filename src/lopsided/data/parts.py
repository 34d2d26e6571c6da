"""Data sets larger than memory, in parts: row groups of a parquet file, of a folder of parquet files (hive partitions
too), or the fragments of an Arrow data set.

A part knows its first row and reads itself batch by batch; it can be sent to another machine that sees the same files.
Columns that only the folders' names hold (`split=train/`) are columns like the others.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lopsided.core.errors import InputError
from lopsided.core.files import check_regular
from lopsided.data.arrow_tables import checked_size, reading
from lopsided.data.csv_file import check_distinct

PARQUET = (".parquet", ".pq")
_BATCH_NUMBERS = 4_000_000  # 32 MB as float64
_LARGE = 1 << 30  # bytes of a parquet file, unpacked, above which it is not held in memory


@dataclass(frozen=True)
class Part:
    """`rows` rows from `start` on: one row group, or one fragment of another Arrow data set."""

    fragment: Any
    schema: Any
    source: str
    start: int
    rows: int

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[tuple[int, Any]]:
        """(first row, Arrow table) of every batch, all columns or some; as many rows a batch as make 32 MB."""
        import pyarrow as pa

        names = list(self.schema.names if columns is None else columns)
        told, done = partial(reading, "parquet", Path(self.source)), 0
        with told():
            found = self.fragment.to_batches(
                schema=self.schema,
                columns=names,
                batch_size=max(1, _BATCH_NUMBERS // max(len(self.schema.names), 1)),
                batch_readahead=1,
                fragment_readahead=1,
                use_threads=False,
                **_scan_options(self.fragment),
            )
        while True:
            with told():
                batch = next(found, None)
            if batch is None:
                break
            if batch.num_rows:
                yield self.start + done, pa.Table.from_batches([batch])
                done += batch.num_rows
        if done != self.rows:
            got = f"{done:,} in a part that says {self.rows:,}"
            raise InputError(f"all rows of {self.source}", got, "the file is damaged or was changed, write it again")


@dataclass(frozen=True)
class Parts:
    """All parts of a data set, in order."""

    source: str
    schema: Any
    rows: int
    parts: tuple[Part, ...]


def _scan_options(fragment: Any) -> dict[str, Any]:
    """Pages of parquet as they are needed; Arrow would else read whole row groups ahead."""
    import pyarrow.dataset as ds

    if not isinstance(fragment, ds.ParquetFileFragment):
        return {}
    options = ds.ParquetFragmentScanOptions(use_buffered_stream=True, buffer_size=1 << 16, pre_buffer=False)
    return {"fragment_scan_options": options}


def is_in_parts(data: Any) -> bool:
    """Is it an Arrow data set, a folder of parquet files, or a parquet file too large to be held in memory?"""
    if not isinstance(data, (str, os.PathLike)):
        return _is_data_set(data)
    path = Path(data)
    if path.is_dir():
        return next(_parquet_files(path), None) is not None
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
    path = Path(data)
    if not path.exists():
        raise InputError("a file or folder of examples", f"no such path: {path}")
    if path.is_dir():
        files = sorted(map(str, _parquet_files(path, everywhere=True)))
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
    return _parts(found, str(path))


def _parts(found: Any, source: str) -> Parts:
    check_distinct(found.schema.names, source)
    parts: list[Part] = []
    start = 0
    first: Any = None
    with reading("parquet", Path(source)):
        for fragment in found.get_fragments():
            own = set(fragment.physical_schema.names)
            first = own if first is None else first
            if own != first:
                odd = ", ".join(sorted(own ^ first)[:6])
                raise InputError(f"the same columns in all parts of {source}", f"some with {odd}", "make them alike")
            for piece, rows in _pieces(fragment, source):
                if rows:
                    parts.append(Part(piece, found.schema, source, start, rows))
                start += rows
    if start == 0:
        raise InputError(f"at least one example in {source}", "none", "write the file again")
    return Parts(source, found.schema, start, tuple(parts))


def _pieces(fragment: Any, source: str) -> Iterator[tuple[Any, int]]:
    if not hasattr(fragment, "split_by_row_group"):
        yield fragment, int(fragment.count_rows())
        return
    checked_size(fragment.metadata, Path(fragment.path))
    for piece in fragment.split_by_row_group():
        yield piece, sum(group.num_rows for group in piece.row_groups)


def _is_data_set(data: Any) -> bool:
    return any(cls.__module__ == "pyarrow._dataset" and cls.__name__ == "Dataset" for cls in type(data).__mro__)


def _parquet_files(folder: Path, *, everywhere: bool = False) -> Iterator[Path]:
    """Those in the folder and in its partitions (`key=value`), or `everywhere` below; hidden ones are ignored."""
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_dir():
            if everywhere or "=" in entry.name:
                yield from _parquet_files(entry, everywhere=everywhere)
        elif entry.suffix.lower() in PARQUET:
            yield entry
