"""`lopsided plan`: remedies for the user's data with their parameters and forecast gains."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lopsided.cli import options

if TYPE_CHECKING:
    from lopsided.checkup.plan.result import Plan, PlannedRemedy


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
    weight_decay: options.WeightDecay = None,
    learning_rate: options.LearningRate = None,
    batch_size: options.BatchSize = None,
    momentum: options.Momentum = None,
    learner: options.LearnerOption = "logistic",
    arms: options.Arms = None,
    metric: options.MetricOption = None,
    costs: options.Costs = None,
    group: options.GroupOption = None,
    why: Annotated[
        bool, typer.Option("--why", help="Say why: parameters, basis of each forecast, order of the list.")
    ] = False,
    export: options.Export = None,
    seed: Annotated[int, typer.Option(help="Random seed of the pilot's folds.", min=0)] = 0,
    as_json: options.AsJson = False,
) -> None:
    """List remedies with their parameters and expected gains.

    Remedies are oversampling rates, class weights, offsets, noise and examples to collect. To try them on your data,
    use lopsided trial.
    """
    given = dict(locals())
    from lopsided.checkup.plan.plan import plan
    from lopsided.cli.console import Late, print_json, print_line
    from lopsided.cli.progress import status_line

    check_export(export)
    recipe = options.network_recipe(weight_decay, learning_rate, batch_size, momentum)
    with status_line("forecasting with a small pilot", quiet=as_json):
        made = plan(**options.options_for(plan, given, recipe=recipe))
    late = Late()
    written = None if export is None else late.write(export_plan, made, export, seed)
    if as_json:
        print_json({**made.to_dict(), "export": written})
    else:
        print_plan(made, why=why)
        if not why:
            print_line("Add --why for the reasons.")
        if written is not None:
            print_line(f"Exported to {written}")
    late.tell()


def print_plan(made: "Plan", *, why: bool = False) -> None:
    """One line a remedy, and the notes; with `why` the reason for each, and what they are ordered by."""
    from lopsided.cli.console import print_line, print_lines, print_rows

    print_line(made.columns.sentence())
    rows, other = [], False
    for remedy in made.remedies:
        own = remedy.forecast is not None and remedy.forecast.metric != made.metric_name
        rows.append([remedy.name + " *" * own, remedy.expected_words(), _pilot_words(remedy)])
        other = other or own
    print_lines(f"{made.title()}, most promising first", ("remedy", "expected gain", "pilot's forecast"), rows)
    if other:
        print("* forecast gain in the recall of the class, or in the accuracy of the group")
    if why:
        print_rows("", ("remedy", "why"), [[remedy.name, _reasons(remedy)] for remedy in made.remedies])
    for remark in made.remarks() if why else [line for line in (*made.notes, made.skill) if line]:
        print_line(remark)


def _reasons(remedy: "PlannedRemedy") -> str:
    counts = "" if remedy.counts_as is None else f" Expected gain: {remedy.expected_words(4)}."
    return remedy.why + ("" if remedy.forecast is None else f" Basis: {remedy.forecast.ground}.{counts}")


def _pilot_words(remedy: "PlannedRemedy") -> str:
    """The forecast; alone where the interval to go by is that of the expected gain."""
    if remedy.forecast is None:
        return "no forecast"
    return remedy.forecast.words if remedy.counts_low is None else f"{remedy.forecast.gain:+.3f}"


def check_export(folder: Path | None) -> None:
    """Refuse a file in the place of the folder; asked before the work."""
    from lopsided.core.errors import InputError

    if folder is not None and os.path.exists(folder) and not folder.is_dir():
        raise InputError("a folder to export to", f"the file {folder}", "name another with --export")


def export_plan(made: "Plan", folder: Path, seed: int) -> Path:
    """plan.json, and one npz per remedy that has arrays."""
    import io

    import numpy as np

    from lopsided.core.files import make_folder, write_atomically
    from lopsided.core.jsonable import dump_json

    make_folder(folder, "choose another")
    for remedy in made.remedies:
        arrays = remedy.arrays(seed)
        if arrays:
            stream = io.BytesIO()
            np.savez_compressed(stream, allow_pickle=False, **arrays)
            write_atomically(folder / options.array_file(remedy.kind), stream.getvalue())
    write_atomically(folder / "plan.json", dump_json(made.to_dict(), indent=2) + "\n")
    return folder
