"""The benchmark page, from the JSON that `lopsided bench --json` printed: each figure was measured in that run."""

import json
from pathlib import Path
from typing import Any

from generated import heading, write_page
from plain_docstrings import plain
from sphinx.application import Sphinx

_METHOD = """
``lopsided bench`` runs each file of ``bench/``: ours and its peer in the same process, one after the other, on one
thread, on the same problem. A time is the wall clock of one run, or the median of a few where a run is short. Nothing
is compared across machines. A row without a peer has none that does the same thing; a row whose note says
*extrapolated* timed a part of the peer's loop and multiplied. Run it on your machine:

.. code-block:: sh

   ./lopsided bench --quick
   ./lopsided bench collapse

"""


def bench_page(runs: list[dict[str, Any]]) -> str:
    """All stored runs, newest first."""
    parts = [".. _benchmarks:\n", heading("Benchmarks"), _METHOD]
    for run in runs:
        machine = run["machine"]
        size = ", small sizes (``--quick``)" if run["quick"] else ""
        place = f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}"
        parts.append(f"Measured on {place}{size}. {plain(run.get('note', ''))}\n")
        for name, rows in run["benchmarks"].items():
            parts.append(heading(name, "-"))
            parts.append(".. list-table::\n   :header-rows: 1\n   :widths: 34 12 24 10 34\n")
            parts.append("   * - what\n     - ours\n     - peer\n     - ratio\n     - note")
            parts += ["   * - " + "\n     - ".join(_cells(row)) for row in rows]
            parts.append("")
    return "\n".join(parts)


def _cells(row: dict[str, Any]) -> list[str]:
    ours, peer = row.get("seconds"), row.get("peer_seconds")
    return [
        plain(row["what"]),
        "–" if ours is None else f"{ours:.3g} s",
        "–" if peer is None else f"{peer:.3g} s, {plain(row['peer'])}",
        "–" if ours is None or peer is None else f"{peer / ours:,.1f}×",
        plain(row.get("note") or "") or "–",
    ]


def _write(app: Sphinx) -> None:
    source = Path(app.srcdir)
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((source / "measured").glob("bench*.json"))]
    write_page(source / "benchmarks.rst", bench_page(runs[::-1]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page before Sphinx looks for it."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
