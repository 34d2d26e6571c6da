"""`lopsided trial`: remedies side by side on the user's data, cross-validated, beside their forecasts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lopsided.cli import options

if TYPE_CHECKING:
    from lopsided.checkup.trial.arm import Arm
    from lopsided.checkup.trial.result import Trial


def command(
    data: options.Data,
    labels: options.Labels = None,
    many_classes: options.ManyClasses = False,
    name: options.Name = None,
    groups: options.Groups = None,
    features: options.FeaturesOption = None,
    split: options.SplitOption = None,
    split_by: options.SplitBy = None,
    time: options.Time = None,
    sample_weight: options.SampleWeight = None,
    weight_decay: options.WeightDecay = None,
    learning_rate: options.LearningRate = None,
    batch_size: options.BatchSize = None,
    momentum: options.Momentum = None,
    learner: options.LearnerOption = "logistic",
    arms: options.Arms = None,
    metric: options.MetricOption = None,
    costs: options.Costs = None,
    group: options.GroupOption = None,
    folds: Annotated[int, typer.Option(help="Number of folds.")] = 5,
    repeats: Annotated[int, typer.Option(help="Number of repeats, each with new folds.")] = 2,
    budget: Annotated[
        str | None, typer.Option(help="Time limit such as 60s or 2m; arms that cannot win any more are dropped.")
    ] = None,
    recalibrate: Annotated[
        bool, typer.Option("--recalibrate", help="Calibrate probabilities on held-out rows.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(help="Number of processes (default: all cores).")] = None,
    store: Annotated[
        Path | None,
        options.folder("Folder that keeps finished folds (default: $LOPSIDED_STORE or ./lopsided-results)."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do not reuse stored results.")] = False,
    report: Annotated[Path | None, typer.Option(help="Report to write (.html, or .png for the figures alone).")] = None,
    export: options.Export = None,
    seed: Annotated[int, typer.Option(help="Random seed of the folds and of the learners.", min=0)] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Compare remedies on your data by cross-validation.

    Each measured gain is shown next to its forecast. An interrupted trial resumes where it stopped.
    """
    given = dict(locals())
    from lopsided.checkup.inputs.gather import gather
    from lopsided.checkup.trial.trial import trial
    from lopsided.cli.console import Late, print_json, print_line
    from lopsided.cli.plan import check_export, export_plan
    from lopsided.cli.progress import progress_tasks, stop_on_sigterm
    from lopsided.report.drawing import check_plot_path

    if report is not None:
        check_plot_path(report)
    check_export(export)
    recipe = options.network_recipe(weight_decay, learning_rate, batch_size, momentum)
    stop_on_sigterm()
    with progress_tasks("trial") as progress:
        evidence = gather(**options.options_for(gather, given))
        outcome = trial(**options.options_for(trial, given, data=evidence, recipe=recipe, progress=progress))
    late = Late()
    written = None if export is None else late.write(export_plan, outcome.plan, export, seed)
    if report is not None:
        from lopsided.report.audit import write_trial

        report = late.write(write_trial, report, evidence, outcome)
    if as_json:
        print_json({**outcome.to_dict(), "report": report, "export": written})
    else:
        print_trial(outcome)
        for place in filter(None, (report, written)):
            print_line(f"Written to {place}")
    late.tell()


def print_trial(outcome: "Trial") -> None:
    """Accuracies of the arms, gains next to their forecasts, then the recommendation and the notes."""
    from lopsided.checkup.trial.figures import times
    from lopsided.cli.console import print_line, print_lines
    from lopsided.core.errors import cut

    print_line(outcome.columns.sentence())
    run = [arm for arm in outcome.arms if arm.skipped is None]
    main = [*outcome.main_metrics(), *outcome.other_metrics()]
    how = f"{outcome.learner}, {outcome.folds} folds, {times(outcome.repeats)}"
    title = f"{outcome.source}: {how}; {outcome.judged_by()}"
    rows = [[arm.name, *outcome.values(arm, main)] for arm in run if not arm.simulated]
    print_lines(title, ("arm", *main), rows)
    heads = ("arm", "gain, 95% interval", "helps?", "forecast", "held?")
    for title, collects in (
        (f"Gain in {outcome.metric}{', percentage points' if outcome.in_points else ''}", False),
        ("Collecting more, simulated: gain of the class or group itself, percentage points", True),
    ):
        rows = [_gains(arm, collects or outcome.in_points) for arm in run[1:] if arm.simulated is collects]
        if rows:
            print_lines(title, heads, rows)
    for arm in outcome.arms:
        if arm.skipped is not None:
            print_line(f"Skipped: {cut(arm.name)}. {cut(arm.skipped)}")
    for note in outcome.notes[1:]:  # the first is on the columns
        print_line(note)
    print_line(outcome.headline())
    print(f"{outcome.seconds:.1f} s, {outcome.reused} results from the store")


def _gains(arm: "Arm", points: bool) -> list[str]:
    gain, told = arm.metrics[arm.read_in].gain, arm.forecast
    assert gain is not None
    value, low, high, forecast = (
        "–" if number is None else f"{100 * number:+.1f}" if points else f"{number:+.3f}"
        for number in (gain.value, gain.low, gain.high, None if told is None else told.gain)
    )
    return [arm.name, f"{value} [{low}, {high}]", arm.helps or "–", forecast, arm.held]
