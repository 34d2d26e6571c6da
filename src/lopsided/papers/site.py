"""A static, offline site of verdicts: an index by paper and one page per claim. Facts first, then the templates.

plotly.js is written once into the site and linked by a relative address, so pages stay small and open from a disk.
"""

import contextlib
import gzip
import hashlib
import json
import math
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from lopsided import __version__
from lopsided.core.figure import Figure
from lopsided.core.files import WriteError, write_atomically
from lopsided.core.statistics import seed_mean
from lopsided.engine.task import Row, canonical
from lopsided.papers.catalogue import PAPERS
from lopsided.papers.claim import Claim, Outcome
from lopsided.papers.judging import readings_run
from lopsided.papers.register import same_text
from lopsided.papers.reproduce import Reproduced, Run
from lopsided.papers.words import apart, part_line, set_line
from lopsided.report.page import panel_table, render, script_json
from lopsided.report.plotly import figure_json

WORDS = (*(outcome.value for outcome in Outcome), "broken")
SKILL_PAGE = "skill.html"
MANIFEST = "lopsided-site.json"  # the pages of the last run and their checksums
_PAGE_NAME = re.compile(r"[A-Za-z0-9_-]+\.html")
_MOST_LINES = 300  # of the table of numbers; the store keeps them all


@dataclass(frozen=True)
class SpreadCell:
    """Over the seeds of one setting: mean, standard deviation (None for one seed), lowest, highest, how many."""

    mean: float
    deviation: float | None
    lowest: float
    highest: float
    count: int


@dataclass(frozen=True)
class SpreadTable:
    """`columns` are the settings that vary; `shared` those that do not; `rows` pair a setting with its spreads."""

    columns: tuple[str, ...]
    shared: dict[str, Any]
    names: tuple[str, ...]
    rows: tuple[tuple[tuple[Any, ...], tuple[SpreadCell | None, ...]], ...]


def write_site(run: Run, folder: str | os.PathLike[str], *, skill_page: str | None = None) -> Path:
    """Write the pages of `run`; returns the index. Pages of earlier runs in the same folder are replaced or removed.

    skill_page: the page of forecast scores as text; it becomes part of the site, with a link from the index.
    """
    if not str(folder).strip():
        raise WriteError("Expected a folder for the site, but got an empty name; write . for this one.")
    home = Path(folder).absolute()
    try:
        (home / "claims").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(
            f"Expected to make the folder {home}, but the system said: {error.strerror}; choose another with --out."
        ) from None
    _write_library(home)
    order = [None, *(record.id for record in run.claims), None]
    pages: dict[str, str] = {}
    for position, record in enumerate(run.claims):
        text = _claim_page(record, run, {"before": order[position], "after": order[position + 2]})
        write_atomically(home / "claims" / f"{record.id}.html", text, durable=False)
        pages[f"{record.id}.html"] = _digest(text.encode())
    _remove_orphans(home, pages)
    if skill_page is not None:
        write_atomically(home / SKILL_PAGE, skill_page)
    write_atomically(home / MANIFEST, json.dumps({"pages": pages}, indent=1))
    return write_atomically(home / "index.html", _index_page(run, SKILL_PAGE if skill_page is not None else None))


