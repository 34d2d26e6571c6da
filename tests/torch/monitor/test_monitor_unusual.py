"""Unusual models, labels and mistakes: the monitor copes, or says what to change."""

import numpy as np
import pytest

import torch
from lopsided.core.errors import InputError
from lopsided.torch import Monitor, RunSettings
from torch import nn

from .reference import epochs


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda m, x, y: m.end_epoch(), "labelled forward passes"),
        (lambda m, x, y: m.update(y), "forward pass through the head"),
        (lambda m, x, y: (m._model(x), m.update(y[:-1])), "once after each forward"),
        (lambda m, x, y: (m._model(x), m.update(torch.rand(96, 4))), "mixup"),
        (lambda m, x, y: (m._model(x), m.update(["cat"] * 96)), "whole numbers"),
        (lambda m, x, y: (m._model(x), m.update(torch.tensor(3))), "one label per example"),
        (lambda m, x, y: m.report("nothing.html"), "finished epoch"),
        (lambda m, x, y: m.measure([]), "batches of inputs"),
        (lambda m, x, y: Monitor(x), "torch.nn.Module"),
        (lambda m, x, y: Monitor(m._model, loss=nn.functional.cross_entropy), "monitor.update"),
        (lambda m, x, y: Monitor(m._model, names=["a"]), "4 class names"),
        (lambda m, x, y: Monitor(m._model, minority=[7]), "minority classes from 0 to 3"),
        (lambda m, x, y: Monitor(m._model, counts=[1, 2]), "2 outputs"),
        (lambda m, x, y: Monitor(m._model, layers=["2"]), "weight matrix"),
        (lambda m, x, y: Monitor(m._model, warn_at=2), "warn_at"),
        (lambda m, x, y: Monitor(m._model, patience=0), "patience"),
        (lambda m, x, y: Monitor(m._model, minority=3), "list of class indices"),
        (lambda m, x, y: Monitor(m._model, minority=[1.5]), "list of class indices"),
        (lambda m, x, y: Monitor(m._model, names=5), "4 class names"),
        (lambda m, x, y: Monitor(m._model, groups=5), "names of the groups"),
        (lambda m, x, y: Monitor(m._model, labels=5), "keyword that holds the labels"),
        (lambda m, x, y: Monitor(m._model, layers=5), "names of layers"),
        (lambda m, x, y: Monitor(m._model, loggers="tensorboard"), "loggers with a method log"),
        (lambda m, x, y: Monitor(m._model, loggers=[print]), "loggers with a method log"),
        (lambda m, x, y: Monitor(m._model, optimizer="sgd"), "a PyTorch optimizer"),
        (lambda m, x, y: Monitor(m._model, ignore_index="x"), "ignore_index"),
        (lambda m, x, y: Monitor(m._model, settings={"wd": 1}), "settings among weight_decay"),
        (lambda m, x, y: Monitor(m._model, settings="x"), "RunSettings or a dict"),
        (lambda m, x, y: Monitor(m._model, settings={"weight_decay": -1}), "weight_decay"),
        (lambda m, x, y: Monitor(m._model, settings={"batch_normalisation": "no"}), "True or False"),
        (lambda m, x, y: (m._model(x), m.update(y, ["a"] * 96)), "96 group codes"),
        (lambda m, x, y: m.phase("").__enter__(), "a name for the phase"),
        (lambda m, x, y: m.load_state_dict({}), "Monitor.state_dict"),
        (lambda m, x, y: m.load_state_dict(m.state_dict() | {"classes": 3}), "3 classes"),
        (lambda m, x, y: m.measure([(x,)]), "a tuple of 1"),
        (lambda m, x, y: m.measure([{"x": x}]), "a dict"),
        (lambda m, x, y: m.measure(x), "DataLoader or a list of pairs"),
    ],
)
def test_mistakes_end_in_a_sentence(run, act, words) -> None:
    model, inputs, labels, _, _, _ = run
    monitor = Monitor(model)
    with pytest.raises(InputError, match=words):
        act(monitor, inputs, labels)


def test_labels_out_of_range_are_counted_in_a_note(run) -> None:
    model, inputs, labels, _, _, _ = run
    shifted = labels + 1  # 1..4 instead of 0..3
    with pytest.warns(UserWarning, match="class 0 had no training examples"):
        record = epochs(model, inputs, shifted, 1).records[0]
    assert any(note.startswith("24 labels are not among the head's 4 classes") for note in record.notes)
    assert record.train.absent == (0,)


def test_an_epoch_of_overwritten_batches_says_what_to_change(run) -> None:
    model, inputs, labels, _, _, _ = run
    monitor = Monitor(model)
    with torch.no_grad():
        model(inputs).mul_(2)
        monitor.update(labels)
    with pytest.raises(InputError, match=r"1 batch overwritten in place.*right after the forward"):
        monitor.end_epoch()


