"""Without being asked, the monitor compares the inputs of the first epoch, and its forecasts rest on them."""

import weakref

import numpy as np
import pytest

import torch
from lopsided.core.errors import InputError
from lopsided.torch import Monitor, OversamplingSampler, recall_before
from lopsided.torch.monitor import first_inputs
from torch import nn

pytestmark = pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")
SIZES = [60, 20, 4]
ORDER = torch.randperm(84, generator=torch.Generator().manual_seed(5))  # each batch has several classes


class Training:
    """Three classes in a fixed order, so that the folds of the linear rule are those of the data set."""

    def __init__(self, model: nn.Module, *, inputs: torch.Tensor | None = None, **options) -> None:
        torch.manual_seed(0)
        self.labels = torch.repeat_interleave(torch.arange(3), torch.tensor(SIZES))
        own = torch.randn(84, 4) + torch.eye(4)[self.labels]
        self.inputs = own if inputs is None else inputs
        self.model, self.loss = model, nn.CrossEntropyLoss()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        told = {"loss": self.loss, "optimizer": self.optimizer, "epochs": 10}
        self.monitor = Monitor(model, **(told | options))

    def epoch(self, rows: torch.Tensor | None = None, soften=lambda labels: labels):
        self.model.train()
        for part in (torch.arange(84) if rows is None else rows).split(28):
            self.optimizer.zero_grad()
            self.loss(self.model(self.inputs[part]), soften(self.labels[part])).backward()
            self.optimizer.step()
        return self.monitor.end_epoch()

    def told(self, **options) -> list[float]:
        asked = {"model": self.model, "optimizer": self.optimizer, "epochs": 10, "batch_size": 28}
        return list(recall_before(self.inputs, self.labels, **asked, **options).scores)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def score(record) -> list[float]:
    return record.evidence.before_score.tolist()


def test_it_is_the_forecast_of_the_whole_training_set() -> None:
    training = Training(mlp())
    first, second = training.epoch(), training.epoch()
    assert score(first) == score(second) == training.told()
    assert training.monitor._first.done
    training.epoch()
    assert training.monitor._watch._given._now == ()  # no batch is kept


def test_it_can_be_left_out_and_needs_a_plan_and_an_optimizer() -> None:
    for options in ({"before": False}, {"epochs": None}, {"optimizer": None}):
        assert np.isnan(score(Training(mlp(), **options).epoch())).all()
    with pytest.raises(InputError, match="recall_before returns"):
        Monitor(mlp(), before=True)


def test_of_a_frozen_backbone_the_features_are_compared() -> None:
    torch.manual_seed(1)
    backbone = nn.Sequential(nn.Linear(4, 6), nn.ReLU())
    model = nn.Sequential(*backbone, nn.Linear(6, 3))
    for parameter in backbone.parameters():
        parameter.requires_grad_(False)
    training = Training(model)
    # features go through float32 once more
    assert score(training.epoch()) == pytest.approx(training.told(features=backbone), abs=1e-5)
    model = nn.Sequential(*backbone, nn.Linear(6, 3))
    head_only = Training(model)  # not frozen, but the optimizer has the head alone
    head_only.monitor.close()
    optimizer = torch.optim.AdamW(model[-1].parameters(), lr=1e-3)
    head_only.optimizer = optimizer
    head_only.monitor = Monitor(model, loss=head_only.loss, optimizer=optimizer, epochs=10)
    assert score(head_only.epoch()) == pytest.approx(head_only.told(features=backbone), abs=1e-5)


def test_pictures_and_tokens_are_as_recall_before_compares_them() -> None:
    torch.manual_seed(2)
    pictures = torch.rand(84, 1, 28, 28)
    training = Training(nn.Sequential(nn.Flatten(), nn.Linear(784, 8), nn.ReLU(), nn.Linear(8, 3)), inputs=pictures)
    assert score(training.epoch()) == training.told()
    tokens = torch.randint(0, 50, (84, 12))
    model = nn.Sequential(nn.EmbeddingBag(50, 8), nn.Linear(8, 3))
    training = Training(model, inputs=tokens)
    assert score(training.epoch()) == training.told()


def test_a_part_of_an_epoch_is_not_the_whole() -> None:
    training = Training(mlp(), counts=SIZES)
    order = torch.randperm(84)
    part = score(training.epoch(order[:28]))
    assert np.isfinite(part).all()
    assert part != training.told()
    assert not training.monitor._first.done
    training.epoch(order[28:56])
    training.epoch(order[56:])
    assert training.monitor._first.done
    # the linear rule deals other folds to another order of rows; the other two rules are the same
    fresh = Training(mlp())
    fresh.epoch()
    for rule in first_inputs.RULES[:2]:
        assert training.monitor._first.rates[rule] == pytest.approx(fresh.monitor._first.rates[rule], abs=1e-12)


