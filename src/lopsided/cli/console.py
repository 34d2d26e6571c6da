"""What the terminal sees: lines, tables and one JSON object. With `cli.progress`, all that the package prints.

Text that came out of data or file names is made safe first: control characters are shown, not obeyed.
"""

import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from lopsided.core.errors import LopsidedError

MOST_ROWS = 1000  # a longer table is not read, and takes minutes to lay out
MOST_LETTERS = 240  # of one value of a record: three lines of a terminal; --json prints it whole
_MOST_CELLS = 20_000  # of records of many columns
VERDICT_COLOURS = {
    "holds": "green",
    "partly": "yellow",
    "fails": "red",
    "contradicted": "magenta",
    "unresolved": "cyan",
    "not run": "bright_black",
    "broken": "bold red",
}
_GAP = 2  # columns between two cells
_LEAST_WORDS = 16  # letters of a last column that are worth showing
_LEAST_NAME = 24  # letters of a row's name that are shown before columns are
_LEAST_SENTENCE = 30  # letters of a cut sentence that still say something
# Controls except tab and newline (an escape sequence can repaint or rename a terminal), lone surrogates (no encoding
# has them), line separators, and the marks that turn the direction of text.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""The text with unsafe characters written as Python writes them, such as \x1b."""
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text)


def one_sentence(text: str, most: int = 1000) -> str:
    """One line of at most `most` characters; a longer line loses its middle, so that the advice at its end stays."""
    line = printable(" ".join(text.split()))
    if len(line) <= most:
        return line
    return f"{line[: most * 2 // 3]} ... {line[len(line) - most // 3 + 5 :]}"


class Late:
    """Writes files besides printing. A failed write is reported after the results, so these are not lost."""

    def __init__(self) -> None:
        self._error: LopsidedError | None = None

    def write(self, write: Callable[..., Any], *arguments: Any, **named: Any) -> "Path | None":
        """What `write` returns; None where it failed."""
        from lopsided.core.files import WriteError

        try:
            written: Path = write(*arguments, **named)
            return written
        except WriteError as error:
            self._error = self._error or error
            return None

    def tell(self) -> None:
        """Raise the first failure."""
        if self._error is not None:
            raise self._error


def print_json(value: Any) -> None:
    """One JSON object on standard output and nothing else."""
    from lopsided.core.jsonable import dump_json

    text = dump_json(value, indent=2)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # a terminal that lacks a letter, or a name that is no text: JSON can write both
        text = dump_json(value, indent=2, ascii_only=True)
    sys.stdout.write(text + "\n")


def print_line(text: str) -> None:
    """A line that may contain names from data; on a terminal it is wrapped at words."""
    safe = printable(text)
    if sys.stdout.isatty():
        from textwrap import fill

        safe = fill(safe, _wide_console().width, break_long_words=False, break_on_hyphens=False)
    print(safe)


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers_from: int = 1,
    numbers_to: int | None = None,
) -> None:
    """A table with one line a row; the columns from `numbers_from` on, up to `numbers_to` where given, are
    right-aligned. Where it is wider than the terminal, words in the last column are cut; else see `print_lines`."""
    numbers = range(len(columns))[numbers_from:numbers_to]
    widths = _widths(columns, rows)
    room = _wide_console().width - sum(widths[:-1]) - (_GAP + 1) * len(columns) + 1
    cut = len(columns) - 1 not in numbers and room >= _LEAST_WORDS
    if widths[-1] > room and not cut:
        print_lines(title, columns, rows)
        return
    table = _table(title=_safe_text(title))
    for position, column in enumerate(columns):
        justify: Literal["left", "right"] = "right" if position in numbers else "left"
        last = position == len(columns) - 1
        width = min(widths[-1], max(room, 1)) if last else widths[position]
        table.add_column(_safe_text(column), justify=justify, no_wrap=True, overflow="ellipsis", width=width)
    _print_cells(table, rows)


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Letters that every column takes."""
    from rich.cells import cell_len

    return [
        max(cell_len(printable(row[place])) for row in [columns, *rows[:MOST_ROWS]]) for place in range(len(columns))
    ]


def print_lines(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table with one line a row: a first column too long for what the others leave is cut, headings are broken, and
    columns for which there is no room follow in a table of their own."""
    from textwrap import fill

    from rich.cells import cell_len

    console = _wide_console()
    cells = [max((cell_len(row[place]) for row in rows), default=0) for place in range(len(columns))]
    words = [max(map(len, column.split()), default=0) for column in columns]
    widths = [max(pair) + _GAP + 1 for pair in zip(cells, words, strict=True)]
    heads = [fill(column, max(width - _GAP - 1, 1)) for column, width in zip(columns, widths, strict=True)]
    rest = list(range(1, len(columns)))
    console.print(_safe_text(title, "italic"))
    while rest:
        left, shown = console.width - 2 - min(widths[0], _LEAST_NAME), [rest.pop(0)]
        while rest and sum(widths[place] for place in [*shown, rest[0]]) <= left:
            shown.append(rest.pop(0))
        room = console.width - sum(widths[place] for place in shown) - 2  # the edges
        table = _table()
        table.add_column(_safe_text(heads[0]), no_wrap=True, overflow="ellipsis", max_width=max(room, 1))
        for place in shown:
            table.add_column(_safe_text(heads[place]), no_wrap=True, justify="right")
        _print_cells(table, [[row[0], *(row[place] for place in shown)] for row in rows])


