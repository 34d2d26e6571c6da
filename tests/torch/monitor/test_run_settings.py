"""What is read from the network, the optimizer and the loss."""

import pytest

import torch
from lopsided.theory.network_forecast import network_forecast
from lopsided.torch import LogitAdjustedLoss, Monitor, WeightedCrossEntropy
from lopsided.torch.monitor.run_settings import RunReader, loss_settings, optimizer_settings
from torch import nn

from .reference import small_network

pytestmark = pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")  # a few epochs teach little


class Lion(torch.optim.SGD):
    """Stands for an optimizer of another package that is known by its name."""


@pytest.mark.parametrize(
    ("kind", "options", "decoupled"),
    [
        (torch.optim.AdamW, {}, True),
        (torch.optim.Adam, {}, False),
        (torch.optim.Adam, {"decoupled_weight_decay": True}, True),
        (torch.optim.NAdam, {"decoupled_weight_decay": True}, True),
        (torch.optim.Adafactor, {}, True),
        (torch.optim.SGD, {}, False),
        (Lion, {}, True),
    ],
)
def test_decoupled_decay(kind, options, decoupled) -> None:
    layer = nn.Linear(3, 2)
    found = optimizer_settings(kind(layer.parameters(), lr=0.1, weight_decay=0.01, **options), layer.weight)
    assert found["decoupled_decay"] is decoupled
    assert found["weight_decay"] == 0.01


def test_losses() -> None:
    plain = loss_settings(nn.CrossEntropyLoss(weight=torch.ones(3)))
    assert plain == {
        "loss": "CrossEntropyLoss",
        "class_weighted": False,
        "logit_adjusted": False,
        "label_smoothing": 0.0,
    }
    assert loss_settings(nn.CrossEntropyLoss(label_smoothing=0.1))["label_smoothing"] == 0.1
    of_timm = nn.CrossEntropyLoss()
    of_timm.smoothing = 0.2  # as timm.loss.LabelSmoothingCrossEntropy calls it
    assert loss_settings(of_timm)["label_smoothing"] == 0.2
    for weighted in (nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0])), WeightedCrossEntropy([1.0, 2.0])):
        assert loss_settings(weighted)["class_weighted"]
    assert loss_settings(LogitAdjustedLoss([90, 10]))["logit_adjusted"]
    assert loss_settings(None) == {}


def convolutional():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4 * 36, 16), nn.Linear(16, 4))


def test_convolutions_and_frozen_layers() -> None:
    model = convolutional()
    read = RunReader(model, model[4].weight, None, None).read(32)
    assert (read.hidden_layers, read.convolutional, read.frozen) == (2, True, 0.0)
    model[0].requires_grad_(False)
    read = RunReader(model, model[4].weight, None, None).read(32)
    assert (read.hidden_layers, read.convolutional) == (1, False)
    only_head = torch.optim.SGD(model[4].parameters(), lr=0.1)
    read = RunReader(model, model[4].weight, only_head, None).read(32)
    assert read.hidden_layers == 0
    assert read.frozen == pytest.approx(1 - 64 / (36 + 4 * 36 * 16 + 64))


def forecast(model, loss, optimizer, counts=(400, 300, 20, 10), **options):
    with Monitor(model, loss=loss, optimizer=optimizer, counts=counts, patterns=0, **options) as monitor:
        codes = torch.arange(32) % 4
        inputs = torch.randn(32, 1, 8, 8) if isinstance(model[0], nn.Conv2d) else torch.randn(32, 5)
        loss(model(inputs), codes).backward()
        optimizer.step()
        return monitor.end_epoch().forecast


def test_the_law_is_asked_about_convolutions() -> None:
    model = convolutional()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-3)
    asked = {"weight_decay": 5e-3, "step": 0.1, "batch_size": 32, "momentum": 0.9, "hidden_layers": 2}
    found = forecast(model, nn.CrossEntropyLoss(), optimizer).merging_threshold
    known, without = (
        network_forecast((400, 300, 20, 10), **asked, convolutional=c).count_needed for c in (True, False)
    )
    assert found == known != without


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1, 5, 9])), "class weights"),
        (nn.CrossEntropyLoss(label_smoothing=0.1), "label smoothing"),
        (LogitAdjustedLoss([400, 300, 20, 10]), "adjusted logits"),
    ],
)
def test_a_changed_loss_is_a_reason_to_decline(loss, words) -> None:
    model = small_network(batch_norm=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=5e-3)
    declined = forecast(model, loss, optimizer).declined
    assert len(declined) == 2
    assert all(words in reason for reason in declined)


def test_a_frozen_backbone_and_weak_decay_are_said() -> None:
    model = small_network(batch_norm=True)
    head = torch.optim.SGD(model[3].parameters(), lr=0.1, weight_decay=5e-3)
    assert any("only the head is trained" in reason for reason in forecast(model, nn.CrossEntropyLoss(), head).declined)
    adamw = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    found = forecast(model, nn.CrossEntropyLoss(), adamw, epochs=10)
    assert found.settings.forgetting == pytest.approx(1e-5)
    assert found.settings.planned_forgetting == pytest.approx(1e-4)
    assert all("too little to merge classes" in reason for reason in found.declined)


def test_forgetting_counts_momentum_and_schedules() -> None:
    model, loss = small_network(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    halve = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    with Monitor(model, loss=loss, optimizer=optimizer, patterns=0) as monitor:
        for _ in range(3):
            loss(model(torch.randn(8, 5)), torch.arange(8) % 4).backward()
            optimizer.step()
            halve.step()
        settings = monitor.end_epoch().forecast.settings
    assert settings.forgetting == pytest.approx((0.1 + 0.05 + 0.025) * 0.01 / 0.1)
    assert settings.planned_forgetting is None
