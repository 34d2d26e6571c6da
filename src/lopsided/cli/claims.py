"""`lopsided claims`: the register with the latest verdicts."""

from pathlib import Path
from typing import Annotated

import typer

from lopsided.cli.options import folder


def command(
    paper: Annotated[list[str] | None, typer.Option(help="Only this paper: lp, gi, bo or sd.")] = None,
    store: Annotated[Path | None, folder("Folder of results; else LOPSIDED_STORE, else ./lopsided-results.")] = None,
    data_dir: Annotated[Path | None, folder("Folder with the data sets; else LOPSIDED_DATA.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """List every claim of the papers with its latest verdict, or why there is none."""
    from lopsided.cli.console import print_json
    from lopsided.cli.verdict_table import print_verdicts
    from lopsided.core.errors import InputError
    from lopsided.papers.verdicts import claims

    lines = claims(store=store, data=data_dir)
    known = list(dict.fromkeys(line.paper for line in lines))
    for name in paper or []:
        if name not in known:
            raise InputError(f"a paper among {', '.join(known)}", repr(name), "name one of those")
    lines = [line for line in lines if not paper or line.paper in paper]
    if as_json:
        print_json(lines)
        return
    print_verdicts(
        [
            (
                line.id,
                line.verdict,
                (line.time or "")[:10],
                line.scale or "",
                line.found if line.time else line.statement,
            )
            for line in lines
        ],
        ("claim", "verdict", "date", "scale", "found, or claimed"),
        one_line=True,
    )
