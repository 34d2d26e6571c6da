"""`lopsided demo`: the main job on a long tail made of scikit-learn's digits."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lopsided.cli.options import AsJson

if TYPE_CHECKING:
    from lopsided.checkup.digits_demo import DigitsDemo


def command(
    out: Annotated[str, typer.Option(help="The report to write (.html, or .png with the picture).")] = (
        "lopsided-demo.html"
    ),
    seed: Annotated[int, typer.Option(help="Seed of the split, the networks and the folds.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """See it work on embedded data: train on long-tailed digits, audit, forecast, try remedies. Under a minute."""
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
    if not as_json:
        _show(demo)
        print_line(f"Report: {target} ({seconds:.1f} s)" if target else f"{seconds:.1f} s")
        late.tell()
        return
    print_json(
        {
            "counts": demo.counts,
            "weight_decay": demo.weight_decay,
            "findings": demo.audit.findings,
            "skipped": demo.audit.skipped,
            "plan": demo.plan.to_dict(),
            **{name: value for name, value in demo.trial.to_dict().items() if name in ("arms", "winner", "tied_with")},
            "best_forecast": demo.best_forecast,
            "held_out_recall": demo.held_out_recall,
            "report": target,
            "seconds": seconds,
        }
    )
    late.tell()


def _show(demo: "DigitsDemo") -> None:
    from lopsided.cli.audit import print_alarms
    from lopsided.cli.console import print_table
    from lopsided.cli.trial import print_trial

    print_alarms(demo.audit)
    print_trial(demo.trial)
    plain = demo.held_out_recall["plain"].mean()
    rows = [
        [name, f"{recall.mean():.3f}", f"{recall.mean() - plain:+.3f}"] for name, recall in demo.held_out_recall.items()
    ]
    held_out = "On held-out digits, which plan and trial never saw"
    print_table(held_out, ("arm", "balanced accuracy", "gain"), rows)
