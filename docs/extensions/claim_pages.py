"""The register of claims as pages, and the gallery: every figure that a claim draws, with its verdict.

The evidence that ships is shown and drawn, and in its place what the store holds; `lopsided_gallery` says what may be
computed besides: "stored" nothing, "few" the claims that cost a second or two, "full" all of them at quick scale. A
claim without numbers keeps its page and says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from generated import heading, indented, keep_only, write_page
from paper_maps import paper_map
from plain_docstrings import plain
from sphinx.application import Sphinx

from lopsided.cli.progress import progress_tasks
from lopsided.core.figure import Figure
from lopsided.engine.store import Store
from lopsided.engine.task import Row
from lopsided.papers.catalogue import PAPERS, paper_of
from lopsided.papers.evidence import shipped
from lopsided.papers.judging import readings_run
from lopsided.papers.register import Registered, register, same_text
from lopsided.papers.reproduce import Reproduced, expand, reproduce
from lopsided.papers.words import apart, part_line, set_line
from lopsided.report.png import figure_png
from lopsided.report.style import sentence

GALLERIES = ("stored", "few", "full")
# One claim of each paper, among the cheapest: about four seconds together.
FEW = ("lp-update-variance", "gi-rho", "bo-tail", "sd-pseudo-gradient")


@dataclass(frozen=True)
class Picture:
    """A file beside the pages."""

    file: str
    panels: int

    def directive(self, *options: str) -> str:
        """One panel alone takes two thirds of the line, so that its letters are as large as those of two."""
        width = [":width: 66%"] if self.panels == 1 else []
        return "\n   ".join([f".. image:: pictures/{self.file}", *options, *width]) + "\n"


@dataclass(frozen=True)
class Shown:
    """One claim as the pages show it."""

    registered: Registered
    record: Mapping[str, Any] | None
    rows: Sequence[Row]
    picture: Picture | None
    ships: bool = False

    @property
    def verdict(self) -> str:
        """The rule's word, or that there is none here."""
        if self.record is None:
            return "not run at this scale" if self.registered.claim is not None else "not written yet"
        word = "broken" if self.record["broken"] else str(self.record["verdict"])
        return word if self.record["confirmation"] or word in ("broken", "not run") else f"{word} (exploratory)"

    @property
    def origin(self) -> str:
        """Scale, seeds, version and date of the run."""
        if self.record is None or not self.record["sets"]:
            return ""
        version = self.record["provenance"].get("lopsided")
        where = f"ships with lopsided {version}" if self.ships else f"run for these pages with lopsided {version}"
        return (
            f"{self.record['scale']} scale, {len(self.record['seeds'])} seeds, {self.record['time'][:10]}, {where}; "
            f"the same verdict in {same_text(self.record['seed_sets'])} seed sets"
        )


def collect(gallery: str, store: Path, pictures: Path, *, brief: bool = False) -> dict[str, Shown]:
    """Every claim of the register, with verdict and picture where the gallery allows; `brief` draws the few alone."""
    known = register()
    chosen = [claim_id for claim_id, entry in known.items() if entry.claim and _wanted(entry, gallery, Store(store))]
    jobs = None if gallery == "full" else 1  # a few seconds of work are not worth starting processes for
    with progress_tasks("claims of the gallery") as progress:
        run = reproduce(chosen, store=store, jobs=jobs, progress=progress) if chosen else None
    own = {record.id: record for record in run.claims if record.sets or record.broken} if run else {}
    return {
        claim_id: _shown(
            entry,
            own.get(claim_id),
            run.rows.get(claim_id, []) if run else [],
            None if brief and claim_id not in FEW else pictures,
        )
        for claim_id, entry in known.items()
    }


def _shown(entry: Registered, own: Reproduced | None, rows: Sequence[Row], pictures: Path | None) -> Shown:
    """The run for these pages, or the evidence that ships: that of the paper's scale where there is one."""
    if own is not None:
        return Shown(entry, asdict(own), rows, _picture(entry, rows, pictures))
    version = entry.claim.version if entry.claim else None
    found = [one for one in shipped(entry.id) if one.record["version"] == version]
    if not found:
        return Shown(entry, None, [], None)
    return Shown(entry, found[-1].record, found[-1].rows, _picture(entry, found[-1].rows, pictures), ships=True)


