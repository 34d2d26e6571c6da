"""What the pages quote of the published score is in it."""

import re
import runpy
import sys

from lopsided.core.published_skill import measured_skill
from lopsided.skill.benchmark import STRICTER, published
from tests.docs.pages import ROOT

MARKS = ("5%", "10%", "20%", "50%")


def test_the_monitors_page_quotes_the_published_auc() -> None:
    entry = next(one for one in published().scores if (one.family, one.split) == ("skill-recall-early", "held-out"))
    asked = entry.numbers[STRICTER]
    scores = [asked.get(f"is this class lost, seen at {mark}", entry.numbers)["recipes"] for mark in MARKS]
    text = (ROOT / "docs/monitor.md").read_text(encoding="utf-8")
    sentence = text[text.index("the AUC of") :].split(" without.")[0]
    quoted = [float(number) for number in re.findall(r"0\.\d{3}", sentence)]
    recipes = ("recall forecast", "without the inputs")
    assert quoted == [round(found[recipe]["auc"], 3) for recipe in recipes for found in scores]


def test_every_goal_finds_its_score(monkeypatch) -> None:
    folder = ROOT / "docs/extensions"
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    page = runpy.run_path(str(folder / "skill_goals.py"))
    rows = [page["goals"](published(), name).splitlines()[2:] for name in ("skill-goals", "skill-recall", "skill-lost")]
    assert [len(lines) for lines in rows] == [21, 32, 15]
    assert all(line.count("|") == 6 for lines in rows for line in lines)
    assert "another run (not shipped)" in page["lost_classes"](published())


def test_the_monitors_page_quotes_the_published_rate_of_its_law() -> None:
    record = measured_skill("classes lost")
    assert record is not None
    text = (ROOT / "docs/monitor.md").read_text(encoding="utf-8")
    assert re.findall(r"right in (\d+) of 100 such cases", text) == [str(round(100 * record.rate))]
