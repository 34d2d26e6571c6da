"""The recall families score what the monitor tells: a constant in its place is what is scored then."""

import gzip
import json
from types import SimpleNamespace

import pytest
from bench.laws.recall_fit import MEASURED

from lopsided.engine.task import Row
from lopsided.skill.benchmark import score_family
from lopsided.skill.families import recall_before, recall_cause, recall_early
from lopsided.torch import before_training
from lopsided.torch.monitor import recall_outlook
from lopsided.torch.monitor.recall_outlook import ClassOutlook


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """The smallest of the measured tasks: scoring all 68 takes half a minute."""
    with gzip.open(MEASURED) as file:
        one = min(json.load(file), key=lambda one: (one["settings"]["classes"], one["settings"]["index"]))
    return [Row(one["settings"], 0, {"seen": one["seen"], "truth": one["truth"]})]


def _constant(classes: int) -> SimpleNamespace:
    """An outlook that says of every class that it is lost, because it has merged."""
    one = ClassOutlook(recall=0.1, low=0.0, high=0.2, chance_lost=1.0, cause="merged")
    return SimpleNamespace(classes=[one] * classes, scores=(0.0,) * classes)


@pytest.mark.parametrize(
    ("family", "home", "shipped"),
    [
        (recall_early.FAMILY, recall_outlook, "run_outlook"),
        (recall_before.FAMILY, before_training, "planned_outlook"),
    ],
)
def test_a_constant_in_the_place_of_the_shipped_outlook_is_what_is_scored(
    monkeypatch: pytest.MonkeyPatch, rows: list[Row], family, home, shipped: str
) -> None:
    was = score_family(family, "development", rows)
    recalls = rows[0].numbers["truth"]["recall"]
    monkeypatch.setattr(home, shipped, lambda *given, **options: _constant(len(recalls)))
    now = score_family(family, "development", rows)
    assert was.right > now.right == sum(recall < 0.2 for recall in recalls)


def _planted(recall: float) -> Row:
    """Class 4 was planted as never learnt; its last recall says whether the monitor can find it lost."""
    evidence = {
        "seen": 1.0,
        "counts": [400.0] * 4 + [10.0],
        "train_recall": [1.0] * 4 + [recall],
        "train_loss": [0.01] * 4 + [0.01 if recall else 7.0],
        "train_margin": [5.0] * 4 + [5.0 if recall else -5.0],
    }
    truth = {"planted": [4], "recall": [1.0] * 4 + [recall]}
    return Row({"cause": "never learnt"}, 0, {"seen": {"evidence": evidence, "merged": []}, "truth": truth})


def test_the_monitor_is_not_told_which_classes_were_planted(monkeypatch: pytest.MonkeyPatch) -> None:
    told = recall_cause.FAMILY.question.recipes[recall_cause.DEFAULT]
    lost, learnt = _planted(0.0), _planted(1.0)
    assert [choice.answer for choice in told(learnt.settings, learnt.numbers["seen"])] == [None]
    assert [choice.answer for choice in told(lost.settings, lost.numbers["seen"])] == ["never learnt"]
    assert score_family(recall_cause.FAMILY, "development", [lost]).right == 1
    monkeypatch.setattr(recall_outlook, "run_outlook", lambda evidence, merged=(): _constant(evidence.classes))
    assert score_family(recall_cause.FAMILY, "development", [lost]).right == 0
