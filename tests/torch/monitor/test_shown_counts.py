"""Counts of the training set and of what an epoch shows: cut-short epochs, samplers, several classes, few rows."""

import numpy as np
import pytest
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

import torch
from lopsided.torch import Monitor, OversamplingSampler, recall_before
from lopsided.torch.loader_counts import counts_behind
from lopsided.torch.monitor.recall_watch import of_enough_rows
from lopsided.torch.monitor.shown_counts import ShownCounts
from torch import nn

pytestmark = pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")
SIZES = [200, 60, 12, 6]


def data() -> TensorDataset:
    labels = torch.repeat_interleave(torch.arange(4), torch.tensor(SIZES))
    inputs = torch.randn(len(labels), 5, generator=torch.Generator().manual_seed(0))
    inputs[:, :4] += 2 * nn.functional.one_hot(labels)
    return TensorDataset(inputs, labels)


def watched(**options):
    torch.manual_seed(0)
    model, loss = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 4)), nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    return model, loss, optimizer, Monitor(model, loss=loss, optimizer=optimizer, **options)


def train(model, loss, optimizer, loader, most=10**9) -> None:
    model.train()
    for step, (inputs, labels) in enumerate(loader):
        if step >= most:
            break
        optimizer.zero_grad()
        loss(model(inputs), labels).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        loss(model(data().tensors[0][::3]), data().tensors[1][::3])


def balanced() -> DataLoader:
    weights = 1.0 / torch.tensor(SIZES)[data().tensors[1]]
    drawn = WeightedRandomSampler(weights, len(data()), generator=torch.Generator().manual_seed(0))
    return DataLoader(data(), batch_size=16, sampler=drawn)


def test_a_last_epoch_that_is_cut_short_does_not_change_the_counts() -> None:
    model, loss, optimizer, monitor = watched(steps=40)
    loader = DataLoader(data(), batch_size=16, shuffle=True, generator=torch.Generator().manual_seed(0))
    for most in (18, 18, 4):
        train(model, loss, optimizer, loader, most)
        record = monitor.end_epoch()
        assert record.evidence.counts.tolist() == SIZES
        assert not record.warnings or "had no training examples" not in " ".join(record.warnings)
    assert sum(record.labels) == 64  # what the epoch showed is in the record all the same
    assert record.seen == 1.0


@pytest.mark.parametrize("told", ["counts", "before", "outlook"])
def test_repeats_of_a_sampler_are_no_examples(told) -> None:
    options = {"epochs": 3}
    if told == "outlook":
        model, _, optimizer, _ = watched()
        inputs, labels = data().tensors
        options["before"] = recall_before(inputs, labels, model=model, optimizer=optimizer, epochs=3, batch_size=16)
    else:
        options[told] = SIZES if told == "counts" else balanced()
    model, loss, optimizer, monitor = watched(**options)
    train(model, loss, optimizer, balanced())
    record = monitor.end_epoch()
    assert record.evidence.counts.tolist() == SIZES
    assert min(record.labels) > 50
    # The network was shown equal classes: its logits have no prior, so taking it out changes next to nothing.
    logits = model(data().tensors[0][::3]).detach().numpy()
    codes = data().tensors[1][::3].numpy()
    prior = np.log(record.labels)
    wanted = [np.mean((logits - prior)[codes == k].argmax(axis=1) == k) for k in range(4)]
    assert record.evidence.held_out_adjusted == pytest.approx(wanted)
    assert abs(record.posthoc.gain) < 0.1


@pytest.mark.parametrize("sampler", ["weighted", "oversampling", "shuffled"])
def test_a_loader_that_is_known_tells_of_its_sampler(sampler) -> None:
    loader = {
        "weighted": balanced(),
        "oversampling": DataLoader(data(), 16, sampler=OversamplingSampler(data(), rate="balanced", length=278)),
        "shuffled": DataLoader(data(), 16, shuffle=True, drop_last=True),
    }[sampler]
    model, loss, optimizer, monitor = watched(epochs=3)
    train(model, loss, optimizer, monitor.batches(loader, "train"))
    record = monitor.end_epoch()
    assert record.evidence.counts.tolist() == (list(record.labels) if sampler == "shuffled" else SIZES)
    assert counts_behind(loader, 3) is None  # labels of other classes
    assert counts_behind([data()[:16]], 4) is None
    assert counts_behind(None, 4) is None


