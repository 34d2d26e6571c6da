"""`lopsided skill`: how often our forecasts came true."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lopsided.cli.options import DataFolder, StoreFolder, options_for

if TYPE_CHECKING:
    from lopsided.skill.benchmark import FamilyScore, Skill

HALVES = ("held-out", "development")  # what counts comes first


def command(
    run: Annotated[
        bool, typer.Option("--run", help="Run or resume the benchmark instead of printing the published score.")
    ] = False,
    family: Annotated[list[str] | None, typer.Option(help="Only this family; can be given several times.")] = None,
    split: Annotated[Literal["development", "held-out"] | None, typer.Option(help="Only this half.")] = None,
    tasks: Annotated[int | None, typer.Option(help="Only this many tasks of each family and half.", min=1)] = None,
    index: Annotated[int | None, typer.Option(help="Only the task with this number, shown in full.", min=0)] = None,
    jobs: Annotated[int | None, typer.Option(help="Number of processes (default: all cores).")] = None,
    store: StoreFolder = None,
    data_dir: DataFolder = None,
    publish: Annotated[
        Path | None, typer.Option(help="Write the score to this file; families that were not run keep their score.")
    ] = None,
    details: Annotated[Path | None, typer.Option(help="Write reliability and the worst misses to this file.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write a page with reliability diagrams and the worst misses (.html).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Show how often our forecasts came true on held-out tasks."""
    given = dict(locals())
    from lopsided.cli.console import Late, print_json, print_line
    from lopsided.cli.progress import progress_tasks
    from lopsided.core.files import write_atomically
    from lopsided.core.jsonable import dump_json
    from lopsided.skill.benchmark import not_run_error, skill, with_published

    target = None
    if out is not None:
        from lopsided.report.drawing import check_report_path

        target = check_report_path(out)
    with progress_tasks("tasks") as progress:
        renamed = {"only": family or (), "data": data_dir, "most_tasks": tasks}
        found = skill(**options_for(skill, given, **renamed, progress=progress))
    late = Late()
    if publish is not None or details is not None:
        if found.not_run:
            raise not_run_error("a score of every family before it is published", found.not_run)
        facts = with_published(found).to_dict()
        told = facts.pop("details")
        if publish is not None:
            late.write(write_atomically, publish, dump_json(facts) + "\n")
        if details is not None:
            late.write(write_atomically, details, dump_json(told) + "\n")
    if target is not None:
        from lopsided.skill.page import write_skill_page

        target = late.write(write_skill_page, found, target)
    if as_json:
        print_json(found.to_dict()["scores"])
        for name, why in found.not_run.items():
            typer.echo(f"{name}: not run. {why}", err=True)
    else:
        _print(found)
        if target is not None:
            print_line(f"Page: {target}")
        for detail in found.details if index is not None else ():
            print_json(detail["runs"])
    late.tell()


def _print(found: "Skill") -> None:
    from lopsided.cli.console import print_line, print_table

    if not found.scores:
        print("This version has no published score; measure one with lopsided skill --run.")
        return
    halves = [half for half in HALVES if any(entry.split == half for entry in found.scores)]
    families: dict[str, dict[str, FamilyScore]] = {}
    for entry in found.scores:
        families.setdefault(entry.title, {})[entry.split] = entry
    first, *others = halves
    rows = [
        [
            title,
            *_cells(scores.get(first)),
            *(_share(scores[half].rate) if half in scores else "none" for half in others),
        ]
        for title, scores in families.items()
    ]
    columns = ("forecast", f"{first} [95 %]", "rule", *others)
    print_table(f"Forecast skill, lopsided {found.version}, {found.date}: shares that came true", columns, rows)
    print_line("rule: the best simple rule on the same answers; --json names it.")
    numbers = [row for entry in found.scores if entry.split == first for row in _number_rows(entry)]
    if numbers:
        heads = ("number", "median", "90th", "mean", "rule", "90 %")
        print_table(f"Errors of numbers, {first} half: median, 90th percentile and mean", heads, numbers)
        print_line("x: factors, their mean in powers of 2. rule: mean error of the best simple rule. 90 %: coverage.")
    for name, why in found.not_run.items():
        print_line(f"{name}: not run. {why}")


# Questions that do not fit into a line of 80 letters; --json has them whole.
_SHORT = {
    "accuracy without the high scores less that without the others": "accuracy without the high scores",
    "gain of post-hoc adjustment in balanced accuracy": "gain of post-hoc adjustment",
    "gain in balanced accuracy over doing nothing": "gain over doing nothing",
}


def _number_rows(entry: "FamilyScore") -> list[list[str]]:
    from lopsided.skill.benchmark import number_questions

    rows = []
    for question, scores in number_questions(entry.numbers).items():
        own = scores["recipes"][scores["recipe"]]
        rule = min((one["mean_absolute_error"] for one in scores["baselines"].values() if one["count"]), default=None)
        before, digits = ("x", 3) if scores["miss"] == "ratio" and own["count"] else ("", 2)
        told = [before + _number(own[name], digits) for name in ("typical_error", "error_nine_in_ten")]
        told += [_number(own["mean_absolute_error"]), _number(rule), _share(own["coverage"])]
        rows.append([_SHORT.get(question, question), *told])
    return rows


def _cells(entry: "FamilyScore | None") -> tuple[str, str]:
    if entry is None:
        return "none", "none"
    interval = f" [{entry.interval[0]:.2f}, {entry.interval[1]:.2f}]" if entry.interval else ""
    return _share(entry.rate) + interval, _share(entry.baseline_rate)


def _number(value: float | None, digits: int = 2) -> str:
    return "none" if value is None else f"{value:.{digits}g}"


def _share(rate: float | None) -> str:
    return "none" if rate is None else f"{rate:.2f}"
