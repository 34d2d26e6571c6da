"""Misses, reliability and the page that shows them."""

import re
from dataclasses import replace

import pytest

from lopsided.engine.task import Row
from lopsided.skill.benchmark import Skill, family_details, score_family
from lopsided.skill.family import Amount, Choice, Family, Question
from lopsided.skill.misses import worst_misses
from lopsided.skill.page import reliability_figure, skill_page

FAMILY = Family(
    id="skill-toy",
    title="A <toy>",
    tasks=lambda: [],
    measure=lambda settings, seed: {},
    question=Question(
        "up or down",
        lambda settings, truth: [Choice(truth["way"])],
        {"sure": lambda settings, seen: [Choice("up", confidence=seen["chance"])]},
        "sure",
        {"always down": lambda settings, seen: [Choice("down")]},
        parts=lambda settings: ["the way"],
    ),
    numbers=(
        Question(
            "height",
            lambda settings, truth: [Amount(truth["height"])],
            {"one": lambda settings, seen: [Amount(1.0, 0.5, 2.0)]},
            "one",
            {"two": lambda settings, seen: [Amount(2.0)]},
            miss="ratio",
        ),
    ),
)
ROWS = [
    Row({"index": index}, 0, {"seen": {"chance": chance}, "truth": {"way": way, "height": height}})
    for index, (chance, way, height) in enumerate(
        [(0.95, "up", 1.0), (0.65, "down", 8.0), (0.92, "down", 1.5), (0.55, "up", 0.25)]
    )
]


def test_the_surest_wrong_choice_and_the_largest_error_come_first() -> None:
    found = worst_misses(FAMILY, ROWS)
    choices = [miss for miss in found if miss.question == "up or down"]
    assert [miss.settings["index"] for miss in choices] == [2, 1]
    assert choices[0].command == "lopsided skill --run --family toy --index 2"
    numbers = [miss for miss in found if miss.question == "height"]
    assert [miss.settings["index"] for miss in numbers][:2] == [1, 3]
    assert numbers[0].size == pytest.approx(3.0)  # a factor 8 in powers of 2


def test_long_lists_are_cut_and_the_command_gives_them_all() -> None:
    row = Row(
        {"index": 7}, 0, {"seen": {"chance": 0.9, "many": [0.123456] * 100}, "truth": {"way": "down", "height": 1.0}}
    )
    seen = worst_misses(FAMILY, [row])[0].seen
    assert seen["many"][0] == 0.1235
    assert seen["many"][-1] == "and 88 more"


def test_the_held_out_half_stays_closed() -> None:
    assert family_details(FAMILY, "held-out", ROWS)["misses"] == []
    assert family_details(FAMILY, "development", ROWS)["misses"]


def _skill() -> Skill:
    halves = ("development", "held-out")
    scores = [score_family(FAMILY, half, ROWS) for half in halves]
    return Skill(
        "0.1.0",
        "2026-01-01",
        scores,
        {"skill-other": "Needs mnist."},
        [family_details(FAMILY, half, ROWS) for half in halves],
    )


def test_the_page_shows_scores_diagrams_and_runs() -> None:
    page = skill_page(_skill())
    assert "A &lt;toy&gt;" in page
    assert "A <toy>" not in page
    assert "lopsided skill --run --family toy --index 2" in page
    assert len(re.findall(r'data-plot="\d+"', page)) == 2  # one diagram a question
    assert "Needs mnist." in page
    assert "https://" not in page.split("<script", 1)[0]  # offline


def test_a_page_without_scores_says_so() -> None:
    assert "This version has no published score" in skill_page(Skill("0.1.0", "", [], {}))


def test_the_diagram_has_both_halves_against_the_diagonal() -> None:
    figure = reliability_figure("toy", _skill().details)
    assert [panel.title for panel in figure.panels] == ["up or down", "height"]
    assert [series.label for series in figure.panels[0].series] == ["as stated", "development", "held-out"]


def test_the_documented_page_has_every_family() -> None:
    import sys
    from pathlib import Path

    pytest.importorskip("sphinx")
    folder = str(Path(__file__).parents[2] / "docs" / "extensions")
    sys.path.insert(0, folder)
    try:
        from skill_pages import skill_scores
    finally:
        sys.path.remove(folder)
    text = skill_scores(_skill())
    assert text.count("2 of 4") == 2
    assert "This version has no published score" in skill_scores(replace(_skill(), scores=[]))