def test_chance_is_no_sampler() -> None:
    """What is told stays the prior, to the last digit, where the labels deviate by chance alone."""
    random = np.random.default_rng(0)
    told = np.array([500.0, 100, 20, 3, 1])
    for _ in range(300):
        shown = ShownCounts(told)
        shown.look(random.multinomial(624, told / 624))
        assert shown.prior is told
    shown.look(np.array([500, 500, 500, 500, 500]))
    assert shown.prior.tolist() == [500.0] * 5
    assert shown.examples is told


def test_several_classes_an_example_have_no_prior_and_no_order() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(300, 5)
    targets = (inputs[:, :4] + 0.5 * torch.randn(300, 4) > torch.tensor([0.0, 0.5, 1.0, 1.6])).float()
    targets = targets[targets.sum(dim=1) > 0]
    inputs = inputs[: len(targets)]
    found = {}
    for order in ([0, 1, 2, 3], [2, 0, 3, 1]):
        torch.manual_seed(1)
        model, loss = nn.Linear(5, 4), nn.BCEWithLogitsLoss()
        with torch.no_grad():
            for part in (model.weight, model.bias):
                part.copy_(part[order])
        with Monitor(model, loss=loss, epochs=10, patterns=0) as monitor:
            for training in (True, False):
                model.train(training)
                loss(model(inputs), targets[:, order])
            record = monitor.end_epoch()
        assert record.posthoc is None
        for name in ("train_auc", "train_adjusted", "held_out_auc", "held_out_adjusted"):
            assert np.isnan(getattr(record.evidence, name)).all()
        assert not any(one.cause == "prior" for one in record.recall_forecast.classes)
        back = np.argsort(order)
        values = {name: value[back] for name, value in vars(record.evidence).items() if name != "seen"}
        found[order[0]] = values | {
            "chance": np.array([one.chance_lost for one in record.recall_forecast.classes])[back]
        }
    for name, value in found[0].items():
        # Columns in another order are added up in another order, in single precision.
        np.testing.assert_allclose(found[2][name], value, rtol=1e-5, err_msg=name)


def test_one_observed_row_is_not_the_recall_of_a_large_class() -> None:
    model, loss = nn.Linear(4, 4), nn.CrossEntropyLoss()
    with torch.no_grad():
        model.weight.copy_(torch.diag(torch.tensor([1.0, 1.0, -1.0, 1.0])))  # right of all classes but one
        model.bias.zero_()
    whole = torch.arange(6400) % 2  # observed in full; of later batches one in 16 is
    later = [torch.full((64,), 2), *[torch.arange(64) % 2] * 14, torch.tensor([3] * 63 + [2])]
    with Monitor(model, loss=loss, patterns=0, epochs=10) as monitor:
        for _ in range(3):
            for labels in (whole, *later):
                loss(model(nn.functional.one_hot(labels, 4).float()), labels)
            record = monitor.end_epoch()
    assert (record.labels[2], record.train.counts[2], record.train.class_accuracy[2]) == (65, 1, 0.0)
    # one wrong answer, and the mean recall of the four classes as another: (0 + 3/4) / 2
    assert record.evidence.train_recall.tolist() == [1.0, 1.0, 0.375, 1.0]
    assert not any("class 2 is lost" in words for words in record.warnings)


def test_few_rows_say_nothing_unless_there_are_no_more() -> None:
    assert of_enough_rows([0.0, 0.0, 0.5, None], [1, 2, 6, 0], np.array([80, 2, 90, 0])) == [None, 0.0, 0.5, None]


def test_a_class_without_examples_is_said_to_have_none_and_gets_no_advice() -> None:
    torch.manual_seed(0)
    model, loss = nn.Linear(4, 4), nn.CrossEntropyLoss()
    with Monitor(model, loss=loss, epochs=4, patterns=0) as monitor:
        for _ in range(2):
            for rows in (torch.arange(90) % 3).split(30):
                loss(model(torch.randn(30, 4)), rows)
            monitor.end_epoch()
    assert 3 in monitor.records[0].recall_forecast.likely_lost
    own = [words for record in monitor.records for words in record.warnings if " 3" in words]
    assert own == ["class 3 had no training examples in this epoch"]
