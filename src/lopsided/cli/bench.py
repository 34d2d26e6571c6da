"""`lopsided bench`: speed against peers, measured in one run, printed as ratios."""

import runpy
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from lopsided.cli.options import AsJson

_COLUMNS = ("what", "ours", "peer", "ratio")


def command(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks to run (default: all).")] = None,
    as_json: AsJson = False,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller sizes, for a first look.")] = False,
) -> None:
    """Measure speed against peers (cvxpy, PyTorch, plain loops)."""
    from lopsided.cli.console import print_json, print_line, print_table
    from lopsided.cli.progress import status_line
    from lopsided.core.errors import InputError, LopsidedError
    from lopsided.core.provenance import machine

    folder = Path(__file__).resolve().parents[3] / "bench"
    if not folder.is_dir():
        raise LopsidedError("The folder bench/ was not found; run this from a clone of the repository.")
    found = {path.stem: path for path in sorted(folder.glob("[a-z]*.py"))}
    unknown = [name for name in names or [] if name not in found]
    if unknown:
        raise InputError(f"benchmarks among {', '.join(found)}", ", ".join(unknown))
    results: dict[str, list[dict[str, Any]]] = {}
    chosen = names or list(found)
    complete = False
    try:
        for name in chosen:
            results[name] = []
            try:
                with status_line(f"{name}: measuring") as say:
                    for row in _load(found[name])(quick):
                        if "doing" in row:
                            say(f"{name}: {row['doing']}")
                            continue
                        results[name].append(row)
                        say(f"{name}: {len(results[name])} measured, the last: {row['what']}")
            finally:  # interrupted, the rows that were measured are still shown
                if results[name] and not as_json:
                    print_table(name, _COLUMNS, [_cells(row) for row in results[name]])
                    for row in results[name]:  # notes hold figures, which a table would cut
                        if row.get("note"):
                            print_line(f"{row['what']}: {row['note']}")
        complete = True
    finally:
        if as_json:
            print_json({"machine": machine(), "quick": quick, "complete": complete, "benchmarks": results})


def _load(path: Path) -> Callable[[bool], Iterable[dict[str, Any]]]:
    """Each file of bench/ defines run(quick), which gives rows: what, seconds, peer, peer_seconds, note; or doing,
    how far it is."""
    if (root := str(path.parents[1])) not in sys.path:
        sys.path.append(root)  # what several of them share is imported as bench.laws
    function: Callable[[bool], Iterable[dict[str, Any]]] = runpy.run_path(str(path))["run"]
    return function


def _cells(row: dict[str, Any]) -> list[str]:
    seconds, peer = row.get("seconds"), row.get("peer_seconds")
    return [
        row["what"],
        "–" if seconds is None else f"{seconds:.4g} s",
        "–" if peer is None else f"{peer:.4g} s ({row['peer']})",
        "–" if seconds is None or peer is None else f"{peer / seconds:,.1f}x",
    ]
