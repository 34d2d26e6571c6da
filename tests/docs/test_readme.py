"""The README is one screen up to its links, and the output that it shows is that of the commands above it."""

import re

from lopsided.cli.main import main
from tests.docs.pages import ROOT, blocks

README = ROOT / "README.md"


def shown() -> list[list[str]]:
    """The lines of output on the page, block by block."""
    return [block.body.strip().splitlines() for block in blocks(README) if block.kind == "text"]


def test_the_first_screen_is_one_screen() -> None:
    text = README.read_text(encoding="utf-8")
    first = text[: text.index("\n## ")].splitlines()
    assert len(first) <= 30
    assert sum(line.startswith("![") for line in first) == 1


def test_the_audit_says_what_the_page_says(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["data", "example", "rare-tumours"]) == 0
    assert main(["audit", "rare-tumours.csv", "--labels", "tumour", "--no-report"]) == 0
    printed = re.sub(r"\s+", " ", capsys.readouterr().out)
    for line in shown()[0]:
        assert line in printed