def test_mixed_labels_and_repeated_examples_are_not_compared() -> None:
    mixed = Training(mlp())
    assert np.isnan(score(mixed.epoch(soften=lambda own: 0.9 * nn.functional.one_hot(own, 3) + 0.1 / 3))).all()
    assert mixed.monitor._first.done
    repeated = Training(mlp(), counts=SIZES)
    sampler = OversamplingSampler(repeated.labels.tolist(), rate="balanced")
    assert np.isnan(score(repeated.epoch(torch.tensor(list(sampler))))).all()


def test_inputs_that_are_written_into_are_left_out() -> None:
    class Shifting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside = mlp()

        def forward(self, rows):
            return self.inside(rows.sub_(1.0))

    training = Training(Shifting())
    assert np.isnan(score(training.epoch())).all()


def test_a_state_keeps_what_was_compared() -> None:
    training = Training(mlp())
    was = score(training.epoch())
    state = training.monitor.state_dict()
    training.monitor.close()
    other = Training(training.model)
    other.monitor.load_state_dict(state)
    assert score(other.epoch()) == was


def test_many_classes_are_not_compared(monkeypatch) -> None:
    monkeypatch.setattr(first_inputs, "MOST_CLASSES", 2)
    assert np.isnan(score(Training(mlp()).epoch())).all()


def test_ignored_labels_are_no_examples() -> None:
    training = Training(mlp())
    ignored = Training(mlp())
    ignored.labels = ignored.labels.clone()
    ignored.labels[::7] = -100
    kept = ignored.labels >= 0
    ignored_score = score(ignored.epoch())
    assert np.isfinite(ignored_score).all()
    assert ignored_score != score(training.epoch())
    counts = np.bincount(ignored.labels[kept].numpy())
    assert ignored.monitor._first.done
    assert ignored.monitor._shown.examples.tolist() == counts.tolist()


def notes(record) -> str:
    return " ".join(one for one in record.notes if "inputs were not compared" in one)


def test_examples_that_are_shown_again_are_not_their_own_neighbours() -> None:
    """A sampler of an own loop without counts, several passes an epoch: rare classes would look easy."""
    rare = torch.cat([torch.arange(60), torch.arange(60, 80).repeat(3), torch.arange(80, 84).repeat(15)])
    for rows in (rare[torch.randperm(len(rare))], torch.arange(84).repeat(3)):
        record = Training(mlp()).epoch(rows)
        assert np.isnan(score(record)).all()
        assert "of the examples were shown more than once" in notes(record)


def test_twice_the_same_batch_is_no_evidence() -> None:
    training = Training(mlp(), counts=SIZES)
    halves = torch.arange(84).split(28)
    record = training.epoch(torch.cat([torch.cat([half, half]) for half in halves])[:112])
    assert np.isnan(score(record)).all()
    assert "shown more than once" in notes(record) or "a sampler repeats them" in notes(record)


