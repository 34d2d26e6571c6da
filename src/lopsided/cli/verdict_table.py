"""Verdicts in the terminal: one line each, coloured."""

from collections.abc import Sequence

COLOURS = {
    "holds": "green",
    "partly": "yellow",
    "fails": "red",
    "contradicted": "magenta",
    "not run": "bright_black",
    "broken": "bold red",
}


def print_verdicts(
    rows: Sequence[tuple[str, ...]], columns: Sequence[str] = ("claim", "verdict", "what was found")
) -> None:
    """A table whose second column is a verdict and whose last takes the space that is left."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for position, column in enumerate(columns):
        table.add_column(column, no_wrap=position < len(columns) - 1, overflow="fold")
    for claim, verdict, *others in rows:
        table.add_row(Text(claim), Text(verdict, style=COLOURS.get(verdict, "")), *[Text(cell) for cell in others])
    Console(highlight=False).print(table)
