"""`lopsided claims`: the register with the latest verdicts."""

from typing import Annotated

import typer

from lopsided.cli.options import DataFolder, StoreFolder


def command(
    paper: Annotated[list[str] | None, typer.Option(help="Only this paper: lp, gi, bo or sd.")] = None,
    store: StoreFolder = None,
    data_dir: DataFolder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """List every claim of the papers with its latest verdict."""
    from lopsided.cli.console import print_json, print_line, print_verdicts
    from lopsided.core.errors import InputError
    from lopsided.papers.cost import QUICK_BUDGET
    from lopsided.papers.register import claims, same_text

    lines = claims(store=store, data=data_dir)
    known = list(dict.fromkeys(line.paper for line in lines))
    for name in paper or []:
        if name not in known:
            raise InputError(f"a paper among {', '.join(known)}", repr(name))
    shown = [line for line in lines if not paper or line.paper in paper]
    if as_json:
        print_json(shown)
        return
    print_verdicts(
        [
            (
                line.id,
                line.verdict + " *" * line.own,
                same_text(line.seed_sets),
                line.scale or "",
                (line.time or "")[:10],
                line.found if line.time else line.statement,
            )
            for line in shown
        ],
        ("claim", "verdict", "same in", "scale", "date", "result, or statement"),
        one_line=True,
    )
    # "at most": what ships from the first runs holds their clock time, on a busy machine
    spent = [line.seconds for line in shown if line.seconds is not None and line.scale == "quick"]
    if spent:
        print_line(
            f"One seed set at quick scale takes at most {sum(spent) / 60:.0f} minutes of one core for the {len(spent)} "
            f"claims that were run (budget for all {len(lines)}: {QUICK_BUDGET / 60:.0f})."
        )
    if any(line.own for line in shown):
        print_line("* your own run")
    shipped = [line for line in shown if line.time and not line.own]
    if shipped:
        versions, scales = {line.lopsided for line in shipped}, {line.scale for line in shipped}
        days = sorted({str(line.time)[:10] for line in shipped})
        when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        what = f"{', '.join(map(str, scales))} scale, {when}"
        print_line(
            f"These verdicts ship with lopsided {', '.join(map(str, versions))} ({what}); your own runs replace them."
        )
    waiting = sum(line.exploratory for line in lines if line.time)
    if waiting:
        said = "1 verdict is" if waiting == 1 else f"{waiting} verdicts are"
        print_line(f"{said} exploratory: not yet confirmed on fresh seeds under the present rule.")
