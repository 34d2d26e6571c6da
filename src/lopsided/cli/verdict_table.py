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
_GAP = 2  # columns between two cells


def print_verdicts(
    rows: Sequence[tuple[str, ...]],
    columns: Sequence[str] = ("claim", "verdict", "what was found"),
    *,
    one_line: bool = False,
) -> None:
    """A table whose second column is a verdict and whose last takes the space that is left (`one_line`: cut there)."""
    from rich import box
    from rich.table import Table

    from lopsided.cli.console import safe_text, wide_console

    console = wide_console()
    fixed = len(columns) - 1
    widths = [max(len(cells[position]) for cells in [columns, *rows]) for position in range(fixed)]
    left = max(console.width - sum(widths) - (_GAP + 1) * fixed - 2, 12)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column, width in zip(columns[:fixed], widths, strict=True):
        table.add_column(column, width=width)
    table.add_column(columns[fixed], overflow="fold")
    for claim, verdict, *others in rows:
        words = others[-1] if not one_line or len(others[-1]) <= left else others[-1][: left - 1] + "…"
        cells = [
            safe_text(claim),
            safe_text(verdict, COLOURS.get(verdict, "")),
            *[safe_text(cell) for cell in others[:-1]],
        ]
        table.add_row(*cells, safe_text(words))
    console.print(table)
