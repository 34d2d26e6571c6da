"""`lopsided data`: data sets that claims and tests know; `get` downloads one, `example` writes a small table."""

from pathlib import Path
from typing import Annotated, Any

import typer

from lopsided.cli.options import AsJson, DataFolder
from lopsided.core.errors import InputError


def command(
    action: Annotated[
        str | None,
        typer.Argument(
            metavar="[get|example]", help="get downloads a data set, example writes a small table (default: list them)."
        ),
    ] = None,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Data sets to download, or one example to write.")
    ] = None,
    data_dir: DataFolder = None,
    mirror: Annotated[
        list[str] | None, typer.Option(help="URL of a folder with the files, tried before the known mirrors.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="With example: the .csv or .parquet file to write.")] = None,
    as_json: AsJson = False,
) -> None:
    """List data sets, download one, or write an example.

    Without arguments, lists the data sets that claims and tests use, with licence and size. lopsided data get mnist
    downloads one, checks its SHA-256 sum and resumes after an interruption. lopsided data example rare-tumours writes
    a small table that needs no download (long-tailed-digits, rare-tumours or diabetes-by-sex).

    Data sets are kept in the folder that --data-dir or LOPSIDED_DATA names, or else in ./lopsided-data.
    """
    from lopsided.engine.needs import chosen_folder

    folder = chosen_folder(data_dir)
    if action is None:
        _list(folder, as_json)
    elif action not in ("get", "example"):
        raise InputError("the word get or example", repr(action), "write lopsided data get NAME to download a set")
    elif not names:
        raise InputError(f"a name after {action}", "none", "run lopsided data to list them")
    elif action == "example":
        _example(names, out, as_json)
    else:
        _get(names, folder, mirror or [], as_json)


def _list(folder: Path, as_json: bool) -> None:
    from lopsided.cli.console import print_json, print_line, print_table
    from lopsided.data.data_sets import DATA_SETS, find_data_set
    from lopsided.data.examples import EXAMPLES
    from lopsided.papers.register import register

    claims = [known.claim for known in register().values() if known.claim is not None]
    lines: list[dict[str, Any]] = []
    for name, entry in DATA_SETS.items():
        there = find_data_set(name, folder)
        needing = [claim.id for claim in claims if name in (*claim.needs, *claim.paper_needs)]
        told = {one: getattr(entry, one) for one in ("content", "licence", "origin", "files", "mirrors", "by_hand")}
        where = {"name": name, "found": there, "looked_for": folder / name, "bytes": entry.bytes or None}
        lines.append({**where, **told, "claims": needing})
    if as_json:
        print_json({"folder": folder, "sets": lines, "examples": list(EXAMPLES)})
        return
    rows = [
        [
            line["name"],
            "yes" if line["found"] else "no",
            f"{line['bytes'] / 1e6:.0f} MB" if line["bytes"] else "by hand",
            str(len(line["claims"])),
            line["licence"],
        ]
        for line in lines
    ]
    print_table(f"Data sets in {folder}", ("name", "found", "download", "claims", "licence"), rows, numbers_to=4)
    print_line(f"Examples, which need no download: {', '.join(EXAMPLES)}.")
    print_line(
        "lopsided data get NAME downloads one; --json adds origins, mirrors, checksums and how to add files by hand."
    )


def _get(names: list[str], folder: Path, mirrors: list[str], as_json: bool) -> None:
    from lopsided.cli.console import print_json, print_line
    from lopsided.cli.progress import progress_steps
    from lopsided.data.data_sets import data_set
    from lopsided.engine.download import download

    for name in names:
        data_set(name)  # a misspelt name is refused before the first download
    places = {}
    with progress_steps("MB downloaded", quiet=as_json) as told:
        for name in names:
            places[name] = download(
                name,
                folder,
                mirrors=mirrors,
                progress=lambda done, total, file: told(done // 1_000_000, -(-total // 1_000_000), f"MB of {file}"),
            )
    if as_json:
        print_json({"folder": folder, "places": places})
        return
    for name, place in places.items():
        print_line(f"{name}: {place}")
    print_line(f"To use it from other folders, set LOPSIDED_DATA={folder}.")


def _example(names: list[str], out: Path | None, as_json: bool) -> None:
    from lopsided.cli.console import print_json, print_line
    from lopsided.cli.table_file import write_table
    from lopsided.core.files import check_target
    from lopsided.data.examples import load_example

    if len(names) > 1:
        raise InputError("one example", ", ".join(names), "join the words of its name with hyphens")
    table = load_example(names[0])
    target = check_target(out or f"{names[0].strip().lower().replace(' ', '-')}.csv", (".csv", ".parquet"), "table")
    write_table(target, table)
    if as_json:
        print_json({"file": target, "rows": table.num_rows, "columns": table.column_names})
    else:
        print_line(f"{target}: {table.num_rows:,} rows; the last columns are {', '.join(table.column_names[-3:])}.")