def _wanted(entry: Registered, gallery: str, store: Store) -> bool:
    if gallery == "full" or (gallery == "few" and entry.id in FEW):
        return True
    assert entry.claim is not None
    assert entry.home is not None
    return all(store.task_path(task).exists() for task in expand(entry.claim, entry.home, "quick"))


def _picture(entry: Registered, rows: Sequence[Row], pictures: Path | None) -> Picture | None:
    if entry.claim is None or not rows or pictures is None:
        return None
    figure: Figure = entry.claim.plot(rows)
    pictures.mkdir(parents=True, exist_ok=True)
    drawn, path = figure_png(figure), pictures / f"{entry.id}.png"
    if not path.exists() or path.read_bytes() != drawn:
        path.write_bytes(drawn)
    return Picture(path.name, len(figure.panels))


def claim_page(shown: Shown) -> str:
    """What the paper says, the rule, what was found, the picture."""
    entry, claim, record = shown.registered, shown.registered.claim, shown.record
    parts = [f".. _claim-{entry.id}:\n", heading(entry.id), plain(sentence(entry.statement)) + "\n"]
    facts = [("Source", f"{_title(entry.id)}, {entry.source.place}"), ("Verdict", shown.verdict)]
    if claim is not None:
        facts.append(("The paper says", sentence(claim.paper_says)))
        facts.append(("The rule", sentence(claim.rule)))
        if claim.revised:
            facts.append(("Changed after numbers had been seen", sentence(claim.revised)))
        facts += [
            (f"Reading: {name}", sentence(claim.readings[name])) for name in readings_run(claim, list(shown.rows))
        ]
        if claim.needs:
            facts.append(("Needs", f"the data sets {', '.join(claim.needs)} in the folder that LOPSIDED_DATA names"))
    elif entry.problem:
        facts.append(("Why", entry.problem))
    if record is not None and record["found"]:
        facts.insert(2, ("Found", sentence(record["found"])))
    if record is not None and record["sets"]:
        apart_words = apart(record["exploration"], record["confirmation"])
        facts.insert(3, ("Evidence", f"{shown.origin}. {apart_words}"))
    parts += [f"{plain(name).rstrip(chr(92))}\n{indented(plain(words))}\n" for name, words in facts]
    if record is not None and record["parts"]:
        parts.append(_table(("part", "verdict", "smallest effect"), [part_line(part) for part in record["parts"]]))
    if record is not None and len(record["sets"]) > 1:
        parts.append(_table(("seeds", "for", "verdict"), [set_line(one) for one in record["sets"]]))
    if shown.picture:
        parts.append(shown.picture.directive(f":alt: {entry.id}", ":class: claim-picture"))
    parts.append(f".. code-block:: sh\n\n   lopsided reproduce {entry.id} --out site\n")
    return "\n".join(parts)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in (columns, *rows):
        lines += [f"   {'* -' if place == 0 else '  -'} {plain(cell)}" for place, cell in enumerate(row)]
    return "\n".join(lines) + "\n"


def _title(claim_id: str) -> str:
    paper = PAPERS.get(paper_of(claim_id))
    return paper.title if paper else paper_of(claim_id)


def index_page(claims: dict[str, Shown]) -> str:
    """The register by paper."""
    parts = [heading("Claims")]
    parts.append(
        "\nEvery claim of the papers that can be tested, each with the rule that judges it. A verdict comes from the"
        " rule, never by hand. :doc:`gallery` shows the figures. How to read the words: *holds*, *partly* (at"
        " least the share of its parts that the rule names, half unless it says otherwise), *fails* (not shown),"
        " *contradicted* (the opposite is shown), *unresolved* (the rule could not have detected the claimed effect at"
        " this scale), *not run*. A verdict is *exploratory* until a run on fresh seeds has confirmed it under its"
        " present rule. :doc:`maps` lists what each paper states and what of it is covered.\n"
    )
    for paper in dict.fromkeys(paper_of(claim_id) for claim_id in claims):
        own = {claim_id: shown for claim_id, shown in claims.items() if paper_of(claim_id) == paper}
        parts.append(heading(plain(PAPERS[paper].title) if paper in PAPERS else paper, "-"))
        parts.append(".. list-table::\n   :widths: 20 52 16 12\n   :header-rows: 1\n\n   * - claim\n     - statement")
        parts.append("     - verdict\n     - seed sets")
        for claim_id, shown in own.items():
            statement = plain(sentence(shown.registered.statement))
            same = same_text(shown.record["seed_sets"]) if shown.record else ""
            parts.append(f"   * - :doc:`{claim_id}`\n     - {statement}\n     - {shown.verdict}\n     - {same}")
        parts.append("")
    names = "\n".join(f"   {claim_id}" for claim_id in claims)
    parts.append(f".. toctree::\n   :hidden:\n\n   maps\n   gallery\n{names}\n")
    return "\n".join(parts)


