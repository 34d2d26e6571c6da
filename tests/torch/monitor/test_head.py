"""Which layer is the head: found, told, ambiguous."""

import numpy as np
import pytest

import torch
from lopsided.core.errors import InputError
from lopsided.torch import Monitor
from lopsided.torch.monitor.head import find_head
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self, second_classes=10):
        super().__init__()
        self.body = nn.Linear(8, 6)
        self.first = nn.Linear(6, 10)
        self.second = nn.Linear(6, second_classes)

    def forward(self, x):
        return self.first(torch.relu(self.body(x)))


class Plain(nn.Module):
    """fc1, fc2, fc3 are children of one parent, and the first has the last one's input width."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(6, 20), nn.Linear(20, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


class Tied(nn.Module):
    """A language model whose head shares the embedding's weight."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 4)
        self.head = nn.Linear(4, 11, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(self.embedding(tokens))


def test_the_last_linear_layer_is_found() -> None:
    assert find_head(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 5))).name == "2"
    assert find_head(Plain()).name == "fc3"
    assert find_head(Tied()).name == "head"
    assert find_head(nn.Linear(3, 2)).name == ""
    fully = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 5, 1), nn.AdaptiveAvgPool2d(1))
    head = find_head(fully)
    assert (head.name, head.classes, head.width, head.convolution) == ("2", 5, 8, True)


def test_counts_help_to_choose() -> None:
    assert find_head(TwoHeads(3), classes=3).name == "second"
    assert find_head(TwoHeads(3), classes=10).name == "first"
    with pytest.raises(InputError, match="7 outputs"):
        find_head(TwoHeads(), classes=7)
    with pytest.raises(InputError, match="10 classes"):
        find_head(TwoHeads(3), "second", classes=10)


@pytest.mark.parametrize("second_classes", [10, 3])
def test_two_heads_are_ambiguous_unless_told(second_classes) -> None:
    with pytest.raises(InputError, match=r"'first' .* and 'second' .*head="):
        find_head(TwoHeads(second_classes))
    model = TwoHeads(second_classes)
    assert find_head(model, "first").layer is model.first
    assert find_head(model, model.second).name == "second"


def test_wrappers_are_looked_through() -> None:
    model = Plain()
    for wrapped in (
        nn.DataParallel(model),
        torch.compile(model, backend="eager"),
        nn.DataParallel(nn.DataParallel(model)),
    ):
        assert find_head(wrapped).layer is model.fc3
        assert find_head(wrapped, "fc2").layer is model.fc2
    assert find_head(model, "module.fc2").layer is model.fc2


@pytest.mark.parametrize(
    ("model", "told", "words"),
    [
        (nn.Sequential(nn.ReLU()), None, "without one"),
        (nn.Sequential(nn.LazyLinear(4)), None, "lazy"),
        (Plain(), "fc9", "choose among"),
        (Plain(), nn.Linear(2, 2), "layer of this model"),
        (nn.Sequential(nn.Conv2d(1, 2, 3)), "0", "1x1"),
        (nn.Sequential(nn.ReLU(), nn.Linear(2, 2)), "0", "ReLU"),
    ],
)
def test_what_is_no_head(model, told, words) -> None:
    with pytest.raises(InputError, match=words):
        find_head(model, told)


def test_a_head_that_does_not_make_the_output_is_noticed() -> None:
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.classifier = nn.Linear(8, 10)
            self.extra = nn.Sequential(nn.Linear(8, 3))  # registered last, used by nobody

        def forward(self, x):
            return self.classifier(x)

    model = Odd()
    monitor = Monitor(model)
    with pytest.raises(InputError, match="head="):
        model(torch.zeros(2, 8))
    monitor.close()
    with Monitor(model, head="classifier") as told:
        model(torch.zeros(2, 8))
        told.update(torch.tensor([0, 1]))


def test_one_output_is_two_classes() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1))
    head = find_head(model)
    assert head.classes == 2
    h = torch.randn(20, 3)
    pair = h.double().numpy() @ head.weight().T + model[2].bias.item() * np.array([-0.5, 0.5])
    probability = torch.sigmoid(model[2](h)).detach().numpy()[:, 0]
    # The same probabilities: softmax of the pair is the sigmoid of the single logit, up to float32.
    np.testing.assert_allclose(1 / (1 + np.exp(pair[:, 0] - pair[:, 1])), probability, rtol=1e-5)
    loss = nn.BCEWithLogitsLoss()
    monitor = Monitor(model, loss=loss)
    x, y = torch.randn(30, 4), (torch.rand(30, 1) < 0.3).float()
    value = loss(model(x), y)
    record = monitor.end_epoch()
    assert record.train.loss == pytest.approx(value.item(), rel=1e-5)
    assert record.train.counts == (int((y == 0).sum()), int((y == 1).sum()))
    assert record.classifier.angles.largest_cosine == pytest.approx(-1)


