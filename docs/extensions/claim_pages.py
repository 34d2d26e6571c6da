"""The register of claims as pages, and the gallery: every figure that a claim draws, with its verdict.

What the store holds is drawn; `lopsided_gallery` says what may be computed besides: "stored" nothing, "few" the claims
that cost a second or two, "full" all of them at quick scale. A claim without numbers keeps its page and says so.
"""

from dataclasses import dataclass
from pathlib import Path

from generated import heading, indented, keep_only, write_page
from plain_docstrings import plain
from sphinx.application import Sphinx

from lopsided.cli.progress import progress_tasks
from lopsided.core.figure import Figure
from lopsided.engine.store import Store
from lopsided.papers.catalogue import PAPERS, paper_of
from lopsided.papers.register import Registered, register
from lopsided.papers.reproduce import Reproduced, Run, expand, reproduce
from lopsided.report.png import figure_png
from lopsided.report.style import sentence

GALLERIES = ("stored", "few", "full")
# One claim of each paper, among the cheapest: about four seconds together.
FEW = ("lp-update-variance", "gi-rho", "bo-phase", "sd-pseudo-gradient")


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
    record: Reproduced | None
    picture: Picture | None

    @property
    def verdict(self) -> str:
        """The rule's word, or that there is none here."""
        if self.record is None:
            return "not run for these pages" if self.registered.claim is not None else "not written yet"
        return "broken" if self.record.broken else self.record.verdict


def collect(gallery: str, store: Path, pictures: Path) -> dict[str, Shown]:
    """Every claim of the register, with verdict and picture where the gallery allows."""
    known = register()
    chosen = [claim_id for claim_id, entry in known.items() if entry.claim and _wanted(entry, gallery, Store(store))]
    jobs = None if gallery == "full" else 1  # a few seconds of work are not worth starting processes for
    with progress_tasks("claims of the gallery") as progress:
        run = reproduce(chosen, store=store, jobs=jobs, progress=progress) if chosen else None
    records = {record.id: record for record in run.claims} if run else {}
    return {
        claim_id: Shown(entry, records.get(claim_id), _picture(claim_id, entry, run, pictures))
        for claim_id, entry in known.items()
    }


def _wanted(entry: Registered, gallery: str, store: Store) -> bool:
    if gallery == "full" or (gallery == "few" and entry.id in FEW):
        return True
    assert entry.claim is not None
    assert entry.home is not None
    return all(store.task_path(task).exists() for task in expand(entry.claim, entry.home, "quick"))


def _picture(claim_id: str, entry: Registered, run: Run | None, pictures: Path) -> Picture | None:
    rows = run.rows.get(claim_id) if run else None
    if entry.claim is None or not rows:
        return None
    figure: Figure = entry.claim.plot(rows)
    pictures.mkdir(parents=True, exist_ok=True)
    drawn, path = figure_png(figure), pictures / f"{claim_id}.png"
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
        facts += [(f"Reading: {name}", sentence(words)) for name, words in claim.readings.items()]
        if claim.needs:
            facts.append(("Needs", f"the data sets {', '.join(claim.needs)} in the folder that LOPSIDED_DATA names"))
    elif entry.problem:
        facts.append(("Why", entry.problem))
    if record is not None and record.found:
        facts.insert(2, ("Found", sentence(record.found)))
    parts += [f"{plain(name).rstrip(chr(92))}\n{indented(plain(words))}\n" for name, words in facts]
    if shown.picture:
        parts.append(shown.picture.directive(f":alt: {entry.id}", ":class: claim-picture"))
    parts.append(f".. code-block:: sh\n\n   lopsided reproduce {entry.id} --out site\n")
    return "\n".join(parts)


def _title(claim_id: str) -> str:
    paper = PAPERS.get(paper_of(claim_id))
    return paper.title if paper else paper_of(claim_id)


def index_page(claims: dict[str, Shown]) -> str:
    """The register by paper."""
    parts = [heading("Claims")]
    parts.append(
        "\nEvery claim of the papers that can be tested, each with the rule that judges it. A verdict comes from the"
        " rule, never by hand. :doc:`gallery` shows the figures. How to read the words: *holds*, *partly* (some of"
        " what the rule asks), *fails* (not shown), *contradicted* (the opposite is shown), *not run*.\n"
    )
    for paper in dict.fromkeys(paper_of(claim_id) for claim_id in claims):
        own = {claim_id: shown for claim_id, shown in claims.items() if paper_of(claim_id) == paper}
        parts.append(heading(plain(PAPERS[paper].title) if paper in PAPERS else paper, "-"))
        parts.append(".. list-table::\n   :widths: 22 60 18\n   :header-rows: 1\n\n   * - claim\n     - statement")
        parts.append("     - verdict")
        for claim_id, shown in own.items():
            statement = plain(sentence(shown.registered.statement))
            parts.append(f"   * - :doc:`{claim_id}`\n     - {statement}\n     - {shown.verdict}")
        parts.append("")
    names = "\n".join(f"   {claim_id}" for claim_id in claims)
    parts.append(f".. toctree::\n   :hidden:\n\n   gallery\n{names}\n")
    return "\n".join(parts)


def gallery_page(claims: dict[str, Shown], gallery: str) -> str:
    """Every picture that there is, and which are missing."""
    drawn = {claim_id: shown for claim_id, shown in claims.items() if shown.picture}
    absent = [claim_id for claim_id, shown in claims.items() if not shown.picture]
    parts = [
        heading("Gallery"),
        f"\n{len(drawn)} of {len(claims)} claims are drawn here, from runs at quick scale.\n",
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
    claims = collect(gallery, Path(app.config.lopsided_store), folder / "pictures")
    for claim_id, shown in claims.items():
        write_page(folder / f"{claim_id}.rst", claim_page(shown))
    keep_only(folder, ["index", "gallery", *claims])
    write_page(folder / "index.rst", index_page(claims))
    write_page(folder / "gallery.rst", gallery_page(claims, gallery))


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.add_config_value("lopsided_gallery", "few", "env", str)
    app.add_config_value("lopsided_store", "lopsided-results", "", str)
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
