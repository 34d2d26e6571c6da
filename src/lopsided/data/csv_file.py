"""Reads a csv or tsv file as an Arrow table; common mistakes in such files raise an error that names them.

The separator (comma, semicolon, tab or vertical bar) is found from the first lines.

Two stray quotes look like one cell of many lines. Such a cell is refused if its lines, read without the quotes, are
rows of the file: each has as many cells as the header, with numbers in the columns that hold nothing else and known
words in those that hold few. Where no column is like that, or the words are unknown, it is refused if hardly another
cell of the file has several lines: texts of several lines come in numbers, stray quotes do not. Commas with a blank
behind them, in a file that has none elsewhere, belong to a text.

Columns that are no features stay text where numbers would merge different spellings, such as 1, 01 and 1.0.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lopsided.core.errors import InputError
from lopsided.core.validation import is_number
from lopsided.data.columns import readable

# A column of text in which more than half of the cells are numbers is a column of numbers with bad cells.
_MOSTLY = 0.5
_LARGEST_BLOCK = 2**31 - 1  # Arrow counts the bytes of a block with 32 bits
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_BYTES, _LINES = 1 << 20, 20
_TYPED, _SUSPECTS = 1000, 100  # rows that say what a column holds; cells of several lines that are looked at
_FEW = 10  # rows for each different word of a column that holds few
_ALONE = 2  # cells of several lines in a file where they are no habit


@dataclass(frozen=True)
class Dialect:
    """The letter between columns, and the one before the decimals."""

    delimiter: str
    decimal: str


def read_csv_table(path: Path, may_be_words: Callable[[str], bool] = lambda name: False) -> Any:
    """The table; empty cells are missing values. Raises pyarrow's errors for what cannot be parsed at all.

    may_be_words: columns that are no features, such as labels, in which words among numbers are no mistake.
    """
    import pyarrow as pa

    _check_encoding(path)
    dialect = csv_dialect(path)
    long_cells = _check_quotes(path, dialect.delimiter)
    try:
        table = _parsed(path, dialect, long_cells, None)
    except pa.ArrowInvalid as error:
        if "conversion error" not in str(error).lower():
            raise
        # Arrow takes the type of a column from the first block; seen as one block, later cells count too
        table = _parsed(path, dialect, long_cells, min(path.stat().st_size + 1, _LARGEST_BLOCK))
    names = table.column_names  # asked for once: the list is made anew each time, and a file may have many columns
    check_distinct(names, str(path))
    if len(names) == 1 and not long_cells:
        _check_empty_lines(path)
    table = pa.table([readable(column) for column in table.columns], names=names)
    shown = [name.strip() for name in names]  # of `x, label` the second is called label
    shown = shown if len(set(shown)) == len(names) else names
    beside = {name for name, own in zip(names, shown, strict=True) if may_be_words(own)}
    for name, own, column in zip(names, shown, table.columns, strict=True):
        if name not in beside:
            _check_cells(column, own, path)
    kept = [name for name in names if name in beside]
    return _with_spellings(table, kept, path, dialect, long_cells).rename_columns(shown)


def missing_words() -> frozenset[str]:
    """Words that stand for a missing value in a csv file, such as NA."""
    from pyarrow import csv

    return frozenset(csv.ConvertOptions().null_values)


def _check_encoding(path: Path) -> None:
    with path.open("rb") as stream:
        begin = stream.read(_BYTES)
    if begin[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in begin:
        got = "UTF-16 or UTF-32" if begin[:2] in (b"\xff\xfe", b"\xfe\xff") else "zero bytes, as in UTF-16"
        raise InputError(f"text in UTF-8 in {path}", got, "save it as UTF-8")


def _check_empty_lines(path: Path) -> None:
    """In a file of one column an empty line may be a row without a value, which Arrow would drop."""
    with path.open("rb") as stream:
        last = 0
        for number, line in enumerate(stream, 1):
            if line.strip():
                if last:
                    got = f"an empty line {last}"
                    raise InputError(f"a value in every line of {path}", got, "fill it, or remove the line")
            elif not last:
                last = number


def _with_spellings(table: Any, names: list[str], path: Path, dialect: Dialect, long_cells: bool) -> Any:
    """With those columns of whole numbers as text of which one number is spelt in several ways."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    def whole(column: Any) -> bool:
        if types.is_floating(column.type):
            return bool(pc.all(pc.equal(column, pc.floor(column))).as_py())
        return bool(types.is_integer(column.type))

    numbers = [name for name in names if whole(table[name])]
    if not numbers:
        return table
    written = _parsed(path, dialect, long_cells, None, dict.fromkeys(numbers, pa.string()))
    for name in numbers:
        spelt = pc.utf8_trim_whitespace(written[name])  # blanks around a number are how a file is set, no other name
        if pc.count_distinct(spelt).as_py() > pc.count_distinct(table[name]).as_py():
            table = table.set_column(table.column_names.index(name), name, spelt)
    return table


