"""`lopsided demo`: forecast and remedy on a long tail made of scikit-learn's digits."""

from typing import Annotated

import typer


def command(
    out: Annotated[str, typer.Option(help="The report to write (.html or .png).")] = "lopsided-demo.html",
    seed: Annotated[int, typer.Option(help="Seed of the split and of the networks.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """See it work on embedded data: train on long-tailed digits, forecast, mend, compare. Some seconds."""
    import time

    from lopsided.cli.console import print_json, print_table, status_line
    from lopsided.report.drawing import check_plot_path, write_figure

    target = check_plot_path(out)
    began = time.perf_counter()
    with status_line("training two small networks", quiet=as_json):
        from lopsided.checkup.digits_demo import demo_figure, digits_demo

        demo = digits_demo(seed)
    forecast, failed = demo.forecast_and_failed
    facts = [
        ("examples a class needs", f"{demo.forecast.count_needed:.3g} (forecast from counts and weight decay)"),
        ("forecast to collapse", _classes(forecast)),
        ("recalled in fewer than 1 case of 10", _classes(failed)),
        ("balanced accuracy, plain", f"{demo.plain.balanced_accuracy:.3f}"),
        ("balanced accuracy, oversampled", f"{demo.remedied.balanced_accuracy:.3f}"),
    ]
    write_figure(target, demo_figure(demo), facts=facts, footer=f"lopsided demo --seed {seed}")
    seconds = time.perf_counter() - began
    if as_json:
        print_json(
            {
                "counts": demo.counts,
                "count_needed": demo.forecast.count_needed,
                "collapsed": forecast,
                "failed": failed,
                "recall": demo.plain.recall,
                "rates": demo.rates,
                "recall_oversampled": demo.remedied.recall,
                "report": str(target),
                "seconds": seconds,
            }
        )
        return
    from lopsided.cli.console import print_facts

    rows = [
        [str(k), str(count), f"{margin:.2f}", f"{before:.2f}", f"{rate:.1f}", f"{after:.2f}"]
        for k, (count, margin, before, rate, after) in enumerate(
            zip(
                demo.counts,
                demo.forecast.solution.margins,
                demo.plain.recall,
                demo.rates,
                demo.remedied.recall,
                strict=True,
            )
        )
    ]
    columns = ("digit", "examples", "forecast margin", "recall", "rate", "recall, oversampled")
    print_table("Long-tailed digits", columns, rows)
    print_facts(facts)
    print(f"Report: {target} ({seconds:.1f} s)")


def _classes(indices: list[int]) -> str:
    return ", ".join(f"digit {index}" for index in indices) or "none"
