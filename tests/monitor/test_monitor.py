"""The monitor in real training loops: what it may not disturb, and what it must notice."""

import copy
import gc
import io
import json
import pickle
import weakref

import numpy as np
import pytest
import torch
from torch import nn

from lopsided.core.errors import InputError
from lopsided.measure.coupling import pattern_change
from lopsided.measure.weight_change import relative_distance, spectrum
from lopsided.theory.collapse import collapse
from lopsided.theory.network_forecast import network_forecast
from lopsided.torch import Monitor, RunSettings

from .reference import epochs, features_of, small_network


@pytest.fixture
def run():
    torch.manual_seed(0)
    model = small_network(batch_norm=True)
    inputs, labels = torch.randn(96, 5), torch.arange(96) % 4
    loss = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-3)

    def train(count=1, size=32):
        model.train()
        for _ in range(count):
            for rows in torch.arange(96).split(size):
                optimizer.zero_grad()
                loss(model(inputs[rows]), labels[rows]).backward()
                optimizer.step()

    return model, inputs, labels, loss, optimizer, train


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
    assert settings == RunSettings(0.005, 0.1, 0.9, 32, 1, True, "SGD", False)
    text = json.dumps(record.to_dict(), allow_nan=False)
    assert json.loads(text)["train"]["counts"] == [24] * 4
    assert record.scalars()["train/neural_collapse/nc1"] == record.train.neural_collapse.nc1
    page = monitor.report(tmp_path / "page.html").read_text()
    assert "Cosines between classes" in page
    assert "by the merging law" in page
    assert monitor.report(tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_training_is_not_disturbed(run) -> None:
    """The same weights, bit for bit, with and without a monitor: modes, buffers and random state are left alone."""
    results = []
    for watched in (False, True):
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 4))
        loss = nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        monitor = Monitor(model, loss=loss, optimizer=optimizer) if watched else None
        for _ in range(3):
            for _ in range(4):
                optimizer.zero_grad()
                loss(model(torch.randn(16, 5)), torch.randint(0, 4, (16,))).backward()
                optimizer.step()
            if monitor is not None:
                monitor.end_epoch()
                assert all(module.training for module in model.modules())
        results.append({name: value.clone() for name, value in model.state_dict().items()})
    for name, value in results[0].items():
        assert torch.equal(value, results[1][name]), name


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
    assert forecast.survival_threshold == pytest.approx(law.count_needed)
    assert forecast.survival == pytest.approx(law.survival.tolist())
    assert forecast.at_risk == tuple(law.at_risk)
    assert forecast.outside_fit == law.outside