def print_records(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table with one line a row where it fits into the terminal, else one block of lines a row: column and value."""
    if sum(_widths(columns, rows)) + (_GAP + 1) * len(columns) <= _wide_console().width:
        print_table("", columns, rows, numbers_from=len(columns))
        return
    names = [one_sentence(column, MOST_LETTERS // 2) for column in columns]
    width, shown = max(map(len, names)), min(MOST_ROWS, max(1, _MOST_CELLS // len(names)))
    for number, row in enumerate(rows[:shown], start=1):
        print(f"row {number}")
        for name, cell in zip(names, row, strict=True):
            print(f"  {name:<{width}}  {one_sentence(cell, MOST_LETTERS)}")
    if len(rows) > shown:
        print(f"The first {shown:,} of {len(rows):,} rows; --json prints all.")


def print_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of words: the first column whole, the others wrapped to the width of the terminal."""
    table = _table(title=_safe_text(title) if title else None)
    for position, column in enumerate(columns):
        last = position == len(columns) - 1
        table.add_column(_safe_text(column), no_wrap=position == 0, overflow="fold", ratio=3 if last else None)
    _print_cells(table, rows)


def print_verdicts(
    rows: Sequence[tuple[str, ...]],
    columns: Sequence[str] = ("claim", "verdict", "what was found"),
    *,
    one_line: bool = False,
) -> None:
    """A table with a coloured verdict as second column; the last takes the space that is left. `one_line`: the last is
    cut, and columns before it are dropped on a narrow terminal."""
    console, table = _wide_console(), _table()
    widths = [max(len(cells[position]) for cells in [columns, *rows]) for position in range(len(columns) - 1)]
    fixed = len(widths)
    while one_line and fixed > 2 and console.width - sum(widths[:fixed]) - (_GAP + 1) * fixed - 2 < _LEAST_SENTENCE:
        fixed -= 1
    columns, widths = (*columns[:fixed], columns[-1]), widths[:fixed]
    left = max(console.width - sum(widths) - (_GAP + 1) * fixed - 2, 12)
    for column, width in zip(columns[:fixed], widths, strict=True):
        table.add_column(column, width=width)
    table.add_column(columns[fixed], overflow="fold")
    for row in rows:
        words = row[-1] if not one_line or len(row[-1]) <= left else row[-1][: left - 1] + "…"
        styles = ["", VERDICT_COLOURS.get(row[1], ""), *[""] * (fixed - 1)]
        table.add_row(*[_safe_text(cell, style) for cell, style in zip((*row[:fixed], words), styles, strict=True)])
    console.print(table)


def print_facts(rows: Sequence[tuple[str, str]]) -> None:
    """Names and values in two columns."""
    from rich.table import Table

    table = Table.grid(padding=(0, 3))
    for name, value in rows:
        table.add_row(_safe_text(name, "dim"), _safe_text(value))
    _wide_console().print(table)


def _safe_text(text: str, style: str = "") -> "Text":
    """For tables: neither rich's markup nor the terminal's controls are obeyed."""
    from rich.text import Text

    return Text(printable(text), style=style)


def _wide_console() -> "Console":
    """As wide as the terminal; in a file or a pipe, which have no width, 120 letters unless COLUMNS says otherwise."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = 120
    return console


def _table(title: "Text | None" = None) -> "Table":
    from rich import box
    from rich.table import Table

    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)


def _print_cells(table: "Table", rows: Sequence[Sequence[str]]) -> None:
    for row in rows[:MOST_ROWS]:
        table.add_row(*[_safe_text(cell) for cell in row])
    _wide_console().print(table)
    if len(rows) > MOST_ROWS:
        print(f"The first {MOST_ROWS:,} of {len(rows):,} rows; --json prints all.")
