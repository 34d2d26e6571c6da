"""Targets that are no class codes: mixed labels, several classes an example; every label is counted."""

import pytest
from torch.nn.functional import binary_cross_entropy_with_logits, one_hot

import torch
from lopsided.torch import Monitor
from torch import nn

from .reference import small_network


@pytest.fixture
def shown():
    torch.manual_seed(0)
    return small_network(), torch.randn(40, 5), torch.arange(40) % 4


def record_of(model, inputs, targets, **options):
    with Monitor(model, **options) as monitor:
        model(inputs)
        monitor.update(targets)
        return monitor.end_epoch().to_dict()


def test_one_hot_rows_are_their_codes(shown) -> None:
    model, inputs, codes = shown
    plain = record_of(model, inputs, codes)["train"]
    for table in (one_hot(codes), one_hot(codes).float(), one_hot(codes).bool(), one_hot(codes).tolist()):
        assert record_of(model, inputs, table)["train"] == plain


def test_mixed_labels_count_for_their_largest_class(shown) -> None:
    model, inputs, codes = shown
    other = codes.roll(1)
    mixed = 0.7 * one_hot(codes).float() + 0.3 * one_hot(other).float()
    found = record_of(model, inputs, mixed)
    assert found["train"] == record_of(model, inputs, codes)["train"]
    assert any("mixed labels" in note for note in found["notes"])


def test_several_classes_an_example_are_judged_one_against_the_rest(shown) -> None:
    model, inputs, codes = shown
    targets = (one_hot(codes) | one_hot(codes.roll(1) * (codes > 1), 4)).float()  # one or two classes
    targets[0] = 0  # or none
    loss = nn.BCEWithLogitsLoss()
    with Monitor(model, loss=loss) as monitor:
        logits = model(inputs)
        loss(logits, targets)
        found = monitor.end_epoch().train
    assert found.counts == tuple(int(count) for count in targets.sum(dim=0))
    for k in range(4):
        own = targets[:, k] == 1
        assert found.class_accuracy[k] == pytest.approx(float((logits[own, k] > 0).float().mean()))
        wanted = binary_cross_entropy_with_logits(logits[own, k].detach(), targets[own, k])
        assert found.class_loss[k] == pytest.approx(float(wanted), rel=1e-5)  # single precision
    hidden = model[:-1](inputs).detach().double()
    means = torch.stack([hidden[targets[:, k] == 1].mean(dim=0) for k in range(4)])
    lengths = (means - means.mean(dim=0)).norm(dim=1)
    few = targets.sum(dim=0) < targets.sum() / 4
    assert found.means.minority_norm == pytest.approx(float(lengths[few].mean()), rel=1e-5)


def test_every_label_is_counted_though_few_batches_are_observed() -> None:
    torch.manual_seed(0)
    model, loss = small_network(), nn.CrossEntropyLoss()
    codes = torch.tensor([0] * 12_000 + [1] * 500 + [2] * 40)[torch.randperm(12_540)]
    with Monitor(model, loss=loss, patterns=0) as monitor:
        for part in codes.split(64):
            loss(model(torch.randn(len(part), 5)), part)
        with pytest.warns(UserWarning, match="class 3 had no training examples"):
            record = monitor.end_epoch()
        assert record.labels == (12_000, 500, 40, 0)
        assert sum(record.train.counts) < 12_540  # and yet not all was observed
        assert record.forecast.examples == 12_540
        loss(model(torch.randn(64, 5)), torch.arange(64) % 3)
        assert monitor.end_epoch().labels == (22, 21, 21, 0)  # each epoch anew


