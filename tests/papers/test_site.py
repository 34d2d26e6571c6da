"""The site: every page is there, every link leads somewhere, nothing is fetched, everything is escaped."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lopsided.cli.main import main
from lopsided.core.errors import LopsidedError
from lopsided.core.figure import Figure, Heatmap, Panel
from lopsided.papers.reproduce import reproduce
from lopsided.papers.site import write_site
from lopsided.report.plotly import figure_json

TOYS = Path(__file__).parents[1] / "engine" / "toys"


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src"):
                self.found.append(value or "")
            if name == "id":
                self.ids.add(value or "")


def _links(path: Path) -> _Links:
    parser = _Links()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOPSIDED_CLAIMS", str(TOYS))
    monkeypatch.setenv("LOPSIDED_STORE", str(tmp_path / "store"))
    names = ["toy-sum", "toy-broken", "toy-needy", "toy-syntax"]
    assert (
        main(["reproduce", *names, "--jobs", "1", "--out", str(tmp_path / "site")]) == 1
    )  # toy-broken is there to break
    return tmp_path / "site"


def test_every_link_leads_somewhere_and_nowhere_outside(site: Path) -> None:
    pages = [site / "index.html", *(site / "claims").glob("*.html")]
    assert len(pages) == 5
    for page in pages:
        for link in _links(page).found:
            assert not re.match(r"[a-z]+:|//", link), f"{page.name} leaves the site: {link}"
            target, _, anchor = link.partition("#")
            file = (page.parent / target).resolve() if target else page
            assert file.is_file(), f"{page.name}: {link}"
            assert not anchor or anchor in _links(file).ids, f"{page.name}: {link}"


def test_what_a_claim_says_is_escaped_and_complete(site: Path) -> None:
    page = (site / "claims" / "toy-sum.html").read_text(encoding="utf-8")
    assert "x plus seed is &lt;em&gt;x + seed&lt;/em&gt;" in page
    assert "<em>x + seed" not in page
    for words in ("holds", "Every value equals x + seed", "Nothing.", "lopsided reproduce toy-sum", "numpy", "± 0.71"):
        assert words in page
    assert "ZeroDivisionError" in (site / "claims" / "toy-broken.html").read_text(encoding="utf-8")
    assert "no-such-set" in (site / "claims" / "toy-needy.html").read_text(encoding="utf-8")
    index = (site / "index.html").read_text(encoding="utf-8")
    for word in ("holds", "broken", "not run"):
        assert word in index
    assert "skill.html" in _links(site / "index.html").found


def test_a_plot_that_breaks_leaves_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOPSIDED_CLAIMS", str(TOYS))
    run = reproduce(["toy-sum"], jobs=1, store=tmp_path / "store")
    registered = run.registered["toy-sum"]
    assert registered.claim is not None
    broken = replace(registered, claim=replace(registered.claim, plot=lambda rows: 1 / 0))
    write_site(replace(run, registered={"toy-sum": broken}), tmp_path / "site")
    assert "Its plot broke: ZeroDivisionError" in (tmp_path / "site" / "claims" / "toy-sum.html").read_text()
    assert "skill.html" not in _links(tmp_path / "site" / "index.html").found  # no page of scores was handed over
    (tmp_path / "file").write_text("")
    with pytest.raises(LopsidedError, match="choose another"):
        write_site(run, tmp_path / "file" / "site")


def test_words_in_drawings_are_plain_and_cells_are_names() -> None:
    heat = Heatmap([1, 30], [0.5, 2], [[1.0, 2.0], [3.0, 4.0]], "accuracy")
    (drawn,) = figure_json(Figure("f", [Panel("a <b>title</b>", "x < 1", "y", [heat])]))
    assert drawn["layout"]["title"]["text"] == "a &lt;b&gt;title&lt;/b&gt;"
    assert drawn["layout"]["xaxis"]["title"]["text"] == "x &lt; 1"
    assert drawn["layout"]["xaxis"]["type"] == drawn["layout"]["yaxis"]["type"] == "category"


def test_pages_of_an_earlier_run_go_and_other_files_stay(site: Path, tmp_path: Path) -> None:
    (site / "claims" / "mine.html").write_text("not the generator's")
    changed = site / "claims" / "toy-broken.html"
    changed.write_text("edited by hand")
    write_site(reproduce(["toy-sum"], jobs=1), site)
    left = {page.name for page in (site / "claims").iterdir()}
    assert left == {"toy-sum.html", "mine.html", "toy-broken.html"}
    with pytest.raises(LopsidedError):
        write_site(reproduce(["toy-sum"], jobs=1), "")
