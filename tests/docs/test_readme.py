"""The README is one screen up to its links, and the output that it shows is that of the commands above it."""

import re
import shlex

import pytest

from lopsided.cli.main import main
from tests.docs.pages import ROOT, blocks

README = ROOT / "README.md"
NUMBER = re.compile(r"[-+]?\d+\.?\d*")


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


def test_the_trial_says_what_the_page_says(tmp_path, monkeypatch, capsys) -> None:
    """The words to the letter; other linear algebra may move the numbers a little."""
    monkeypatch.chdir(tmp_path)
    command = next(line for line in README.read_text(encoding="utf-8").splitlines() if "./lopsided trial" in line)
    assert main(["data", "example", "rare-tumours"]) == 0
    assert main([*shlex.split(command)[1:], "--jobs", "1"]) == 0
    told = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Use "))
    page = " ".join(shown()[1])
    assert NUMBER.sub("#", told).startswith(NUMBER.sub("#", page))
    now, then = ([float(number) for number in NUMBER.findall(text)] for text in (told, page))
    assert now[:3] == pytest.approx(then[:3], abs=0.01)  # the gain and its interval
    assert now[3 : len(then)] == pytest.approx(then[3:], abs=3)  # chances in percent