def test_what_the_user_tells_goes_before_what_is_read(run) -> None:
    model, _, _, loss, optimizer, train = run  # with batch normalisation
    given = {"batch_normalisation": False, "weight_decay": 0.02}
    for settings in (given, RunSettings(**given)):
        monitor = Monitor(model, loss=loss, optimizer=optimizer, settings=settings, loggers=None)
        train()
        forecast = monitor.end_epoch().forecast
        monitor.close()
        assert forecast.settings.batch_normalisation is False
        assert forecast.settings.weight_decay == 0.02
        assert forecast.settings.momentum == 0.9
        assert any("this one has none" in reason for reason in forecast.declined)


def test_the_closest_pair_is_that_of_the_largest_cosine() -> None:
    """A common vector makes plain and centred cosines disagree about which pair is the closest."""
    rows = torch.tensor([[5.0, 1, 0, 0], [5, -1, 0, 0], [0, 0, 1, 0.4], [0, 0, 1, -0.4]])
    model = nn.Sequential(nn.Identity(), nn.Linear(4, 4))
    with torch.no_grad():
        model[1].weight.copy_(rows)
    classifier = epochs(model, torch.randn(40, 4), torch.arange(40) % 4, 1, patterns=0).records[0].classifier
    cosines = nn.functional.cosine_similarity(rows[:, None], rows[None], dim=2) - 2 * torch.eye(4)
    assert classifier.closest == (0, 1)
    assert classifier.angles.largest_cosine == pytest.approx(float(cosines.max()), rel=1e-6)
    assert classifier.angles.largest_cosine == pytest.approx(float(cosines[classifier.closest]), rel=1e-6)


class Unusual(nn.Module):
    """A recurrent body that returns a tuple, and a head that takes its input by keyword and shares its weight."""

    def __init__(self):
        super().__init__()
        self.body, self.head, self.table = (
            nn.GRU(5, 8, batch_first=True),
            nn.Linear(8, 4, bias=False),
            nn.Embedding(4, 8),
        )
        self.head.weight = self.table.weight

    def forward(self, x):
        states, _ = self.body(x[:, None])
        return self.head(input=states[:, -1])


def test_tuples_keywords_and_tied_weights(run) -> None:
    _, inputs, labels, _, _, _ = run
    model = Unusual()
    own = epochs(model, inputs, labels, 1, patterns=0).records[0].train
    told = epochs(model, inputs, labels, 1, patterns=0, features="body").records[0].train
    assert own.examples == told.examples == 96
    # the last state of one step is its only output, pooled over one place
    assert told.neural_collapse.feature_energy == pytest.approx(own.neural_collapse.feature_energy, rel=1e-5)


@pytest.mark.parametrize("column", [False, True])
def test_a_single_logit_with_binary_cross_entropy(column) -> None:
    torch.manual_seed(0)
    model, loss = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 1)), nn.BCEWithLogitsLoss()
    inputs, labels = torch.randn(60, 5), (torch.arange(60) % 3 == 0).float()
    monitor = Monitor(model, loss=loss)
    logits = model(inputs)
    value = loss(logits, labels[:, None]) if column else loss(logits[:, 0], labels)
    phase = monitor.end_epoch().train
    assert phase.counts == (40, 20)
    assert phase.loss == pytest.approx(value.item(), rel=1e-5)
    assert phase.accuracy == pytest.approx(((logits[:, 0] > 0) == labels.bool()).float().mean().item())


def test_rare_classes_that_an_epoch_did_not_show_leave_the_multiplier(run) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 20))
    labels = torch.arange(400) % 19  # the last class is not seen
    given = {"weight_decay": 0.01}
    with pytest.warns(UserWarning, match="no training examples"):
        forecast = epochs(model, torch.randn(400, 5), labels, 1, counts=[20] * 20, settings=given).records[0].forecast
    assert forecast.multiplier is not None
    with pytest.warns(UserWarning, match="no training examples"):
        few = epochs(model, torch.randn(400, 5), labels % 9, 1, counts=[20] * 20, settings=given).records[0].forecast
    assert any("9 of 20 classes only" in reason for reason in few.declined)


@pytest.mark.parametrize(
    ("shape", "axes"), [((96, 7, 6), 1), ((96, 6, 7), 2), ((96, 6, 3, 3), (2, 3)), ((96, 9, 9), None)]
)
def test_told_features_are_pooled_over_places(shape, axes) -> None:
    class Pooling(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Identity(), nn.Linear(6, 4)

        def forward(self, x):
            return self.head(self.body(x).flatten(1)[:, :6])

    inputs, labels = torch.randn(shape), torch.arange(96) % 4
    if axes is None:
        with pytest.raises(InputError, match="one row per example"):
            epochs(Pooling(), inputs, labels, 1, size=96, patterns=0, features="body")
        return
    found = epochs(Pooling(), inputs, labels, 1, size=96, patterns=0, features="body").records[0].train
    pooled = inputs.double().mean(dim=axes)
    want = np.mean([(pooled[k::4] ** 2).sum(dim=1).mean().item() for k in range(4)])
    assert found.neural_collapse.feature_energy == pytest.approx(want, rel=1e-6)
