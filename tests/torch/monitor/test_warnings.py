"""Planted collapse is named, and nothing else; each warning once."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import torch
from lopsided.core.published_skill import Record
from lopsided.measure.angles import pairwise_angles
from lopsided.torch import ImbalanceWarning, Monitor, RunSettings
from lopsided.torch.monitor import early_warnings
from lopsided.torch.monitor.early_warnings import EarlyWarnings, merging_cosines
from lopsided.torch.monitor.report import facts
from lopsided.torch.monitor.run_forecast import RunForecast
from torch import nn

from .reference import epochs, planted_head

LABELS = torch.arange(60) % 6


def merging(rows):
    return merging_cosines(rows, pairwise_angles(rows))


def planted_inputs(pair=None):
    generator = torch.Generator().manual_seed(0)
    means = torch.eye(6, 12)
    if pair is not None:
        means[pair[1]] = means[pair[0]]
    return means[LABELS] + 0.05 * torch.randn(60, 12, generator=generator)


@pytest.mark.parametrize("pair", [(1, 4), (0, 5)])
def test_planted_collapse_names_exactly_those_two(pair) -> None:
    settings = RunSettings(weight_decay=0.01)
    with pytest.warns(ImbalanceWarning) as caught:
        monitor = epochs(planted_head(pair), planted_inputs(pair), LABELS, 4, patterns=0, settings=settings, epochs=4)
    said = [words for record in monitor.records for words in record.warnings]
    # once each, though it lasts: the forecast, merging after two epochs in a row, the forecast with that cause, lost
    assert len(said) == len(caught) == 4
    early, merging, forecast, lost = said
    assert "cause: never learnt" in early
    assert "cause: merged" in forecast
    for words in (early, forecast):  # of two equal classifiers, one gets every example
        assert {k for k in range(6) if f"{k} (0." in words} == {pair[1]}
    assert lost.startswith(f"class {pair[1]} is lost: recall 0 on training examples in the last 3 epochs")
    assert merging.startswith(f"classes {pair[0]} and {pair[1]} are merging: cosine 1.00, forecast threshold ")
    assert merging.endswith("(they have 10 and 10)")
    assert [len(record.warnings) for record in monitor.records] == [1, 2, 1, 0]
    assert monitor.records[1].classifier.closest == pair
    assert monitor.records[1].train.means.largest_cosine > 0.95


def test_a_healthy_network_is_left_in_peace() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ImbalanceWarning)
        monitor = epochs(planted_head(), planted_inputs(), LABELS, 4, patterns=0)
    assert all(not record.warnings for record in monitor.records)


def test_a_vector_common_to_all_classifiers_is_no_merging() -> None:
    rows = np.eye(5) + 10  # cosines of 0.998, but softmax does not feel what is common
    assert np.nanmax(merging(rows)) < 0
    rows[1] = rows[0]
    found = merging(rows)
    assert found[0, 1] == pytest.approx(1)
    assert np.nanmax(np.where(np.eye(5), np.nan, found)[2:]) < 0.9


def test_two_classes_that_merge() -> None:
    found = merging(np.array([[1.0, 0], [1, 0]]))
    assert found[0, 1] == pytest.approx(1)
    model = nn.Sequential(nn.Identity(), nn.Linear(3, 2))
    with torch.no_grad():
        model[1].weight[:] = torch.tensor([1.0, 2, 3])
    with pytest.warns(ImbalanceWarning, match="classes 0 and 1 are merging"):
        epochs(model, torch.randn(40, 3), torch.arange(40) % 2, 2)


def look(times=1, **change):
    """Warnings of the last of some looks at six orthogonal classifiers, with changes."""
    watch = EarlyWarnings(6, [f"c{k}" for k in range(6)], warn_at=0.9, patience=1)
    facts = {"settings": RunSettings(), "examples": 60.0, "features": "free"}
    facts |= {key: value for key, value in change.items() if key in RunForecast.__dataclass_fields__}
    weight = change.get("weight", np.eye(6))
    said = []
    for _ in range(times):
        said = watch.look(
            merging(weight),
            np.linalg.norm(weight, axis=1),
            RunForecast(**facts),
            np.arange(1.0, 7.0),
            change.get("absent", ()),
        )
    return said


def test_a_classifier_of_length_0_may_merge_by_its_centred_cosine() -> None:
    """No plain cosine is near 1, and a row of zeros has none; centred, rows 0 and 1 lie in one direction."""
    watch = EarlyWarnings(3, ["a", "b", "c"], warn_at=0.9, patience=1)
    weight = np.array([[0.0, 0.0], [0.1, 0.0], [-10.0, 0.0]])
    found = pairwise_angles(weight)
    assert found.largest == -1.0
    forecast = RunForecast(RunSettings(), 30.0, "relu")
    said = watch.look_at(weight, found.lengths, found, forecast, None, ())
    assert said[0] == "classes a and b are merging: cosine 1.00"
    assert watch.merged == [0, 1]
    apart = np.eye(3, 2)[[0, 1, 0]] * [[1], [1], [-1]]
    watch.look_at(apart, np.ones(3), pairwise_angles(apart), forecast, None, ())
    assert watch.merged == []


def test_each_kind_in_words_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early_warnings, "measured_skill", lambda kind: None)
    short = np.diag([1.0, 1, 1, 1, 1, 0.01])
    risk = {"at_risk": (0, 2), "merging_threshold": 41.4}
    assert look() == []
    assert look(weight=short) == ["class c5 has a classifier of at most 0.01 times the median length"]
    assert look(absent=(3, 4)) == ["classes c3 and c4 had no training examples in this epoch"]
    assert look(**risk) == [
        "classes c0 and c2 with 1 and 3 examples are likely to merge with another: forecast threshold 41.4 examples "
        "(merging law)"
    ]
    for change in ({"weight": short}, {"absent": (3, 4)}, risk):
        assert look(times=2, **change) == []
    three = np.eye(6)
    three[4] = three[5] = three[3]
    assert look(weight=three) == ["classes c3, c4 and c5 are merging: cosines from 1.00 up (they have 4, 5 and 6)"]


def test_divergence_is_said_and_stops_nothing() -> None:
    model = planted_head()
    monitor = Monitor(model, patterns=0)
    model(planted_inputs())
    monitor.update(LABELS)
    with torch.no_grad():
        model[1].weight[0, 0] = torch.nan
    with pytest.warns(ImbalanceWarning, match="diverged"):
        record = monitor.end_epoch()
    assert record.classifier is None
    assert record.train is not None
    model(planted_inputs())
    monitor.update(LABELS)
    assert not monitor.end_epoch().warnings  # said once
    with torch.no_grad():
        model[1].weight[0, 0] = 1.0
    model(planted_inputs() * torch.nan)
    monitor.update(LABELS)
    record = monitor.end_epoch()
    assert record.train.neural_collapse is None
    assert any("NaN" in note for note in record.notes)
    assert record.to_dict()["train"]["loss"] is None


def test_a_forecast_says_how_often_such_came_true(monkeypatch: pytest.MonkeyPatch) -> None:
    scored = Record("skill-collapse-ratio", "merging law", "", 30, 160, 150, 131, 131 / 150, (0.8, 0.92), "never", 0.6)
    monkeypatch.setattr(early_warnings, "measured_skill", lambda kind: scored if kind == "classes lost" else None)
    risk = {"at_risk": (0, 2), "merging_threshold": 41.4}
    assert look(**risk)[0].endswith("(merging law, right in 87 of 100 such cases)")
    # a run unlike those that were scored has no score to quote
    assert look(**risk, outside_fit=("batch size 8",))[0].endswith("(merging law, outside its range: batch size 8)")
    # a convolutional one has: the recipe that was scored tells the law of convolutions
    assert look(**risk, settings=RunSettings(convolutional=True))[0].endswith("right in 87 of 100 such cases)")


@pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")
def test_the_page_quotes_a_score_beside_the_call_that_was_scored() -> None:
    """The multiplier: a class forecast to collapse, under SGD. The law: within its range."""
    record = epochs(planted_head(), planted_inputs(), LABELS, 1, patterns=0).records[-1]

    def scored(settings: RunSettings, **told) -> list[str]:
        forecast = RunForecast(settings, 60.0, "free", **told)
        rows = facts([replace(record, forecast=forecast)], [f"c{k}" for k in range(6)])
        return [rows[place - 1][0] for place, row in enumerate(rows) if row[0] == "measured skill"]

    sgd, lost = RunSettings(optimizer="SGD"), {"count_needed": 12.0, "collapsed": (1,)}
    assert scored(sgd, **lost) == ["forecast to collapse"]
    assert scored(sgd, count_needed=2.0) == scored(RunSettings(optimizer="Adam"), **lost) == []
    assert scored(sgd, merging_threshold=12.0, at_risk=(1,)) == ["likely to merge"]
    assert scored(sgd, merging_threshold=12.0, at_risk=(1,), outside_fit=("batch size 8",)) == []