def semi_supervised(step, *, rows: int = 240, batch: int = 20):
    """An epoch of labelled and unlabelled examples; what the monitor says, and the accuracy by hand."""
    torch.manual_seed(0)
    model, loss = nn.Sequential(nn.Linear(5, 3)), nn.CrossEntropyLoss()
    monitor = Monitor(model, loss=loss, patterns=0)
    inputs, labels, unlabelled = torch.randn(rows, 5), torch.randint(3, (rows,)), torch.randn(rows, 5) + 2
    right = 0
    for part in torch.arange(rows).split(batch):
        answer = step(model, loss, inputs[part], labels[part], unlabelled[part])
        right += int((answer.argmax(dim=1) == labels[part]).sum())
    return monitor.end_epoch(), right / rows, torch.bincount(labels, minlength=3).tolist()


def unlabelled_first(model, loss, inputs, labels, unlabelled):
    model(unlabelled)
    answer = model(inputs)
    loss(answer, labels)
    return answer


def unlabelled_last(model, loss, inputs, labels, unlabelled):
    answer = model(inputs)
    model(unlabelled)
    loss(answer, labels)
    return answer


def mixed_beside_unlabelled(model, loss, inputs, labels, unlabelled):
    answer = model(inputs)
    model(unlabelled)
    loss(answer, labels)
    loss(answer, labels.flip(0))
    return answer


def guessed_labels(model, loss, inputs, labels, unlabelled):
    answer, other = model(inputs), model(unlabelled)
    loss(answer, labels)
    loss(other, other.argmax(dim=1))
    return answer


def some_guessed_labels(model, loss, inputs, labels, unlabelled):
    answer, other = model(inputs), model(unlabelled)
    loss(answer, labels)
    sure = torch.arange(len(other)) % 2 == 0
    loss(other[sure], other.argmax(dim=1)[sure])
    return answer


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (unlabelled_first, False),
        (unlabelled_last, False),
        (mixed_beside_unlabelled, True),
        (guessed_labels, True),
        (some_guessed_labels, False),
    ],
)
def test_each_loss_is_of_the_forward_pass_that_gave_its_logits(step, said) -> None:
    record, accuracy, counts = semi_supervised(step)
    assert list(record.labels) == list(record.train.counts) == counts
    assert record.train.accuracy == pytest.approx(accuracy)
    assert any("the labels of the first call count" in note for note in record.notes) == said


def test_a_loss_that_could_be_of_several_passes_is_said() -> None:
    def scaled(model, loss, inputs, labels, unlabelled):
        answer = model(inputs)
        model(unlabelled)
        loss(answer / 2, labels)
        return answer

    def alone(model, loss, inputs, labels, unlabelled):
        answer = model(inputs)
        loss(answer / 2, labels)
        return answer

    notes = [semi_supervised(step)[0].notes for step in (scaled, alone)]
    assert [any("the latest one counts" in note for note in found) for found in notes] == [True, False]


def test_what_is_left_of_a_step_takes_no_labels_of_the_next_ones() -> None:
    """An epoch so long that batches are skipped: what is observed is the same with unlabelled passes as without."""

    def plain(model, loss, inputs, labels, unlabelled):
        answer = model(inputs)
        loss(answer, labels)
        return answer

    found = [semi_supervised(step, rows=10_000, batch=50)[0] for step in (plain, unlabelled_first, unlabelled_last)]
    assert sum(found[0].train.counts) < 10_000
    for record in found[1:]:
        assert record.labels == found[0].labels
        assert record.train.accuracy == pytest.approx(found[0].train.accuracy, abs=0.03)  # of other batches


def test_a_loss_with_the_same_logits_again_is_said() -> None:
    model, loss = nn.Sequential(nn.Linear(5, 3)), nn.CrossEntropyLoss()
    monitor = Monitor(model, loss=loss)
    labels = torch.arange(20) % 3
    answer = model(torch.randn(20, 5))
    loss(torch.randn(20, 3), labels)  # of another model
    assert not any("first call" in note for note in monitor.end_epoch().notes)
    answer = model(torch.randn(20, 5))
    for shown in (labels, labels.flip(0)):  # mixup
        loss(answer, shown)
    record = monitor.end_epoch()
    assert any("the labels of the first call count" in note for note in record.notes)
    assert record.train.examples == 20
