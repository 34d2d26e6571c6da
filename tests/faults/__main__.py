"""`./test --faults [parts]`: the campaign, its table, and its record in JSON.

Parts: bad-input, crashes, crowds, numbers, rearranged, server, memory, fuzzing; all when none is named. Exit code 1 if
anything was lost. `--short` runs the form that CI runs, `--json FILE` writes the record that the documentation shows;
rows of other parts that stand there stay, so that parts can be run one by one.
"""

import argparse
import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.faults import bad_input, clients, crashes, crowds, disk, fuzz, memory, numbers, rearranged
from tests.faults.tally import Row, print_table, record, total

PARTS = {
    "bad-input": [bad_input.run],
    "crashes": [crashes.run, disk.run],
    "crowds": [crowds.run],
    "numbers": [numbers.run],
    "rearranged": [rearranged.run],
    "server": [clients.run],
    "memory": [memory.run],
    "fuzzing": [fuzz.run],
}


def main() -> int:
    """Run, print, record."""
    parser = argparse.ArgumentParser(prog="./test --faults", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all when none is named")
    parser.add_argument("--short", action="store_true", help="the form that CI runs")
    parser.add_argument("--json", type=Path, help="write the record to this file")
    chosen = parser.parse_args()
    os.environ.setdefault("MPLBACKEND", "Agg")
    began = time.monotonic()
    rows: list[Row] = []
    for name in chosen.parts or PARTS:
        for run in PARTS[name]:
            rows += run("short" if chosen.short else "full")
            print(f"{name}: {time.monotonic() - began:.0f} s, lost so far {len(total(rows).lost)}", file=sys.stderr)
    print_table(rows)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(facts(rows, chosen.json), indent=1, ensure_ascii=False) + "\n")
    return 1 if total(rows).lost else 0


def facts(rows: list[Row], before: Path) -> dict[str, object]:
    """Version, date, machine and rows; those of kinds that were not run now are taken from the record before."""
    import lopsided
    from lopsided.core.provenance import machine

    new = {(row["part"], row["what"]): row for row in record(rows)}
    old = json.loads(before.read_text())["rows"] if before.exists() else []
    merged = {(row["part"], row["what"]): row for row in old if row["part"] not in {row.part for row in rows}} | new
    order = ["bad input", "crashes", "crowds", "numbers", "rearranged", "server", "memory", "fuzzing"]
    return {
        "version": lopsided.__version__,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "rows": sorted(merged.values(), key=lambda row: order.index(row["part"])),
    }


if __name__ == "__main__":
    sys.exit(main())
