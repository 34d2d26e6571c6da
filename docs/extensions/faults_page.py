"""The table of the fault campaign, from the JSON that `./test --faults --json` wrote."""

import json
from pathlib import Path
from typing import Any

from generated import write_page
from sphinx.application import Sphinx


def faults_table(run: dict[str, Any]) -> str:
    """One run: version, date, machine, and a row per kind of fault."""
    machine = run["machine"]
    rows = run["rows"]
    place = f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}"
    lines = [
        f"lopsided {run['version']}, {run['date']}, {place}.",
        *([run["note"]] if "note" in run else []),
        "*Answered*: a result came, and the right one where that is known. *Refused*: one sentence came.",
        "",
        "| part | what was tried | tried | answered | refused | lost |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        what = row["what"] + (f" ({row['note']})" if row["note"] else "")
        counts = " | ".join(f"{row[name]:,}" for name in ("tried", "answered", "refused", "lost"))
        lines.append(f"| {row['part']} | {what.replace('|', ',')} | {counts} |")
    sums = " | ".join(f"**{sum(row[name] for row in rows):,}**" for name in ("tried", "answered", "refused", "lost"))
    return "\n".join([*lines, f"| **all** | | {sums} |", ""])


def _write(app: Sphinx) -> None:
    source = Path(app.srcdir)
    kept = source / "measured/faults.json"
    text = "No run of this version has been recorded yet; `./test --faults --json docs/measured/faults.json` does.\n"
    if kept.exists():
        text = faults_table(json.loads(kept.read_text(encoding="utf-8")))
    write_page(source / "faults-table.md", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the table before Sphinx looks for it."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
