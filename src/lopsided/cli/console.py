"""What the terminal sees: tables and one JSON object. With `cli.progress`, all that the package prints."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lopsided.cli.printable import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


MOST_ROWS = 1000  # a longer table is not read, and takes minutes to lay out


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
    """A line that may hold names out of data."""
    print(printable(text))


def safe_text(text: str, style: str = "") -> "Text":
    """For tables: neither rich's markup nor the terminal's controls are obeyed."""
    from rich.text import Text

    return Text(printable(text), style=style)


def wide_console() -> "Console":
    """As wide as the terminal; in a file or a pipe, which have no width, 120 letters unless COLUMNS says otherwise."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = 120
    return console


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers_from: int = 1,
    numbers_to: int | None = None,
) -> None:
    """A table; the columns from `numbers_from` on, up to `numbers_to` where given, are right-aligned."""
    from rich import box
    from rich.table import Table

    numbers = range(len(columns))[numbers_from:numbers_to]

    table = Table(title=safe_text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for position, column in enumerate(columns):
        table.add_column(safe_text(column), justify="right" if position in numbers else "left")
    for row in rows[:MOST_ROWS]:
        table.add_row(*[safe_text(cell) for cell in row])
    wide_console().print(table)
    if len(rows) > MOST_ROWS:
        print(f"The first {MOST_ROWS:,} of {len(rows):,} rows; --json prints all.")


def print_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of words: the first column whole, the others wrapped to the width of the terminal."""
    from rich import box
    from rich.table import Table

    table = Table(title=safe_text(title) if title else None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for position, column in enumerate(columns):
        last = position == len(columns) - 1
        table.add_column(safe_text(column), no_wrap=position == 0, overflow="fold", ratio=3 if last else None)
    for row in rows[:MOST_ROWS]:
        table.add_row(*[safe_text(cell) for cell in row])
    wide_console().print(table)
    if len(rows) > MOST_ROWS:
        print(f"The first {MOST_ROWS:,} of {len(rows):,} rows; --json prints all.")


def print_facts(rows: Sequence[tuple[str, str]]) -> None:
    """Names and values in two columns."""
    from rich.table import Table

    table = Table.grid(padding=(0, 3))
    for name, value in rows:
        table.add_row(safe_text(name, "dim"), safe_text(value))
    wide_console().print(table)