@pytest.mark.parametrize(
    ("optimizer", "settings", "words"),
    [
        (lambda p: torch.optim.AdamW(p, weight_decay=0.01), None, "AdamW decays weights apart"),
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
    observed = 128 * 64 + sum(len(rows) for rows in torch.arange(20_000).split(64)[128::8])
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


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_inference_between_epochs(run, context) -> None:
    model, inputs, labels, loss, optimizer, train = run
    monitor = Monitor(model, loss=loss, optimizer=optimizer)
    with context():
        model.eval()
        loss(model(inputs), labels)  # the first batch of all is seen in inference mode
        if context is torch.inference_mode:
            monitor.end_epoch()
    train()
    record = monitor.end_epoch()
    assert record.train.examples == 96


def test_autocast(run) -> None:
    model, inputs, labels, loss, _, _ = run
    monitor = Monitor(model, loss=loss, patterns=0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(inputs)
        features = features_of(model, inputs)
        model.train()
        loss(model(inputs), labels)
        found = monitor.end_epoch().train.neural_collapse
    energy = np.mean([(features[k::4] ** 2).sum(axis=1).mean() for k in range(4)])
    # The features are rounded to 8 bits by autocast in both; the sums are not.
    assert found.feature_energy == pytest.approx(energy, rel=1e-6)


class Token:
    """Something that a weak reference can point to."""


class Carrier(torch.autograd.Function):
    """Keeps a token in the graph for as long as the graph lives."""

    @staticmethod
    def forward(ctx, x, token):
        ctx.token = token
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def test_no_graph_is_kept(run) -> None:
    model, inputs, labels, _, _, _ = run
    monitor = Monitor(model)
    for labelled in (True, False):
        token = Token()
        alive = weakref.ref(token)
        logits = model(Carrier.apply(inputs.clone().requires_grad_(), token))
        del token
        if labelled:
            monitor.update(labels[:96])
        assert alive() is not None
        del logits
        gc.collect()
        assert alive() is None
    assert not monitor._phases._buffers[True].sums.sums.requires_grad


def test_copies_and_pickles_of_the_model_are_not_watched(run) -> None:
    model, inputs, labels, _, _, _ = run
    monitor = Monitor(model)
    twin = copy.deepcopy(model)
    stored = pickle.loads(pickle.dumps(model))
    buffer = io.BytesIO()
    torch.save(model, buffer)
    for other in (twin, stored):
        assert torch.equal(other.eval()(inputs), model.eval()(inputs))
        monitor._watch._waiting.clear()
        other(inputs)
        with pytest.raises(InputError, match="a forward through the head"):
            monitor.update(labels)
    del monitor
    gc.collect()
    model(inputs)  # the hooks die with their monitor


def test_closing(run) -> None:
    model, _, _, loss, optimizer, train = run
    with Monitor(model, loss=loss, optimizer=optimizer) as monitor:
        train()
        monitor.end_epoch()
    for module in (*model.modules(), loss):
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
    assert not optimizer._optimizer_step_post_hooks
    train()
    assert len(monitor.records) == 1


def test_overwritten_batches_are_left_out_and_said(run) -> None:
    model, inputs, labels, _, _, _ = run
    monitor = Monitor(model)
    for place, rows in enumerate(torch.arange(96).split(32)):
        with torch.no_grad():
            logits = model(inputs[rows])
            if place == 1:
                logits.mul_(2)
            monitor.update(labels[rows])
    record = monitor.end_epoch()
    assert record.train.examples == 64
    assert any(note.startswith("left out 1 batch whose") for note in record.notes)


def test_two_forwards_for_one_set_of_labels(run) -> None:
    model, inputs, labels, _, _, _ = run
    monitor = Monitor(model.eval())
    model(inputs[:40])
    model(inputs[40:])
    monitor.update(labels)
    assert monitor.end_epoch().held_out.examples == 96


# torch.compile itself looks at .grad of tensors that are no leaves when a graph breaks; nothing of ours does.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
@pytest.mark.parametrize("wrap", [nn.DataParallel, lambda model: torch.compile(model, backend="eager")])
def test_wrapped_models(run, wrap) -> None:
    model, inputs, labels, loss, optimizer, _ = run
    wrapped = wrap(model)
    monitor = Monitor(wrapped, loss=loss, optimizer=optimizer)
    for _ in range(2):
        for rows in torch.arange(96).split(32):
            optimizer.zero_grad()
            loss(wrapped(inputs[rows]), labels[rows]).backward()
            optimizer.step()
        record = monitor.end_epoch()
    assert record.train.examples == 96
    assert record.patterns


# torch.compile itself looks at .grad of tensors that are no leaves when a graph breaks; nothing of ours does.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
def test_a_model_compiled_after_the_monitor_was_made(run) -> None:
    model, inputs, labels, loss, optimizer, _ = run
    monitor = Monitor(model, loss=loss, optimizer=optimizer)
    compiled = torch.compile(model, backend="eager")
    for rows in torch.arange(96).split(32):
        optimizer.zero_grad()
        loss(compiled(inputs[rows]), labels[rows]).backward()
        optimizer.step()
    assert monitor.end_epoch().train.examples == 96


def test_labels_from_the_models_own_keyword(run) -> None:
    class WithLabels(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x, labels=None):
            return {"loss": None, "logits": self.inner(x)}

    _, inputs, labels, _, _, _ = run
    model = WithLabels(small_network())
    monitor = Monitor(model, labels="labels")
    model(inputs, labels=labels)
    model.eval()
    model(inputs)  # without labels: not counted
    assert monitor.end_epoch().held_out is None


def test_a_thousand_classes() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1000))
    labels = torch.randint(0, 900, (500,))
    with pytest.warns(UserWarning, match="more had no training examples"):
        monitor = epochs(model, torch.randn(500, 8), labels, 1, size=64)
    record = monitor.records[0]
    assert len(record.train.absent) == 1000 - len(labels.unique())
    assert record.train.neural_collapse is not None
    assert any("no examples" in reason for reason in record.forecast.declined)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda m, x, y: m.end_epoch(), "labelled forwards"),
        (lambda m, x, y: m.update(y), "forward through the head"),
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
        (lambda m, x, y: (m._model(x), m.update(nn.functional.one_hot(y))), "argmax"),
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
        with pytest.raises(InputError, match="one row an example"):
            epochs(Pooling(), inputs, labels, 1, size=96, patterns=0, features="body")
        return
    found = epochs(Pooling(), inputs, labels, 1, size=96, patterns=0, features="body").records[0].train
    pooled = inputs.double().mean(dim=axes)
    want = np.mean([(pooled[k::4] ** 2).sum(dim=1).mean().item() for k in range(4)])
    assert found.neural_collapse.feature_energy == pytest.approx(want, rel=1e-6)
