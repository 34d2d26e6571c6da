"""Verdicts in the terminal: one line each, coloured."""

from collections.abc import Sequence
from typing import Literal

COLOURS = {
    "holds": "green",
    "partly": "yellow",
    "fails": "red",
    "contradicted": "magenta",
    "not run": "bright_black",
    "broken": "bold red",
}


def print_verdicts(
    rows: Sequence[tuple[str, ...]],
    columns: Sequence[str] = ("claim", "verdict", "what was found"),
    *,
    one_line: bool = False,
) -> None:
    """A table whose second column is a verdict and whose last takes the space that is left (`one_line`: cut there)."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for position, column in enumerate(columns):
        last = position == len(columns) - 1
        widest = 0 if last else max(len(cells[position]) for cells in [columns, *rows])
        overflow: Literal["ellipsis", "fold"] = "ellipsis" if last and one_line else "fold"
        table.add_column(column, no_wrap=one_line or not last, overflow=overflow, min_width=widest)
    for claim, verdict, *others in rows:
        table.add_row(Text(claim), Text(verdict, style=COLOURS.get(verdict, "")), *[Text(cell) for cell in others])
    Console(highlight=False).print(table)