@pytest.mark.parametrize("form", ["codes", "column", "one-hot", "from one", "smoothed"])
def test_labels_among_the_inputs_are_not_compared(form) -> None:
    class Told(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside = mlp()

        def forward(self, rows, margin_of=None):
            return self.inside(rows)

    told = Training(Told())
    told.model.train()
    told.inputs, told.labels = told.inputs[ORDER], told.labels[ORDER]
    for part in torch.arange(84).split(28):
        labels = told.labels[part]
        one_hot = nn.functional.one_hot(labels, 3).float()
        given = {
            "codes": labels,
            "column": labels[:, None].float(),
            "one-hot": one_hot,
            "from one": labels + 1,
            "smoothed": 0.9 * one_hot + 0.1 / 3,
        }[form]
        told.loss(told.model(told.inputs[part], given), labels).backward()
        told.optimizer.step()
    whole = Training(mlp())
    whole.inputs, whole.labels = whole.inputs[ORDER], whole.labels[ORDER]
    assert score(told.monitor.end_epoch()) == score(whole.epoch())


def test_inputs_of_varying_length_are_compared() -> None:
    class Pooled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside = mlp()

        def forward(self, rows):
            return self.inside(nn.functional.adaptive_avg_pool1d(rows[:, None], 4)[:, 0])

    model = Pooled()
    training = Training(model)
    model.train()
    for length, part in zip((40, 52, 33), torch.arange(84).split(28), strict=True):
        wide = nn.functional.interpolate(training.inputs[part][:, None], size=length)[:, 0]
        training.loss(model(wide), training.labels[part]).backward()
        training.optimizer.step()
    assert np.isfinite(score(training.monitor.end_epoch())).all()


@pytest.mark.parametrize("given", ["sparse", "nested", "other shapes"])
def test_what_cannot_be_compared_is_said_and_stops_nothing(given) -> None:
    class Any(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside = mlp()

        def forward(self, rows):
            if rows.is_nested:
                rows = torch.stack(list(rows.unbind()))
            rows = rows.to_dense() if rows.layout != torch.strided else rows
            return self.inside(rows.flatten(1)[:, :4])

    model = Any()
    training = Training(model)
    model.train()
    for number, part in enumerate(torch.arange(84).split(28)):
        rows = training.inputs[part]
        if given == "nested":
            rows = torch.nested.nested_tensor(list(rows), layout=torch.jagged)
        elif given == "sparse":
            rows = rows.to_sparse()
        elif number % 2:
            rows = rows[:, :, None, None]
        training.loss(model(rows), training.labels[part]).backward()
        training.optimizer.step()
    record = training.monitor.end_epoch()
    assert np.isnan(score(record)).all()
    assert "early forecasts are better with before=" in notes(record)


def test_a_part_of_the_model_may_be_called_instead_of_it() -> None:
    """`self.net(x)` in Lightning's `training_step`."""

    class Module(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp()

        def training_step(self, rows):
            return self.net(rows)

    whole, own = Training(mlp()), Training(Module())
    own.model.train()
    for part in torch.arange(84).split(28):
        own.loss(own.model.training_step(own.inputs[part]), own.labels[part]).backward()
        own.optimizer.step()
    assert score(own.monitor.end_epoch()) == score(whole.epoch())
    assert own.monitor._watch._given._now == ()


def test_missing_numbers_are_the_mean_of_their_column() -> None:
    class Filling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside = mlp()

        def forward(self, rows):
            return self.inside(rows.nan_to_num())

    training, whole = Training(Filling()), Training(Filling())
    training.inputs[3, 2] = float("nan")
    whole.inputs[3, 2] = whole.inputs[:, 2][torch.arange(84) != 3].mean()
    assert score(training.epoch()) == score(whole.epoch())


def test_batches_that_are_not_observed_are_compared_too() -> None:
    """Of many classes few batches are observed, but the sample is of all."""
    torch.manual_seed(3)
    sizes = torch.full((300,), 9)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 300))
    optimizer, loss = torch.optim.AdamW(model.parameters()), nn.CrossEntropyLoss()
    monitor = Monitor(model, loss=loss, optimizer=optimizer, epochs=5)
    labels = torch.arange(300).repeat_interleave(sizes)[torch.randperm(2700)]
    for part in torch.arange(2700).split(50):
        loss(model(torch.randn(len(part), 4)), labels[part]).backward()
        optimizer.step()
    sampled = monitor._first._sample.counts
    assert sampled.tolist() == sizes.tolist()
    assert np.isfinite(score(monitor.end_epoch())).all()


def test_a_second_pass_in_a_step_is_not_paired_with_the_labels() -> None:
    """Of the batches that are not observed, too: beyond 6,400 examples."""
    torch.manual_seed(6)
    labels = torch.randint(0, 3, (12_800,))
    rows = torch.randn(12_800, 4) + 4 * torch.eye(4)[labels]
    found = []
    for second in (False, True):
        model = mlp()
        optimizer, loss = torch.optim.AdamW(model.parameters()), nn.CrossEntropyLoss()
        with Monitor(model, loss=loss, optimizer=optimizer, epochs=5) as monitor:
            for part in torch.arange(12_800).split(128):
                outputs = model(rows[part])
                if second:
                    model(torch.randn(128, 4))  # unlabelled
                loss(outputs, labels[part]).backward()
                optimizer.step()
            monitor.end_epoch()
            found.append(monitor._first.rates["linear"])
    # half as many rows, of the same classes, which hardly overlap
    assert found[1] == pytest.approx(found[0], abs=0.03)


def test_back_to_a_checkpoint_from_before_the_comparison() -> None:
    training = Training(mlp())
    state = training.monitor.state_dict()
    was = score(training.epoch())
    training.monitor.load_state_dict(state)
    assert score(training.epoch()) == was
    assert training.monitor._first._sample.counts.size == 0  # nothing is collected again


def test_what_a_trained_part_computed_is_no_input() -> None:
    back, net = nn.Linear(4, 4), mlp()
    model = nn.ModuleDict({"back": back, "net": net})
    training = Training(model, head="net.2")
    graphs = []
    for part in torch.arange(84).split(28):
        hidden = back(training.inputs[part])
        graphs.append(weakref.ref(hidden))
        training.loss(net(hidden), training.labels[part]).backward()
        training.optimizer.step()
        del hidden
    assert [graph() for graph in graphs] == [None] * 3
    record = training.monitor.end_epoch()
    assert np.isnan(score(record)).all()
    assert "no tensor that it leaves as it is" in notes(record)


def test_many_classes_are_refused_in_a_note(monkeypatch) -> None:
    monkeypatch.setattr(first_inputs, "MOST_CLASSES", 2)
    assert "more than 2 classes" in notes(Training(mlp()).epoch())
