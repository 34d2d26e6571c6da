"""What separates the columns of a csv file: comma, semicolon or tab, told by its first lines."""

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from lopsided.core.errors import InputError

_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs"}
_BYTES, _LINES = 1 << 20, 20


@dataclass(frozen=True)
class Dialect:
    """The letter between columns, and the one before the decimals."""

    delimiter: str
    decimal: str


def csv_dialect(path: Path) -> Dialect:
    """The delimiter that gives equally many fields, more than one, in the first lines; the ending's own comes first.

    Where none does, the ending decides, unless the header has another one: such a file is refused with its name.
    """
    own = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open("rb") as stream:
        begin = stream.read(_BYTES)
    text = begin.decode("utf-8-sig", errors="replace")
    if len(begin) == _BYTES:  # the last line may be cut
        text = text[: text.rfind("\n") + 1]
    found = {mark: _rows(text, mark) for mark in (own, *(mark for mark in _NAMES if mark != own))}
    for mark, rows in found.items():
        if rows and len(rows[0]) > 1 and len({len(row) for row in rows}) == 1:
            return Dialect(mark, _decimal(rows) if mark != "," else ".")
    alone = bool(found[own]) and len(found[own][0]) == 1
    for mark, rows in found.items():
        if alone and rows and len(rows[0]) > 1:
            odd = next(place for place, row in enumerate(rows) if len(row) != len(rows[0]))
            got = f"{_NAMES[mark]}, which make {len(rows[0])} in the header but {len(rows[odd])} in row {odd + 1}"
            raise InputError(f"columns of {path} separated by {_NAMES[own]}", got, "separate every line alike")
    return Dialect(own, ".")


def _rows(text: str, mark: str) -> list[list[str]]:
    """The first lines that are not empty, as fields; none where they cannot be parsed so."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark):
            if row:
                rows.append(row)
            if len(rows) == _LINES:
                break
    except csv.Error:
        return []
    return rows


def _decimal(rows: list[list[str]]) -> str:
    """A comma where numbers are written with commas and none with points."""
    cells = [cell.strip() for row in rows[1:] for cell in row]
    commas = any(re.fullmatch(r"[+-]?\d+,\d+", cell) for cell in cells)
    points = any(re.fullmatch(r"[+-]?\d*\.\d+", cell) for cell in cells)
    return "," if commas and not points else "."
