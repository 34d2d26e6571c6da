"""How a result shows itself in a notebook: a sentence above plain tables, everything escaped."""

import html
from collections.abc import Sequence

MOST_ROWS = 40
_LEFT = 'style="text-align:left"'
NotebookTable = tuple[Sequence[str], Sequence[Sequence[object]]]  # headings, rows


def notebook_view(headline: str, *tables: NotebookTable) -> str:
    """HTML for `_repr_html_`; tables without rows are left out, long ones are cut and say so."""
    parts = [f"<p><b>{html.escape(headline)}</b></p>"]
    for heads, rows in tables:
        lines = ["".join(f'<th scope="col" {_LEFT}>{html.escape(head)}</th>' for head in heads)]
        lines += ["".join(f"<td {_LEFT}>{html.escape(_cell(cell))}</td>" for cell in row) for row in rows[:MOST_ROWS]]
        if rows:
            parts.append(f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>")
        if len(rows) > MOST_ROWS:
            parts.append(f"<p>The first {MOST_ROWS} of {len(rows):,} rows.</p>")
    return "".join(parts)


def _cell(value: object) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
