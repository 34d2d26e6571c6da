"""The monitor forecasts every class's recall, says why a class is being lost and what to do, and says it once."""

import warnings

import numpy as np
import pytest

import torch
from lopsided.measure.posthoc_gain import posthoc_gain
from lopsided.theory.recall_law import recall_forecast
from lopsided.torch import ImbalanceWarning, Monitor
from lopsided.torch.monitor.class_evidence import KeptRows
from torch import nn


def watched(epochs: int, *, validate: bool = True, at: range | None = None, **options):
    """A linear model of three classes; the rare one overlaps a frequent one, as a class lost to the prior does."""
    torch.manual_seed(0)
    counts = [400, 200, 10]
    codes = torch.repeat_interleave(torch.arange(3), torch.tensor(counts))
    means = torch.tensor([[0.0, 0.0], [6.0, 0.0], [0.0, 1.8]])
    inputs = torch.randn(610, 2) + means[codes]
    shown_codes = torch.arange(150) % 3
    shown = torch.randn(150, 2) + means[shown_codes]
    model, loss = nn.Linear(2, 3), nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    monitor = Monitor(model, loss=loss, optimizer=optimizer, names=("a", "b", "rare"), epochs=epochs, **options)
    for epoch in range(epochs):
        model.train()
        for rows in torch.randperm(610).split(32):
            optimizer.zero_grad()
            loss(model(inputs[rows]), codes[rows]).backward()
            optimizer.step()
        if validate and (at is None or epoch in at):
            model.eval()
            with torch.no_grad():
                logits = model(shown)
                loss(logits, shown_codes)
        monitor.end_epoch()
    return monitor, logits if validate else None, shown_codes


@pytest.fixture(scope="module")
def prior_run():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ImbalanceWarning)
        monitor, logits, codes = watched(10)
    return monitor, logits, codes, [str(one.message) for one in caught]


def test_every_class_has_a_forecast(prior_run) -> None:
    monitor, *_ = prior_run
    plain = monitor.records[1].to_dict()["recall_forecast"]
    assert plain["seen"] == pytest.approx(0.2)
    assert [set(one) for one in plain["classes"]] == [{"recall", "low", "high", "chance_lost", "cause"}] * 3
    last = monitor.records[-1]
    assert last.recall_forecast.likely_lost == [2]
    assert [one.cause for one in last.recall_forecast.classes] == [None, None, "prior"]
    again = recall_forecast(last.evidence)
    assert [one.recall for one in last.recall_forecast.classes] == pytest.approx(again.recall.tolist())


def test_the_warning_names_cause_remedy_and_gain_once(prior_run) -> None:
    *_, said = prior_run
    about = [words for words in said if "likely to end with a recall below 0.2" in words and "cause: prior" in words]
    assert len(about) == 1
    assert "class rare (" in about[0]
    assert "adjust the logits" in about[0]
    assert any("post-hoc logit adjustment would change balanced accuracy by +" in words for words in said)


def test_the_gain_is_that_of_the_held_out_logits(prior_run) -> None:
    monitor, logits, codes, _ = prior_run
    found = monitor.records[-1].posthoc
    again = posthoc_gain(logits.double().numpy(), codes.numpy(), [400, 200, 10])
    assert found.gain == pytest.approx(again.gain, abs=1e-12)
    assert found.low > 0


@pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")
def test_an_evaluation_stands_until_the_next_one() -> None:
    """Validated every third epoch of twelve: the forecasts between rest on the latest evaluation, and say so."""
    monitor, *_ = watched(12, at=range(2, 12, 3))
    recalls = np.array([record.evidence.held_out_recall for record in monitor.records])
    assert np.isnan(recalls[:2]).all()
    for epoch in range(2, 12):
        latest = 3 * ((epoch + 1) // 3) - 1
        assert recalls[epoch].tolist() == list(monitor.records[latest].held_out.class_accuracy)
        told = () if epoch == latest else (f"held-out examples as they were in epoch {latest}",)
        assert monitor.records[epoch].recall_forecast.notes == told
    medians = np.array([[one.recall for one in record.recall_forecast.classes] for record in monitor.records[2:]])
    # a forecast that lost its evidence moved by 0.6 from one epoch to the next
    assert np.abs(np.diff(medians, axis=0)).max() < 0.3


def test_an_evaluation_before_any_training_is_an_evaluation() -> None:
    model, loss = nn.Linear(2, 3), nn.CrossEntropyLoss()
    monitor = Monitor(model, loss=loss, counts=[20, 20, 20])
    inputs, labels = torch.randn(60, 2), torch.arange(60) % 3
    model.eval()
    loss(model(inputs), labels)
    before = monitor.end_epoch()
    model.train()
    loss(model(inputs), labels)
    found = monitor.end_epoch()
    assert before.recall_forecast is None
    assert found.evidence.held_out_recall.tolist() == list(before.held_out.class_accuracy)


@pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")
def test_an_old_evaluation_is_forgotten() -> None:
    """Evaluated in the third epoch alone: after as many epochs again it says nothing more."""
    monitor, *_ = watched(8, at=range(2, 3))
    known = [bool(np.isfinite(record.evidence.held_out_recall).all()) for record in monitor.records]
    assert known == [False, False, True, True, True, True, False, False]


@pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")
def test_without_validation_or_length_there_is_a_forecast_too() -> None:
    monitor, *_ = watched(6, validate=False)
    record = monitor.records[-1]
    assert record.posthoc is None
    assert not np.isfinite(record.evidence.held_out_recall).any()
    assert len(record.recall_forecast.classes) == 3
    monitor._plan._epochs = None
    assert monitor.seen is None


@pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")
def test_epochs_not_measured_in_full_keep_the_latest_ranks() -> None:
    monitor, *_ = watched(7, geometry_every=10)
    three, four = monitor.records[2].evidence, monitor.records[3].evidence
    assert four.held_out_auc.tolist() == three.held_out_auc.tolist()
    assert four.train_loss.tolist() != three.train_loss.tolist()
    assert monitor.records[3].recall_forecast.seen == pytest.approx(4 / 7)


def test_rows_are_kept_class_by_class() -> None:
    kept = KeptRows(3, 2, per_class=True)
    kept._quota = 4
    codes = torch.tensor([0] * 50 + [1] * 3 + [-100, 7] + [2] * 5)
    features = torch.arange(120.0).reshape(60, 2)
    for part in range(0, 60, 7):
        rows = slice(part, part + 7)
        kept.add(features[rows], torch.zeros(len(codes[rows]), 3), codes[rows])
    found = kept.snapshot()
    assert np.bincount(found.codes).tolist() == [4, 3, 4]
    assert found.features[:4].tolist() == features[:4].tolist()
    assert not kept.full
    kept.add(features[:1], torch.zeros(1, 3), torch.tensor([1]))
    assert kept.full
    kept.clear()
    assert kept.snapshot() is None
