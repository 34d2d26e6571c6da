"""`lopsided demo`: the main job on a long tail made of scikit-learn's digits."""

from pathlib import Path
from typing import Annotated

import typer

from lopsided.cli.options import AsJson

SEED = 1  # of 0 to 9, the one with the median gain on held-out digits (`lopsided bench demo`)
_OF_THE_TRIAL = ("arms", "recommendation", "winner", "tied_with")


def command(
    out: Annotated[str, typer.Option(help="Report to write (.html, or .png for the picture alone).")] = (
        "lopsided-demo.html"
    ),
    seed: Annotated[int, typer.Option(help="Random seed of the split, the networks and the folds.", min=0)] = SEED,
    as_json: AsJson = False,
) -> None:
    """Train on long-tailed digits, audit, and try remedies.

    Needs no data and takes under a minute. Ends with a recommendation and with what held-out digits showed.
    """
    import tempfile
    import time

    from lopsided.cli.console import Late, print_json, print_line
    from lopsided.cli.progress import progress_tasks
    from lopsided.report.audit import write_demo
    from lopsided.report.drawing import check_plot_path

    target: Path | None = check_plot_path(out)
    began = time.perf_counter()
    with progress_tasks("trial") as progress, tempfile.TemporaryDirectory() as store:
        from lopsided.checkup.digits_demo import digits_demo
        from lopsided.engine.threads import one_thread

        with one_thread():
            demo = digits_demo(store, seed, progress=progress)
    late = Late()
    target = late.write(write_demo, target, demo)
    seconds = time.perf_counter() - began
    lines = demo.lines(demo.audit.headline())
    if not as_json:
        for line in lines:
            print_line(line)
        print_line(f"Report with all tables: {target} ({seconds:.1f} s)" if target else f"{seconds:.1f} s")
        late.tell()
        return
    print_json(
        {
            **{name: getattr(demo, name) for name in ("counts", "weight_decay", "best_forecast", "held_out_recall")},
            "findings": demo.audit.findings,
            "skipped": demo.audit.skipped,
            "plan": demo.plan.to_dict(),
            **{name: value for name, value in demo.trial.to_dict().items() if name in _OF_THE_TRIAL},
            "lines": lines,
            "report": target,
            "seconds": seconds,
        }
    )
    late.tell()