def test_maps_and_sequences() -> None:
    torch.manual_seed(0)
    fully = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 5, 1))
    x = torch.randn(6, 3, 7, 7)
    monitor = Monitor(fully, patterns=0)
    y = torch.randint(0, 5, (6, 5, 5))
    y[0] = -100
    logits = fully(x)
    monitor.update(y)  # one label per pixel
    record = monitor.end_epoch()
    assert record.train.examples == 5 * 25
    assert record.train.loss == pytest.approx(nn.functional.cross_entropy(logits, y).item(), rel=1e-5)
    logits = fully(x).mean(dim=(2, 3))
    y = torch.arange(6) % 5
    monitor.update(y)  # one label per picture: pooled
    assert monitor.end_epoch().train.loss == pytest.approx(nn.functional.cross_entropy(logits, y).item(), rel=1e-5)
    model = Tied()
    tokens = torch.randint(0, 11, (4, 9))
    watch = Monitor(model)
    model(tokens)
    watch.update(tokens)
    assert watch.end_epoch().train.examples == 36
    model(tokens)
    with pytest.raises(InputError, match="once after each forward"):
        watch.update(tokens[:, 0])


@pytest.mark.parametrize("head", [nn.Linear(6, 3), nn.Conv1d(6, 3, 1)])
def test_labels_may_be_flattened_as_the_loss_wants_them(head) -> None:
    torch.manual_seed(0)
    linear = isinstance(head, nn.Linear)
    model, loss = nn.Sequential(head), nn.CrossEntropyLoss()
    features, labels = torch.randn(4, 5, 6), torch.randint(3, (4, 5))
    labels[:, 4] = -100
    monitor = Monitor(model, loss=loss)
    answers = model(features) if linear else model(features.transpose(1, 2)).transpose(1, 2)
    loss(answers.reshape(-1, 3), labels.reshape(-1))
    right = (answers.argmax(dim=-1) == labels)[:, :4]
    train = monitor.end_epoch().train
    assert (train.examples, train.accuracy) == (16, pytest.approx(float(right.float().mean())))


def test_told_features() -> None:
    model = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Dropout(0.5), nn.Linear(6, 3))
    x, y = torch.randn(40, 5), torch.arange(40) % 3
    monitor = Monitor(model, features="1")
    model(x)
    monitor.update(y)
    found = monitor.end_epoch()
    hidden = model[:2](x).detach().double().numpy()
    energy = np.mean([(hidden[k::3] ** 2).sum(axis=1).mean() for k in range(3)])
    assert found.train.neural_collapse.feature_energy == pytest.approx(energy, rel=1e-5)
    assert found.train.neural_collapse.nc3 is None
    with pytest.raises(InputError, match="choose among"):
        Monitor(model, features="nowhere")


class Cosine(nn.Module):
    """A cosine classifier with one row, or one column, per class."""

    def __init__(self, shape, columns):
        super().__init__()
        self.weight, self.columns = nn.Parameter(torch.randn(shape)), columns

    def forward(self, x):
        table = self.weight.T if self.columns else self.weight
        return 16 * nn.functional.linear(nn.functional.normalize(x), nn.functional.normalize(table))


@pytest.mark.parametrize(("shape", "columns"), [((3, 7), False), ((7, 3), True)])
def test_cosine_heads_are_watched_where_they_are_told(shape, columns) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), Cosine(shape, columns))
    inputs, labels = torch.randn(30, 5), torch.arange(30) % 3
    with Monitor(model, head="2") as monitor:
        logits = model(inputs)
        monitor.update(labels)
        record = monitor.end_epoch()
    rows = (model[2].weight.T if columns else model[2].weight).detach()
    assert record.train.accuracy == pytest.approx(float((logits.argmax(dim=1) == labels).float().mean()))
    assert record.classifier.norms == pytest.approx(rows.norm(dim=1).tolist())


def test_a_cosine_head_with_more_classes_than_features_needs_its_counts() -> None:
    model = nn.Sequential(nn.Linear(5, 3), Cosine((9, 3), columns=False))
    with Monitor(model, head="1") as monitor:
        model(torch.randn(30, 5))
        with pytest.raises(InputError, match="give counts="):
            monitor.update(torch.arange(30) % 9)
    with Monitor(model, head="1", counts=[10] * 9) as monitor:
        model(torch.randn(30, 5))
        monitor.update(torch.arange(30) % 9)
        assert monitor.end_epoch().train.examples == 30
    with pytest.raises(InputError, match="matrix `weight`"):
        Monitor(nn.Sequential(nn.Linear(5, 3), nn.ReLU()), head="1")
