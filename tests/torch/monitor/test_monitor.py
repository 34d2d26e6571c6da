"""The monitor in real training loops: what it measures and forecasts."""

import json

import numpy as np
import pytest

import torch
from lopsided.core.errors import InputError
from lopsided.measure.coupling import pattern_change
from lopsided.measure.weight_change import relative_distance, spectrum
from lopsided.theory.collapse import collapse
from lopsided.theory.network_forecast import network_forecast
from lopsided.torch import Monitor, RunSettings
from torch import nn

from .reference import epochs, features_of, small_network


@pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")  # three epochs teach little
def test_three_lines(run, tmp_path) -> None:
    model, inputs, labels, loss, optimizer, train = run
    monitor = Monitor(model, loss=loss, optimizer=optimizer)
    for _ in range(3):
        train()
        model.eval()
        with torch.no_grad():
            loss(model(inputs[:40]), labels[:40])
        record = monitor.end_epoch()
    assert record.epoch == 2
    assert record.step == 9
    assert record.train.examples == 96
    assert record.held_out.examples == 40
    settings = record.forecast.settings
    read = {"convolutional": False, "frozen": 0.0, "loss": "CrossEntropyLoss", "class_weighted": False}
    read |= {"logit_adjusted": False, "label_smoothing": 0.0, "forgetting": pytest.approx(9 * 0.005)}
    assert settings == RunSettings(0.005, 0.1, 0.9, 32, 1, True, "SGD", False, **read)
    text = json.dumps(record.to_dict(), allow_nan=False)
    assert json.loads(text)["train"]["counts"] == [24] * 4
    assert json.loads(text)["forecast"]["survival_threshold"] == record.forecast.merging_threshold
    assert record.scalars()["forecast/survival_threshold"] == record.forecast.merging_threshold
    assert record.scalars()["train/neural_collapse/nc1"] == record.train.neural_collapse.nc1
    page = monitor.report(tmp_path / "page.html").read_text()
    assert "Cosines between classes" in page
    assert "by the merging law" in page
    assert monitor.report(tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_forecasts_are_those_of_the_theory(run) -> None:
    model, inputs, labels, loss, optimizer, train = run
    monitor = Monitor(model, loss=loss, optimizer=optimizer, counts=[900, 500, 40, 20])
    train(size=48)  # a step, so that the batch size is known; features of a real epoch move, so compare a frozen one
    monitor.end_epoch()
    with torch.no_grad():
        loss(model(inputs), labels)
    w = model[-1].weight.detach().double().numpy()
    means = np.array([features_of(model, inputs)[k::4].mean(axis=0) for k in range(4)])
    forecast = monitor.end_epoch().forecast
    centred = means - means.mean(axis=0)
    energies = (w**2).sum(axis=1).mean(), (centred**2).sum(axis=1).mean()
    multiplier = 5e-3 * np.sqrt(energies[0] / energies[1])
    # Batch normalisation in float32 in both: 1e-5.
    assert forecast.multiplier == pytest.approx(multiplier, rel=1e-5)
    norm = np.linalg.svd(w @ centred.T, compute_uv=False).sum()
    assert forecast.multiplier_from_logits == pytest.approx(5e-3 * 4 * energies[0] / norm, rel=1e-5)
    whole = collapse([900, 500, 40, 20], multiplier=forecast.multiplier, features="relu")
    assert forecast.features == "relu"
    assert forecast.count_needed == pytest.approx(whole.count_needed)
    assert forecast.collapsed == tuple(whole.collapsed)
    assert forecast.settings.batch_size == 48
    law = network_forecast(
        [900, 500, 40, 20], weight_decay=5e-3, step=0.1, batch_size=48, momentum=0.9, hidden_layers=1
    )
    assert forecast.merging_threshold == pytest.approx(law.count_needed)
    assert forecast.survival == pytest.approx(law.survival.tolist())
    assert forecast.at_risk == tuple(law.at_risk)
    assert forecast.outside_fit == law.outside


@pytest.mark.parametrize(
    ("optimizer", "settings", "words"),
    [
        (lambda p: torch.optim.AdamW(p, weight_decay=0.01), None, "AdamW uses decoupled weight decay"),
        (lambda p: torch.optim.SGD(p, lr=0.1), None, "without weight decay"),
        (lambda p: torch.optim.Adam(p, weight_decay=0.01), None, "fitted on SGD, not Adam"),
        (None, None, "weight decay is not known"),
        (None, RunSettings(weight_decay=0.01), "batch normalisation"),
    ],
)
def test_forecasts_outside_their_assumptions_decline_in_words(optimizer, settings, words) -> None:
    model = small_network(batch_norm=settings is None)
    made = None if optimizer is None else optimizer(model.parameters())
    monitor = epochs(model, torch.randn(60, 5), torch.arange(60) % 4, 1, optimizer=made, settings=settings)
    assert any(words in reason for reason in monitor.records[0].forecast.declined)
    if settings is not None:
        assert monitor.records[0].forecast.multiplier is not None


def test_batch_size_under_gradient_accumulation(run) -> None:
    model, inputs, labels, loss, optimizer, _ = run
    monitor = Monitor(model, loss=loss, optimizer=optimizer)
    for place, rows in enumerate(torch.arange(96).split(16)):
        loss(model(inputs[rows]), labels[rows]).backward()
        if place % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
    record = monitor.end_epoch()
    assert record.forecast.settings.batch_size == 48
    assert record.step == 2
    assert record.train.examples == 96


def test_long_epochs_are_observed_in_part(run) -> None:
    model, _, _, loss, optimizer, _ = run
    labels = torch.where(torch.arange(20_000) % 10 == 0, 3, torch.arange(20_000) % 3)
    inputs = torch.randn(20_000, 5)
    monitor = Monitor(model, loss=loss, optimizer=optimizer)
    whole = Monitor(model, observe_every=1, patterns=0)
    with torch.no_grad():
        for rows in torch.arange(20_000).split(64):
            logits = model(inputs[rows])
            whole.update(labels[rows])
            loss(logits, labels[rows])
    record, full = monitor.end_epoch(), whole.end_epoch()
    observed = 100 * 64 + sum(len(rows) for rows in torch.arange(20_000).split(64)[112::16])  # 112 is 7 x 16
    assert record.train.examples == observed
    assert full.train.examples == 20_000
    assert any("observe_every=1" in note for note in record.notes)
    assert not full.notes
    # Frozen weights: a share of the examples estimates the same means; accuracy to four standard errors.
    assert record.train.accuracy == pytest.approx(full.train.accuracy, abs=4 * np.sqrt(0.25 / observed))
    assert record.forecast.examples == pytest.approx(20_000, abs=4)  # rounded per class
    assert record.step == len(torch.arange(20_000).split(64))  # no optimizer step: batches are counted
    model.eval()
    with torch.no_grad():
        for rows in torch.arange(20_000).split(64):
            loss(model(inputs[rows]), labels[rows])
    assert monitor.end_epoch().held_out.examples == 20_000


@pytest.mark.parametrize("annealed_before_the_epoch_is_closed", [False, True])
def test_the_largest_step_is_remembered(run, annealed_before_the_epoch_is_closed) -> None:
    model, _, _, loss, optimizer, train = run
    monitor = Monitor(model, loss=loss, optimizer=optimizer)
    for _ in range(2):
        train()
        if annealed_before_the_epoch_is_closed:  # Lightning steps its schedulers first
            optimizer.param_groups[0]["lr"] /= 10
        record = monitor.end_epoch()
        if not annealed_before_the_epoch_is_closed:
            optimizer.param_groups[0]["lr"] /= 10
    assert record.forecast.settings.learning_rate == 0.1


def test_layers_and_patterns_against_whole_arrays(run) -> None:
    model, inputs, _, loss, optimizer, train = run
    starts = {name: p.detach().clone().double().numpy() for name, p in model.named_parameters() if p.ndim > 1}

    def preactivations():
        with torch.no_grad():
            hidden = model[0](inputs[:32])
            return ((hidden - hidden.mean(0)) / (hidden.var(0, unbiased=False) + model[1].eps).sqrt() * model[1].weight
                    + model[1].bias).numpy()  # fmt: skip

    before = preactivations()
    monitor = Monitor(model, loss=loss, optimizer=optimizer, patterns=32, spectra_every=2)
    for _ in range(2):
        train(3)
        record = monitor.end_epoch()
    for layer in record.layers:
        start, now = starts[f"{layer.name}.weight"], model.get_submodule(layer.name).weight.detach().double().numpy()
        assert layer.relative_distance == pytest.approx(relative_distance(start, now).frobenius, rel=1e-5)
        whole = spectrum(now - start)
        # Subspace iteration on a 6 x 5 or 4 x 6 matrix with every column kept is exact; float32 differences.
        assert layer.stable_rank == pytest.approx(whole.stable_rank, rel=1e-4)
        assert layer.spectrum is None
        first = monitor.records[0].layers[0].spectrum
        assert len(first.values) == 5
    expected = pattern_change(before, preactivations())
    assert record.patterns[0].pairs == pytest.approx(expected.pairs, abs=2 / 192)  # a sign at 0 may round either way
    assert record.patterns[0].examples == 32
    assert 0 < record.patterns[0].pairs < 1


def test_functional_relu_shows_its_pattern_in_the_features() -> None:
    class Functional(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(5, 6), nn.Linear(6, 3)

        def forward(self, x):
            return self.head(torch.relu(self.body(x)))

    model = Functional()
    monitor = epochs(model, torch.randn(60, 5), torch.arange(60) % 3, 1)
    assert [entry.name for entry in monitor.records[0].patterns] == ["features"]
    assert monitor.records[0].patterns[0].pairs == 0
    smooth = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3))
    record = epochs(smooth, torch.randn(60, 5), torch.arange(60) % 3, 1).records[0]
    assert not record.patterns
    assert any("no ReLU units" in note for note in record.notes)


def test_groups(run) -> None:
    model, inputs, labels, _, _, _ = run
    monitor = Monitor(model.eval(), groups=("land", "water"))
    groups = (torch.arange(96) % 3 == 0).long()
    logits = model(inputs).detach()
    monitor.update(labels, groups)
    found = monitor.end_epoch().held_out.groups
    right = (logits.argmax(1) == labels).float()
    losses = nn.functional.cross_entropy(logits, labels, reduction="none")
    for code, group in enumerate(found):
        inside = groups == code
        assert group.name == ("land", "water")[code]
        assert group.examples == int(inside.sum())
        assert group.accuracy == pytest.approx(right[inside].mean().item())
        assert group.loss == pytest.approx(losses[inside].mean().item(), rel=1e-5)
    model(inputs)
    with pytest.raises(InputError, match="group codes"):
        monitor.update(labels, groups[:5])
