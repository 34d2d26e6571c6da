"""The built pages: complete (every command, public name and claim), whole (no dead link) and offline."""

import fcntl
import inspect
import os
import re
import runpy
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import typer.main

import lopsided
from lopsided.cli.app import application
from lopsided.papers.register import register
from tests.docs.pages import ROOT, pages

COMMANDS = typer.main.get_command(application).commands  # type: ignore[attr-defined]
TUTORIALS = sorted(path.stem for path in (ROOT / "docs/tutorials").glob("*.py"))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once a session, whichever process of pytest-xdist comes first; all tutorials run on the way."""
    folder = tmp_path_factory.getbasetemp()
    shared = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "docs"
    shared.mkdir(exist_ok=True)
    with open(shared / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "log").exists():
            (shared / "log").write_text(build(shared / "site", shared / "cache", shared / "store"))
    log = (shared / "log").read_text()
    assert log.startswith("0\n"), log
    return shared / "site"


def build(out: Path, cache: Path, store: Path) -> str:
    """Exit code and output of `lopsided docs` in a process of its own, where warnings are as for a reader."""
    (cache / "screenshots").mkdir(parents=True)  # where ./test lets the browser tests put them
    shutil.copy(ROOT / "docs/images/web.png", cache / "screenshots/collapse-1280.png")
    command = [sys.executable, "-m", "lopsided", "docs", "--brief", "--gallery", "few"]
    command += ["--out", str(out), "--cache", str(cache), "--store", str(store)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return f"{run.returncode}\n{run.stdout}\n{run.stderr}"


@pytest.fixture(scope="session")
def inventory(site: Path) -> set[str]:
    """Objects that the pages define, as other projects would link to them: kind and name."""
    content = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    lines = zlib.decompress(content).decode().splitlines()
    return {f"{line.split()[1]} {line.split()[0]}" for line in lines}


@pytest.mark.parametrize("name", [name for name in lopsided.__all__ if not name.startswith("__")])
def test_every_public_name_is_documented(inventory: set[str], name: str) -> None:
    assert {f"py:{kind} lopsided.{name}" for kind in ("function", "class", "exception")} & inventory
    assert inspect.getdoc(getattr(lopsided, name)), "no docstring"


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_is_documented(site: Path, name: str) -> None:
    page = (site / f"reference/commands/{name}.html").read_text(encoding="utf-8")
    for parameter in COMMANDS[name].params:
        assert parameter.help, f"{name}: {parameter.name} has no help"
        if parameter.param_type_name == "option":
            assert parameter.opts[0] in page
    assert COMMANDS[name].help, "no docstring"
    words = re.compile(rf"lopsided {name}\b")
    assert any(words.search(page.read_text(encoding="utf-8")) for page in pages()), (
        "no page tells a reader when to use it"
    )


@pytest.mark.parametrize("claim_id", list(register()))
def test_every_claim_is_documented(site: Path, claim_id: str) -> None:
    page = (site / f"claims/{claim_id}.html").read_text(encoding="utf-8")
    assert "The rule" in page or "Why" in page
    assert f'href="{claim_id}.html"' in (site / "claims/index.html").read_text(encoding="utf-8")


def test_the_gallery_shows_pictures(site: Path) -> None:
    page = (site / "claims/gallery.html").read_text(encoding="utf-8")
    shown = re.findall(r'src="\.\./(_images/[^"]+\.png)"', page)
    assert shown
    assert all((site / path).stat().st_size > 5000 for path in shown)


def test_screenshots_of_the_browser_tests_are_kept(site: Path) -> None:
    page = (site / "screens.html").read_text(encoding="utf-8")
    assert re.findall(r'src="(_images/collapse-1280[^"]*\.png)"', page)
    assert 'href="screens.html"' in (site / "web.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TUTORIALS)
def test_every_tutorial_ran(site: Path, name: str) -> None:
    page = (site / f"learn/{name}.html").read_text(encoding="utf-8")
    assert "sphx-glr-script-out" in page, "nothing was printed"
    assert f"learn/{name}.html" in (site / "index.html").read_text(encoding="utf-8"), "not on the first page"


class Links(HTMLParser):
    """Everything a page fetches, and everything it links to; and the places it defines."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.linked: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.places.add(given.get("id", ""))
        if tag == "a":
            self.linked.append(given.get("href", ""))
        elif tag == "link":
            self.fetched.append(given.get("href", ""))
        elif "src" in given:
            self.fetched.append(given["src"])


@pytest.fixture(scope="session")
def links(site: Path) -> dict[Path, Links]:
    found = {}
    for path in sorted(site.rglob("*.html")):
        found[path] = Links()
        found[path].feed(path.read_text(encoding="utf-8"))
    return found


def test_pages_fetch_nothing_from_elsewhere(site: Path, links: dict[Path, Links]) -> None:
    for path, page in links.items():
        for address in page.fetched:
            assert not urlsplit(address).netloc, f"{path.name} fetches {address}"
    for sheet in site.rglob("*.css"):
        fetched = re.findall(r"url\(\s*['\"]?(?!data:)([^)'\"]+)", sheet.read_text(encoding="utf-8"))
        assert not [address for address in fetched if urlsplit(address).netloc], sheet


def test_links_lead_somewhere(site: Path, links: dict[Path, Links]) -> None:
    dead = [f"{path.relative_to(site)}: {address}" for path, address in inner(links) if not leads(path, address, links)]
    assert not dead, dead


def inner(links: dict[Path, Links]) -> Iterator[tuple[Path, str]]:
    for path, page in links.items():
        for address in (*page.linked, *page.fetched):
            if address and not urlsplit(address).scheme and not urlsplit(address).netloc:
                yield path, address


def leads(path: Path, address: str, links: dict[Path, Links]) -> bool:
    parts = urlsplit(address)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return False
    return not parts.fragment or target not in links or unquote(parts.fragment) in links[target].places


def test_formulas_are_mathml(site: Path) -> None:
    page = (site / "theory/layer-peeled.html").read_text(encoding="utf-8")
    assert page.count("<math") > 20
    assert not re.search(r"<script[^>]*mathjax", page, re.IGNORECASE)


def test_unchanged_pages_are_left_alone_and_deleted_ones_go(tmp_path: Path) -> None:
    """Sphinx and sphinx-gallery go by times and sums of files: what is unchanged is not built again."""
    staged = runpy.run_path(str(ROOT / "docs/extensions/staging.py"))["staged"]
    pages, source = tmp_path / "docs", tmp_path / "cache/source"
    (pages / "_cache").mkdir(parents=True)
    (pages / "_cache/old.md").write_text("left over")
    (pages / "one.md").write_text("one")
    (pages / "two.md").write_text("two")
    staged(pages, source)
    (source / "generated.rst").write_text("made from the code")
    before = (source / "one.md").stat().st_mtime_ns
    (pages / "one.md").touch()
    (pages / "two.md").unlink()
    (pages / "three.md").write_text("three")
    staged(pages, source)
    assert sorted(path.name for path in source.iterdir()) == ["generated.rst", "one.md", "three.md"]
    assert (source / "one.md").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--gallery", "none"], "Expected stored, few or full as gallery"),
        (["--out", str(ROOT / "README.md")], "Expected a folder for the pages"),
    ],
)
def test_bad_options_are_one_sentence(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    from lopsided.cli.main import main

    assert main(["docs", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_without_sphinx_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from lopsided.cli.main import main

    monkeypatch.setitem(sys.modules, "sphinx.cmd.build", None)
    assert main(["docs"]) == 2
    assert "pip install 'lopsided[docs]'" in capsys.readouterr().err
