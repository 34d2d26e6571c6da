"""What the terminal sees: tables and one JSON object. With `cli.progress`, all that the package prints."""

import sys
from collections.abc import Sequence
from typing import Any


def print_json(value: Any) -> None:
    """One JSON object on standard output and nothing else."""
    from lopsided.core.jsonable import dump_json

    sys.stdout.write(dump_json(value, indent=2) + "\n")


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, numbers_from: int = 1) -> None:
    """A table; the columns from `numbers_from` on are right-aligned."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for position, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if position >= numbers_from else "left")
    for row in rows:
        table.add_row(*[Text(cell) for cell in row])  # Text, so that names with brackets are not read as markup
    Console(highlight=False).print(table)


def print_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of words: the first column whole, the others wrapped to the width of the terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title) if title else None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for position, column in enumerate(columns):
        last = position == len(columns) - 1
        table.add_column(Text(column), no_wrap=position == 0, overflow="fold", ratio=3 if last else None)
    for row in rows:
        table.add_row(*[Text(cell) for cell in row])
    Console(highlight=False).print(table)


def print_facts(rows: Sequence[tuple[str, str]]) -> None:
    """Names and values in two columns."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 3))
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(value))
    Console(highlight=False).print(table)
