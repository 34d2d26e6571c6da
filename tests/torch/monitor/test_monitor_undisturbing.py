"""The monitor may not disturb a training loop, however the model is wrapped, copied or compiled."""

import copy
import gc
import io
import pickle
import weakref

import numpy as np
import pytest
from torch.nn.utils import parametrizations

import torch
from lopsided.core.errors import InputError
from lopsided.torch import Monitor
from torch import nn

from .reference import epochs, features_of, small_network


@pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")  # three epochs teach little
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


@pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")
@pytest.mark.parametrize("norm", [parametrizations.spectral_norm, parametrizations.weight_norm])
def test_weights_under_a_norm(norm) -> None:
    """Reading such a weight may take a step of its norm; it is trained, though `weight` itself is no parameter."""
    results = []
    for watched in (False, True):
        torch.manual_seed(3)
        model = nn.Sequential(norm(nn.Linear(5, 8)), nn.ReLU(), norm(nn.Linear(8, 4)))
        loss = nn.CrossEntropyLoss()
        body, head = (list(model[place].parameters()) for place in (0, 2))
        optimizer = torch.optim.SGD([{"params": body}, {"params": head, "weight_decay": 0.02}], lr=0.1)
        monitor = Monitor(model, loss=loss, optimizer=optimizer) if watched else None
        for _ in range(4):
            optimizer.zero_grad()
            loss(model(torch.randn(16, 5)), torch.randint(0, 4, (16,))).backward()
            optimizer.step()
        record = None if monitor is None else monitor.end_epoch()
        results.append({name: value.clone() for name, value in model.state_dict().items()})
    for name, value in results[0].items():
        assert torch.equal(value, results[1][name]), name
    settings = record.forecast.settings
    assert (settings.weight_decay, settings.hidden_layers, settings.frozen) == (0.02, 1, 0.0)
    model.eval()
    wanted = np.linalg.norm(model[2].weight.detach().numpy(), axis=1)
    assert record.classifier.norms == pytest.approx(wanted, rel=1e-6)  # single precision
    assert [layer.name for layer in record.layers] == ["0", "2"]


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
        with pytest.raises(InputError, match="a forward pass through the head"):
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


# torch.compile itself looks at .grad of tensors that are no leaves when a graph breaks; nothing of ours does.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
def test_the_compiler_does_not_compile_the_hooks(run) -> None:
    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(5, 8), nn.Linear(8, 4)

        def forward(self, x):
            return self.head(self.body(x).relu())

    _, inputs, labels, loss, _, _ = run
    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.compiler.reset()
    graphs, frames = [], torch._dynamo.utils.counters["frames"]
    frames.clear()

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    with Monitor(model, loss=loss, optimizer=optimizer):
        compiled = torch.compile(model, backend=backend)
        for rows in torch.arange(96).split(32):
            optimizer.zero_grad()
            loss(compiled(inputs[rows]), labels[rows]).backward()
            optimizer.step()
    assert frames["total"] == len(graphs) == 2  # what comes before the head's hook, and what comes after it


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