def _check_quotes(path: Path, delimiter: str) -> bool:
    """Whether cells go over several lines. A quote that nothing closes is refused, and two that enclose whole rows:
    Arrow would take all between them, rows and rows, for one cell."""
    with path.open("rb") as stream:
        if not any(b'"' in block for block in iter(lambda: stream.read(_BYTES), b"")):
            return False
    before, long_cells, usual = 0, False, csv.field_size_limit(_LARGEST_BLOCK)
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as text:
            rows = csv.reader(text, delimiter=delimiter, strict=True)
            swallowed = _Swallowed(delimiter)
            for row in rows:
                long_cells |= rows.line_num > before + 1
                swallowed.see(row, before + 1, rows.line_num)
                before = rows.line_num
    except csv.Error:
        got = f"a stray or unclosed quote in the row that begins in line {before + 1}"
        raise InputError(
            f"quotes in pairs around cells of {path}", got, "close it, or double a quote inside a cell"
        ) from None
    finally:
        csv.field_size_limit(usual)
    if (found := swallowed.found()) is not None:
        got = f"a cell that begins in line {found[0]} and holds the rows up to line {found[1]}"
        raise InputError(
            f"quotes in pairs around cells of {path}", got, "remove the stray quotes, or double a quote inside a cell"
        )
    return long_cells


