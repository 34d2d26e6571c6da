"""A csv or tsv file as an Arrow table; the mistakes people make in such files are named, not worked around."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lopsided.core.errors import InputError
from lopsided.data.column_names import check_distinct
from lopsided.data.csv_dialect import Dialect, csv_dialect

# A column of text in which more than half of the cells are numbers is a column of numbers with bad cells.
_MOSTLY = 0.5
_LARGEST_BLOCK = 2**31 - 1  # Arrow counts the bytes of a block with 32 bits


def read_csv_table(path: Path, may_be_words: Callable[[str], bool] = lambda name: False) -> Any:
    """The table; empty cells are missing values. Raises pyarrow's errors for what cannot be parsed at all.

    may_be_words: columns that are no features, such as labels, in which words among numbers are no mistake.
    """
    import pyarrow as pa

    dialect = csv_dialect(path)
    try:
        table = _parsed(path, dialect, None)
    except pa.ArrowInvalid as error:
        if "conversion error" not in str(error).lower():
            raise
        # Arrow takes the type of a column from the first block; seen as one block, later cells count too
        table = _parsed(path, dialect, min(path.stat().st_size + 1, _LARGEST_BLOCK))
    names = table.column_names  # asked for once: the list is made anew each time, and a file may have many columns
    check_distinct(names, str(path))
    for name, column in zip(names, table.columns, strict=True):
        if not may_be_words(name):
            _check_cells(column, name, path)
    return table


def _parsed(path: Path, dialect: Dialect, block: int | None) -> Any:
    from pyarrow import csv

    with path.open("rb") as stream:  # opened here: Arrow takes only names that are UTF-8
        return csv.read_csv(
            stream,
            read_options=csv.ReadOptions(block_size=block),
            parse_options=csv.ParseOptions(delimiter=dialect.delimiter),
            convert_options=csv.ConvertOptions(strings_can_be_null=True, decimal_point=dialect.decimal),
        )


def _check_cells(column: Any, name: str, path: Path) -> None:
    from pyarrow import types

    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return
    cells = column.to_pylist()
    bad = [row for row, cell in enumerate(cells) if cell is not None and not _is_number(cell)]
    filled = sum(cell is not None for cell in cells)
    if filled and 0 < len(bad) < _MOSTLY * filled:
        got = f"{cells[bad[0]]!r} in row {bad[0] + 2}"
        raise InputError(f"numbers throughout the column {name!r} of {path}", got, "mend the cell or drop the column")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
