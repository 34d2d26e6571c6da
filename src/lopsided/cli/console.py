"""What the terminal sees: tables, one JSON object, progress with time left. Nothing else in the package prints."""

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


def number(value: float | None, digits: int = 4) -> str:
    """A number for people: significant digits, a dash where it is undefined."""
    if value is None:
        return "–"
    text = f"{value:.{digits}g}"
    return f"{value:,.0f}" if abs(value) >= 10**digits and abs(value) < 1e15 else text
