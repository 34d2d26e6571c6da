"""Files that are read whole into an Arrow table: feather and Arrow files, lines of JSON, packed csv, Excel sheets."""

import gzip
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from lopsided.core.errors import InputError, MissingPackage
from lopsided.core.scratch import scratch_space
from lopsided.data.csv_file import read_csv_table

MOST_UNPACKED = 2**31 - 1  # bytes of csv: Arrow counts those of a block with 32 bits
_CHUNK = 1 << 20
_STRING, _DEEPEST = re.compile(rb'"(?:[^"\\]|\\.)*"'), 100
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def read_arrow(path: Path) -> Any:
    """A feather or Arrow file (the file format or the stream), every value checked."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as source:
        magic = source.read(6)
        source.seek(0)
        opened = pa.ipc.open_file if magic == b"ARROW1" else pa.ipc.open_stream
        table = opened(source).read_all()
    table.validate(full=True)
    return table


def read_json_lines(path: Path) -> Any:
    """One JSON object per line; its names are columns."""
    import pyarrow as pa
    from pyarrow import json

    _check_depth(path)
    with pa.OSFile(str(path)) as source:
        return json.read_json(source, json.ReadOptions(block_size=max(_CHUNK, min(path.stat().st_size, MOST_UNPACKED))))


def _check_depth(path: Path) -> None:
    """Arrow ends the process where values are nested some ten thousand deep; no string of JSON goes beyond its line."""
    depth = 0
    with path.open("rb") as lines:
        while some := lines.readlines(_CHUNK):
            brackets = _STRING.sub(b"", b"".join(some)).translate(None, _NO_BRACKETS)
            steps = np.where(np.isin(np.frombuffer(brackets, dtype=np.uint8), list(b"[{")), 1, -1)
            if depth + int(np.cumsum(steps).max(initial=0)) > _DEEPEST:
                raise InputError(f"values nested at most {_DEEPEST} deep in {path}", "deeper ones", "flatten them")
            depth += int(steps.sum())


def read_packed_csv(path: Path, may_be_words: Callable[[str], bool]) -> Any:
    """A csv or tsv file packed by gzip; it is unpacked next to nothing else and deleted again."""
    with tempfile.TemporaryDirectory() as folder, _called(path, plain := Path(folder) / path.stem):
        with scratch_space(), gzip.open(path) as packed, plain.open("wb") as target:
            while chunk := packed.read(_CHUNK):
                if target.tell() + len(chunk) > MOST_UNPACKED:
                    raise InputError(f"at most {MOST_UNPACKED:,} bytes in {path}", "more", "unpack it, or use parquet")
                target.write(chunk)
        return read_csv_table(plain, may_be_words)


@contextmanager
def _called(path: Path, plain: Path) -> Iterator[None]:
    """Sentences about the unpacked file name the one that was given."""
    try:
        yield
    except InputError as error:
        told = [text.replace(str(plain), str(path)) for text in (error.expected, error.got, error.remedy)]
        raise InputError(*told) from None


def read_sheet(path: Path) -> Any:
    """The first sheet of an Excel file, whose first row names the columns; empty cells are missing values."""
    import pyarrow as pa

    if find_spec("openpyxl") is not None:
        import openpyxl

        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
        book.close()
    elif find_spec("python_calamine") is not None:
        import python_calamine

        rows = python_calamine.CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0).to_python()
    else:
        raise MissingPackage("openpyxl", "reading .xlsx files", "excel")
    if len(rows) < 2:
        raise InputError(f"a row of names and one per example in {path}", f"{len(rows)} rows")
    cells = [[None if cell == "" else cell for cell in row] for row in rows[1:]]
    columns = [_column([row[place] for row in cells]) for place in range(len(rows[0]))]
    return pa.table(columns, names=["" if name is None else str(name) for name in rows[0]])


def _column(cells: list[Any]) -> Any:
    import pyarrow as pa

    try:
        return pa.array(cells)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # numbers and words in one column
        return pa.array([None if cell is None else str(cell) for cell in cells])
