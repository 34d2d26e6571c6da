"""`lopsided reproduce`: rerun a paper's claims and print the verdicts."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lopsided.cli import options
from lopsided.cli.options import DataFolder, StoreFolder, folder

if TYPE_CHECKING:
    from lopsided.papers.reproduce import Run


def command(
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of claims; lopsided claims lists them.")] = None,
    paper: Annotated[list[str] | None, typer.Option(help="All claims of a paper: lp, gi, bo or sd.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every claim.")] = False,
    scale: Annotated[
        Literal["quick", "paper"],
        typer.Option(
            help="quick (seconds per claim) or paper (the paper's sizes; prints an estimate of the time first)."
        ),
    ] = "quick",
    seeds: Annotated[int | None, typer.Option(help="Number of seeds (default: each claim's own).")] = None,
    seed_set: Annotated[
        int, typer.Option(help="Which set of seeds to use. Sets do not overlap, and stored sets are pooled.")
    ] = 0,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Run the claims that are not confirmed yet, on fresh seeds.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(help="Number of processes (default: all cores).")] = None,
    cluster: options.ClusterAddress = None,
    tls_ca: options.TlsCa = None,
    tls_cert: options.TlsCert = None,
    tls_key: options.TlsKey = None,
    store: StoreFolder = None,
    data_dir: DataFolder = None,
    device: Annotated[
        Literal["cpu", "cuda"] | None, typer.Option(help="Train networks on the CPU (default) or on a GPU.")
    ] = None,
    out: Annotated[Path | None, folder("Write the results as web pages into this folder.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do not reuse stored results.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Rerun claims of the papers and judge them.

    Reuses stored results, resumes after an interruption and can write the results as web pages. The exit code is 0
    whatever the verdicts, and 1 only if a run failed.
    """
    given = dict(locals())
    from lopsided.cli.console import Late, print_json
    from lopsided.cli.progress import progress_tasks, stop_on_sigterm
    from lopsided.core.errors import InputError
    from lopsided.papers.reproduce import reproduce

    if out is not None and os.path.exists(out) and not out.is_dir():
        raise InputError("a folder for the site", f"the file {out}", "name another with --out")
    stop_on_sigterm()
    with progress_tasks("claims") as progress:
        workers = options.cluster(cluster, tls_ca, tls_cert, tls_key)
        renamed = {"ids": ids or [], "papers": paper or [], "cluster": workers, "data": data_dir}
        run = reproduce(**options.options_for(reproduce, given, **renamed, progress=progress, tell=_tell))
    index, late = None, Late()
    if out is not None:
        from lopsided.papers.site import write_site
        from lopsided.skill.benchmark import published
        from lopsided.skill.page import skill_page

        index = late.write(write_site, run, out, skill_page=skill_page(published()))
    if as_json:
        print_json(run.claims)
    else:
        _print(run, index)
    late.tell()
    if run.broken:
        raise typer.Exit(1)


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _print(run: "Run", index: Path | None) -> None:
    from collections import Counter

    from lopsided.cli.console import print_line, print_verdicts
    from lopsided.papers.register import same_text

    print_verdicts(
        [
            (claim.id, "broken" if claim.broken else claim.verdict, same_text(claim.seed_sets), claim.found)
            for claim in run.claims
        ],
        ("claim", "verdict", "same in", "what was found"),
    )
    tally = Counter("broken" if claim.broken else claim.verdict for claim in run.claims)
    tasks, reused = sum(claim.tasks for claim in run.claims), sum(claim.reused for claim in run.claims)
    print(
        f"{', '.join(f'{count} {word}' for word, count in tally.items())}; {tasks} tasks, {reused} of them from the "
        f"store; {run.seconds:.1f} s"
    )
    if index is not None:
        print_line(f"site: {index}")
