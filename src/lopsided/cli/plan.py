"""`lopsided plan`: remedies for the user's data with their parameters and forecast gains."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lopsided.cli.options import number

if TYPE_CHECKING:
    from lopsided.checkup.remedy_plan import Plan


def command(
    data: Annotated[Path, typer.Argument(help="npz, npy, parquet or csv file, or a folder of pictures.")],
    labels: Annotated[str | None, typer.Option(help="Column or array of labels, where its name does not say.")] = None,
    groups: Annotated[
        str | None, typer.Option(help="Columns of groups, comma-separated; intersections follow.")
    ] = None,
    features: Annotated[str | None, typer.Option(help="Array or columns (comma-separated) of features.")] = None,
    split: Annotated[str | None, typer.Option(help="Column that says which rows are for testing.")] = None,
    weight_decay: Annotated[float | None, number("Weight decay of the network that is trained.")] = None,
    metric: Annotated[
        str | None, typer.Option(help="balanced, worst-class, worst-group or overall: what is to rise.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="The groups whose worst one counts, such as 'sex' or 'sex × race'.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write plan.json and arrays (indices, weights, offsets) into this folder.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the pilot's folds.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Plan remedies: rates, weights, offsets, noise, examples to collect, each with its forecast gain.

    lopsided trial tries them.
    """
    from lopsided.checkup.plan import plan
    from lopsided.cli.console import print_json, print_line, print_table
    from lopsided.cli.progress import status_line

    with status_line("forecasting with a small pilot", quiet=as_json):
        made = plan(
            data,
            labels=labels,
            groups=columns(groups),
            features=columns(features),
            split=split,
            weight_decay=weight_decay,
            metric=metric,
            group=group,
            seed=seed,
        )
    written = None if export is None else export_plan(made, export, seed)
    if as_json:
        print_json({**made.to_dict(), "export": written})
        return
    rows = [[remedy.name, told(remedy.forecast), remedy.why] for remedy in made.remedies]
    print_table("Plan, best forecast first", ("remedy", "forecast gain", "why"), rows, numbers_from=9)
    for note in made.notes:
        print_line(note)
    if written is not None:
        print_line(f"Exported to {written}")


def columns(names: str | None) -> list[str] | str | None:
    """`a,b` as a list; one name as it is."""
    if names is None or "," not in names:
        return names
    return [name.strip() for name in names.split(",")]


def told(forecast: object) -> str:
    """A forecast in a few letters."""
    from lopsided.checkup.remedy_plan import GainForecast

    if not isinstance(forecast, GainForecast):
        return "none"
    return f"{forecast.metric} {forecast.gain:+.3f} [{forecast.low:+.3f}, {forecast.high:+.3f}]"


def export_plan(made: "Plan", folder: Path, seed: int) -> Path:
    """plan.json, and one npz per remedy that has arrays."""
    import io

    import numpy as np

    from lopsided.core.errors import InputError
    from lopsided.core.files import WriteError, write_atomically
    from lopsided.core.jsonable import dump_json

    if folder.exists() and not folder.is_dir():
        raise InputError("a folder to export to", f"the file {folder}", "name another with --export")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(
            f"Expected to make the folder {folder}, but the system said: {error.strerror}; choose another."
        ) from None
    for remedy in made.remedies:
        arrays = remedy.arrays(seed)
        if arrays:
            stream = io.BytesIO()
            np.savez_compressed(stream, allow_pickle=False, **arrays)
            write_atomically(folder / f"{remedy.kind.replace(' ', '-')}.npz", stream.getvalue())
    write_atomically(folder / "plan.json", dump_json(made.to_dict(), indent=2) + "\n")
    return folder
