"""The README is one screen up to its links, and the output that it shows is that of the commands above it."""

import re
import runpy
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


def test_the_monitor_says_what_the_page_says() -> None:
    """The run with AdamW of docs/monitor.md, trained here: warned after the first epoch, and corrected afterwards."""
    monitor, _, before, after = runpy.run_path(str(ROOT / "docs/examples/monitor_adamw.py"))["run"]()
    warned = next(words for words in monitor.records[0].warnings if "likely to end" in words)
    rare = f"{before[8]:.2f} and {before[9]:.2f} as trained, {after[8]:.2f} and {after[9]:.2f}"
    balanced = f"balanced accuracy {sum(before) / 10:.3f} to {sum(after) / 10:.3f}"
    told = [f"epoch 0: {warned}", f"recall of test digits 8 and 9: {rare} after lopsided.torch.mend; {balanced}"]
    for now, then in zip(told, shown()[2], strict=True):
        assert NUMBER.sub("#", now).startswith(NUMBER.sub("#", then))
        found, page = ([float(number) for number in NUMBER.findall(text)] for text in (now, then))
        # other linear algebra moves a few of the 49 to 58 test digits of a class, and chances as much
        assert found[: len(page)] == pytest.approx(page, abs=0.06)