def _remove_orphans(home: Path, pages: Mapping[str, str]) -> None:
    """Delete the pages that an earlier run wrote here and this one did not: only those that the list of that run names
    and that are still as it wrote them."""
    try:
        earlier = json.loads((home / MANIFEST).read_bytes())["pages"]
        listed = [(str(name), str(digest)) for name, digest in earlier.items()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return
    for name, digest in listed:
        page = home / "claims" / name
        if name in pages or not _PAGE_NAME.fullmatch(name):
            continue
        with contextlib.suppress(OSError):
            if not page.is_symlink() and _digest(page.read_bytes()) == digest:
                page.unlink()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write_library(home: Path) -> None:
    target = home / "plotly.min.js"
    assets = files("lopsided.report").joinpath("assets")
    library = gzip.decompress(assets.joinpath("plotly-cartesian.min.js.gz").read_bytes())
    if not target.exists() or target.stat().st_size != len(library):
        write_atomically(target, library)
        write_atomically(home / "plotly-LICENSE.txt", assets.joinpath("plotly-LICENSE.txt").read_bytes())


def word(record: Reproduced) -> str:
    """The verdict as shown: a claim that broke is not merely `not run`."""
    return "broken" if record.broken else record.verdict


def _index_page(run: Run, skill: str | None) -> str:
    groups = []
    for paper in dict.fromkeys(record.paper for record in run.claims):
        records = [record for record in run.claims if record.paper == paper]
        groups.append(
            {
                "id": paper,
                "title": PAPERS[paper].title if paper in PAPERS else f"Claims of {paper}",
                "tally": _tally(records),
                "claims": [
                    {"record": record, "word": word(record), "same": same_text(record.seed_sets)} for record in records
                ],
            }
        )
    return render(
        "claims_index.html",
        title="Claims and verdicts",
        tally=_tally(run.claims),
        total=len(run.claims),
        groups=groups,
        scale=run.claims[0].scale if run.claims else "",
        skill=skill,
        footer=_footer(run.claims),
    )


def _tally(records: Sequence[Reproduced]) -> list[tuple[str, int]]:
    words = [word(record) for record in records]
    return [(name, words.count(name)) for name in WORDS if name in words]


def _claim_page(record: Reproduced, run: Run, neighbours: dict[str, str | None]) -> str:
    claim, rows = run.registered[record.id].claim, run.rows.get(record.id, [])
    figure, drawing_problem = _figure(claim, rows)
    return render(
        "claim.html",
        title=record.id,
        record=record,
        word=word(record),
        paper=PAPERS[record.paper].title if record.paper in PAPERS else record.paper,
        **{name: getattr(claim, name, "") for name in ("rule", "revised", "paper_says")},
        readings={} if claim is None else {name: claim.readings[name] for name in readings_run(claim, rows)},
        parts=[part_line(part) for part in record.parts],
        sets=[set_line(one) for one in record.sets],
        apart=apart(record.exploration, record.confirmation),
        same=same_text(record.seed_sets),
        numbers=list(_named(record.numbers)),
        spread=_spread(rows),
        figure=figure,
        drawing_problem=drawing_problem,
        tables=[panel_table(panel) for panel in figure.panels] if figure is not None else [],
        plots=script_json(figure_json(figure)) if figure is not None else "[]",
        command=_command(record),
        provenance=_provenance(record),
        neighbours=neighbours,
        footer=_footer([record]),
    )


def _figure(claim: Claim | None, rows: Sequence[Row]) -> tuple[Figure | None, str]:
    if claim is None or not rows:
        return None, ""
    try:
        return claim.plot(rows), ""
    except Exception as error:  # a plot that breaks must not take the verdict's page with it
        return None, f"Its plot broke: {type(error).__name__}: {' '.join(str(error).split())}"


def _spread(rows: Sequence[Row]) -> dict[str, Any] | None:
    if not rows:
        return None
    table = spread_table(rows)
    return {
        "columns": [in_words(column) for column in table.columns],
        "names": [in_words(name) for name in table.names],
        "shared": [(in_words(key), _value(value)) for key, value in table.shared.items()],
        "repeated": any(spread is not None and spread.count > 1 for _, spreads in table.rows for spread in spreads),
        "rows": [
            ([_value(value) for value in setting], [_spread_cell(spread) for spread in spreads])
            for setting, spreads in table.rows[:_MOST_LINES]
        ],
        "left_out": max(len(table.rows) - _MOST_LINES, 0),
    }


def spread_table(rows: Sequence[Row]) -> SpreadTable:
    """Only numbers that are single values; curves and matrices belong to the plot."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(canonical(row.settings), []).append(row)
    settings = [json.loads(text) for text in groups]
    keys = list(dict.fromkeys(key for setting in settings for key in setting))
    varying = tuple(key for key in keys if len({json.dumps(setting.get(key)) for setting in settings}) > 1)
    names = tuple(
        dict.fromkeys(name for row in rows for name, value in row.numbers.items() if _number(value) is not None)
    )
    lines = tuple(
        (
            tuple(setting.get(key) for key in varying),
            tuple(_cell([_number(row.numbers.get(name)) for row in group]) for name in names),
        )
        for setting, group in zip(settings, groups.values(), strict=True)
    )
    shared = {key: settings[0][key] for key in keys if key not in varying} if settings else {}
    return SpreadTable(varying, shared, names, lines)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _cell(values: Sequence[float | None]) -> SpreadCell | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    found = seed_mean(known)
    deviation = found.deviation if len(known) > 1 else None
    return SpreadCell(found.mean, deviation, min(known), max(known), len(known))


def _spread_cell(spread: SpreadCell | None) -> dict[str, str]:
    if spread is None:
        return {"mean": "–", "deviation": "", "range": "undefined"}
    return {
        "mean": _value(spread.mean),
        "deviation": "" if spread.deviation is None else f"± {spread.deviation:.2g}",
        "range": f"{spread.count} seed{'s' if spread.count != 1 else ''}, {spread.lowest:.6g} to {spread.highest:.6g}",
    }


def in_words(name: str) -> str:
    """`loss_difference` as `loss difference`; symbols such as E_H stay."""
    return re.sub(r"(?<=[a-z])_(?=[a-z])", " ", name)


def _named(numbers: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Names in words; a number inside another reads as `thresholds: (5,5)`."""
    for name, value in numbers.items():
        words = prefix + in_words(str(name))
        if isinstance(value, dict) and value:
            yield from _named(value, f"{words}: ")
        else:
            yield words, _value(value)


def _value(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return "; ".join(value) or "none"
    if isinstance(value, (list, dict)):
        short = json.loads(json.dumps(value), parse_float=lambda number: float(f"{float(number):.4g}"))
        text = json.dumps(short, ensure_ascii=False)
        return text if len(text) <= 400 else text[:400] + " …"
    return str(value)


def _command(record: Reproduced) -> str:
    words = ["lopsided", "reproduce", record.id]
    return shlex.join(words if record.scale == "quick" else [*words, "--scale", record.scale])


def _provenance(record: Reproduced) -> list[tuple[str, str]]:
    origin = record.provenance
    if not origin:
        return []
    facts = [
        ("tasks", f"{record.tasks}, seeds {_seeds(record.seeds)}"),
        ("computing time", f"{record.seconds:.3g} s on one core"),
        ("computed", " to ".join(dict.fromkeys(_minute(origin[end]) for end in ("first", "last")))),
    ]
    for versions in origin["versions"]:
        facts.append(("packages", ", ".join(f"{name} {version}" for name, version in versions.items())))
    machine = "{processor}, {cores} cores, {system}, Python {python}"
    facts += [("machine", machine.format(**found)) for found in origin["machines"]]
    facts.append(("claim", f"version {record.version}, file {origin['code']}"))
    return facts


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(str(seed) for seed in seeds)


def _footer(records: Sequence[Reproduced]) -> str:
    written = _minute(max((record.time for record in records), default=""))
    return f"lopsided {__version__} · written {written} UTC · verdicts come from rules, never by hand"


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")
