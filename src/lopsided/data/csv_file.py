"""A csv or tsv file as an Arrow table; the mistakes people make in such files are named, not worked around."""

from pathlib import Path
from typing import Any

from lopsided.core.errors import InputError
from lopsided.data.column_names import check_distinct

# A column of text in which more than half of the cells are numbers is a column of numbers with bad cells.
_MOSTLY = 0.5


def read_csv_table(path: Path) -> Any:
    """The table; empty cells are missing values. Raises pyarrow's errors for what cannot be parsed at all."""
    from pyarrow import csv

    with path.open("rb") as stream:  # opened here: Arrow takes only names that are UTF-8
        table = csv.read_csv(
            stream,
            parse_options=csv.ParseOptions(delimiter="\t" if path.suffix.lower() == ".tsv" else ","),
            convert_options=csv.ConvertOptions(strings_can_be_null=True),
        )
    names = table.column_names  # asked for once: the list is made anew each time, and a file may have many columns
    check_distinct(names, str(path))
    for name, column in zip(names, table.columns, strict=True):
        _check_cells(column, name, path)
    return table


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
