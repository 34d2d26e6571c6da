"""Examples on the pages run: python blocks and sh blocks of a page in order, in an empty folder. `console` blocks are
shown and not run, but their commands and options must exist; so must those of the README."""

import os
from pathlib import Path

import pytest
import typer.main

from lopsided.cli.app import application
from lopsided.cli.main import main
from tests.docs.pages import ROOT, Block, blocks, command_lines, pages

COMMANDS = typer.main.get_command(application).commands  # type: ignore[attr-defined]
# tests/remedies and tests/torch/monitor run these pages in ways of their own, and compare what they print.
ELSEWHERE = ("remedies.md", "monitor.md")
RUN = [
    page
    for page in pages()
    if page.name not in ELSEWHERE and any(block.kind in ("python", "sh") for block in blocks(page))
]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


SHOWN = pytest.mark.filterwarnings("default::lopsided.torch.monitor.early_warnings.ImbalanceWarning")


# The first hour's network is meant to warn; elsewhere a warning is an error.
@pytest.mark.parametrize("page", [pytest.param(p, marks=[SHOWN] * (p.name == "first-hour.md")) for p in RUN], ids=name)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # A newcomer's environment, without our settings; and what a block sets ends with the page.
    own = {name: value for name, value in os.environ.items() if not name.startswith("LOPSIDED_")}
    monkeypatch.setattr(os, "environ", own)
    namespace: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        if block.file is not None:
            target = tmp_path / block.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.body, encoding="utf-8")
        elif block.kind == "python":
            exec(compile(block.body, name(page), "exec"), namespace)
        elif block.kind == "sh" and page.name != "README.md":  # the README speaks of the reader's own files
            for arguments in command_lines(block):
                assert main(arguments) == 0, arguments


@pytest.mark.parametrize("page", pages(), ids=name)
def test_commands_on_the_page_exist(page: Path) -> None:
    for block in blocks(page):
        if block.kind in ("sh", "console"):
            for arguments in command_lines(block):
                check(arguments)


def check(arguments: list[str]) -> None:
    """Parse a command line without running it; an unknown command or option raises."""
    if arguments[0].startswith("-"):
        return
    COMMANDS[arguments[0]].make_context(arguments[0], arguments[1:])


def test_the_check_can_fail() -> None:
    with pytest.raises(KeyError):
        check(["colapse"])
    with pytest.raises(Exception, match="No such option"):
        check(["collapse", "--feature-enrgy", "5"])


def test_blocks_are_found() -> None:
    """The reader of pages itself: kinds, captions, bodies."""
    claim = blocks(ROOT / "docs/extending/claim.md")
    assert claim[0].file == "my_claims/my_root.py"
    assert claim[0].body.startswith('"""The deviation')
    assert [block.kind for block in claim] == ["python", "python", "sh", "console"]
    assert claim[2] == Block("sh", claim[2].body, None)
    assert command_lines(claim[2])[0][:2] == ["reproduce", "my-root"]