def maps_page(claims: dict[str, Shown]) -> str:
    """For each paper, every numbered statement with its code, its claims and their verdicts."""
    parts = [heading("Maps of the papers")]
    parts.append(
        "\nEvery definition, algorithm, theorem, lemma, figure and table of the papers, with the code that holds it,"
        " the claims that test it and their verdicts, and what is not covered.\n"
    )
    for paper, lines in paper_map().items():
        parts.append(heading(plain(PAPERS[paper].title), "-"))
        covered = sum(not line.missing for line in lines)
        parts.append(f"{covered} of {len(lines)} are covered whole.\n")
        parts.append(".. list-table::\n   :header-rows: 1\n   :widths: 16 30 20 22 12\n")
        parts.append("   * - place\n     - what it states\n     - code\n     - claims\n     - not covered")
        for line in lines:
            code = ", ".join(f"``{name}``" for name in line.code) or "none"
            tested = ", ".join(f":doc:`{name}` ({claims[name].verdict})" for name in line.claims) or "none"
            cells = (plain(line.place), plain(line.says), code, tested, plain(line.missing) or "nothing")
            parts.append("   * - " + "\n     - ".join(cells))
        parts.append("")
    return "\n".join(parts)


def gallery_page(claims: dict[str, Shown], gallery: str) -> str:
    """Every picture that there is, and which are missing."""
    drawn = {claim_id: shown for claim_id, shown in claims.items() if shown.picture}
    absent = [claim_id for claim_id, shown in claims.items() if not shown.picture]
    parts = [
        heading("Gallery"),
        f"\n{len(drawn)} of {len(claims)} claims are drawn here.\n",
    ]
    if absent:
        parts.append(
            f"Built with ``--gallery {gallery}``. ``lopsided docs --gallery full`` computes and draws every claim that"
            " can run (a quarter of an hour); without it, what ``lopsided reproduce`` has stored is drawn as well.\n"
        )
    for paper in dict.fromkeys(paper_of(claim_id) for claim_id in drawn):
        parts.append(heading(plain(PAPERS[paper].title) if paper in PAPERS else paper, "-"))
        for claim_id, shown in drawn.items():
            if paper_of(claim_id) == paper:
                parts.append(heading(claim_id, "~"))
                parts.append(f"**{shown.verdict}.** {plain(sentence(shown.registered.statement))}\n")
                assert shown.picture is not None
                parts.append(shown.picture.directive(f":alt: {claim_id}", f":target: {claim_id}.html"))
    if absent:
        parts.append(heading("Without a picture here", "-"))
        parts.append(", ".join(f":doc:`{claim_id}`" for claim_id in absent) + "\n")
    return "\n".join(parts)


def _write(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "claims"
    gallery = app.config.lopsided_gallery
    brief = not app.config.lopsided_rooms
    claims = collect(gallery, Path(app.config.lopsided_store), folder / "pictures", brief=brief)
    for claim_id, shown in claims.items():
        write_page(folder / f"{claim_id}.rst", claim_page(shown))
    keep_only(folder, ["index", "maps", "gallery", *claims])
    write_page(folder / "maps.rst", maps_page(claims))
    write_page(folder / "index.rst", index_page(claims))
    write_page(folder / "gallery.rst", gallery_page(claims, gallery))


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.add_config_value("lopsided_gallery", "few", "env", str)
    app.add_config_value("lopsided_store", "lopsided-results", "", str)
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