class _Swallowed:
    """Looks for cells that are rows: told row after row, with the lines that each takes."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter, self._width, self._seen = delimiter, 0, 0
        self._numbers: list[bool] = []  # of the columns whether they hold nothing else, as far as was seen
        self._words: list[set[str]] = []  # that they hold
        self._blanks = False  # whether cells begin with one
        self._long = 0  # rows of several lines
        self._suspects: list[tuple[int, int, list[list[str]]]] = []

    def see(self, row: list[str], first: int, last: int) -> None:
        if not row:
            return
        if not self._width:
            self._width, self._numbers, self._words = len(row), [True] * len(row), [set() for _ in row]
        elif first == last and self._seen < _TYPED:
            self._seen += 1
            self._blanks |= _blanks([row])
            for place, cell in enumerate(row[: self._width]):
                self._numbers[place] &= not cell.strip() or is_number(cell)
                self._words[place].add(cell)
        elif first < last and self._width > 1 and len(self._suspects) < _SUSPECTS:
            self._long += 1
            rows = self._rows(row) if len(row) == self._width else []  # a row of another width is wrong in any case
            if all(len(one) == self._width for one in rows):
                self._suspects.append((first, last, rows[:_LINES]))

    def _rows(self, row: list[str]) -> list[list[str]]:
        """What the row would be without the quotes around the lines."""
        return [line.split(self._delimiter) for line in self._delimiter.join(row).splitlines()]

    def found(self) -> tuple[int, int] | None:
        """The first and last line of the first cell that is rows."""
        numbers = [place for place, only in enumerate(self._numbers) if only and self._seen]
        words = {place: known for place, known in enumerate(self._words) if _FEW * len(known) <= self._seen}
        for place in numbers:
            words.pop(place, None)
        for first, last, rows in self._suspects:
            if not all(not row[place].strip() or is_number(row[place]) for row in rows for place in numbers):
                continue
            known = all(row[place] in told for row in rows for place, told in words.items())
            alone = self._long <= _ALONE and (self._blanks or not _blanks(rows))
            if alone or (known and (numbers or words)):
                return first, last
        return None


def _blanks(rows: Iterable[list[str]]) -> bool:
    """Whether a cell behind a separator begins with a blank."""
    return any(cell.startswith(" ") for row in rows for cell in row[1:])


def _parsed(
    path: Path, dialect: Dialect, long_cells: bool, block: int | None, kinds: Mapping[str, Any] | None = None
) -> Any:
    """The table; of columns whose `kinds` are given those alone."""
    from pyarrow import csv

    with path.open("rb") as opened, _native(path, opened.fileno()) as stream:
        return csv.read_csv(
            stream,
            read_options=csv.ReadOptions(block_size=block),
            parse_options=csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=long_cells),
            convert_options=csv.ConvertOptions(
                strings_can_be_null=True,
                decimal_point=dialect.decimal,
                include_columns=list(kinds or ()),
                column_types=kinds,
            ),
        )


def _native(path: Path, descriptor: int) -> Any:
    """The file as a stream of Arrow's own. Arrow's threads let go of a stream after the table is there, and a process
    that is about to end by then is aborted if it is one of Python's."""
    from pyarrow import OSFile

    try:
        return OSFile(str(path))
    except UnicodeEncodeError:  # Arrow takes only names that are UTF-8
        return OSFile(f"/dev/fd/{descriptor}")


def _check_cells(column: Any, name: str, path: Path) -> None:
    from pyarrow import types

    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return
    cells = column.to_pylist()
    bad = [row for row, cell in enumerate(cells) if cell is not None and not is_number(cell)]
    filled = sum(cell is not None for cell in cells)
    if filled and 0 < len(bad) < _MOSTLY * filled:
        got = f"{cells[bad[0]]!r} in row {bad[0] + 2}"
        raise InputError(f"numbers throughout the column {name!r} of {path}", got, "fix the cell or drop the column")


def csv_dialect(path: Path) -> Dialect:
    """The delimiter that gives equally many fields, more than one, in the first lines; the ending's own comes first.

    If none does, the ending decides, unless the header has another one: such a file raises an error.
    """
    own = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open("rb") as stream:
        begin = stream.read(_BYTES)
    text = begin.decode("utf-8-sig", errors="replace")
    if len(begin) == _BYTES:  # the last line may be cut
        text = text[: text.rfind("\n") + 1]
    found = {mark: _rows(text, mark) for mark in (own, *(mark for mark in _NAMES if mark != own))}
    alone = bool(found[own]) and len(found[own][0]) == 1
    if not alone:
        del found["|"]  # which stands in texts too: it separates columns where the usual separator makes none
    for mark, rows in found.items():
        if rows and len(rows[0]) > 1 and len({len(row) for row in rows}) == 1:
            return Dialect(mark, _decimal(rows) if mark != "," else ".")
    found.pop("|", None)
    for mark, rows in found.items():
        if alone and rows and len(rows[0]) > 1:
            odd = next(place for place, row in enumerate(rows) if len(row) != len(rows[0]))
            got = f"{_NAMES[mark]}, which make {len(rows[0])} in the header but {len(rows[odd])} in row {odd + 1}"
            raise InputError(
                f"columns of {path} separated by {_NAMES[own]}", got, "use the same separator in every line"
            )
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


def check_distinct(names: Iterable[str], where: str) -> None:
    """Raise an error if a name occurs more than once."""
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise InputError(f"columns of different names in {where}", f"{twice[0]!r} more than once", "rename one")
