"""Short epochs are measured in full now and then, long ones always; recall and losses in every epoch."""

import pytest

import torch
from lopsided.torch import Monitor
from lopsided.torch.monitor.cadence import WEIGHTS, Cadence
from torch import nn

pytestmark = pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")  # a few epochs teach little


def full_epochs(examples, count, seen=lambda done: None, told=None, classes=10, weights=WEIGHTS):
    cadence, found = Cadence(told, 10, classes, weights), []
    for epoch in range(count):
        found += [epoch] if cadence.full else []
        cadence.end_epoch(examples, epoch + 1, seen(epoch + 1))
    return found


def test_how_often() -> None:
    assert full_epochs(300_000, 5) == [0, 1, 2, 3, 4]
    assert full_epochs(30_000, 24) == [0, 1, 2, 12, 22]  # 300,000 / 30,000
    assert full_epochs(30_000, 5, weights=10 * WEIGHTS) == [0, 1, 2, 3, 4]  # a larger network takes longer to train
    assert full_epochs(10_000, 40) == [0, 1, 2, 32]  # one in thirty
    assert full_epochs(100, 130) == [0, 1, 2, 62, 122]  # one in sixty at least
    assert full_epochs(100, 8, seen=lambda done: done / 8) == [0, 1, 2, 7]  # the last is known
    assert full_epochs(100, 9, told=3) == [0, 1, 2, 5, 8]
    assert full_epochs(30_000, 50, classes=1000) == [0, 1, 2, 42]  # many classes cost more: one in forty
    assert full_epochs(100, 4, told=1) == [0, 1, 2, 3]


def test_rows_are_kept_at_times_that_grow() -> None:
    def kept(classes):
        cadence, rows, means = Cadence(20, 10, classes), [], []
        for epoch in range(30):
            rows += [epoch] if cadence.rows else []
            means += [epoch] if cadence.means else []
            cadence.end_epoch(100, epoch + 1, None)
        # NC4 of a full epoch, here 22, compares with the means of the one before
        assert sorted({*means} - {*rows}) == [21]
        return rows

    assert kept(10) == [0, 1, 2, 4, 7, 11, 17, 22]  # each 1.5 times as late as the one before, and full ones
    assert kept(1000) == [0, 1, 2, 5, 11, 22]


def test_spectra_come_with_full_epochs_alone() -> None:
    cadence = Cadence(None, spectra_every=10)
    assert [cadence.spectra(epoch) for epoch in range(12)] == [epoch in (0, 10) for epoch in range(12)]
    cadence.full = False
    assert not cadence.spectra(20)
    cadence.full = True
    assert cadence.spectra(21)
    cadence.every = 4
    assert cadence.spectra(31)
    cadence.every = 24
    assert not cadence.spectra(90)
    assert cadence.spectra(91)
    assert not Cadence(None, spectra_every=0).spectra(0)


def test_a_short_epoch_keeps_its_scores() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    codes = torch.arange(30) % 3
    monitor = Monitor(model)
    for _ in range(4):
        model(torch.randn(30, 4) + codes[:, None])
        monitor.update(codes)
        record = monitor.end_epoch()
    assert record.layers == record.patterns == ()
    assert record.train.neural_collapse is record.train.means is None
    assert None not in record.train.class_accuracy + record.train.class_loss
    first = monitor.records[2].train
    assert first.neural_collapse.nc1 is not None
    assert record.classifier.angles.largest_cosine is not None
    assert record.train.scatter_ratio is record.train.within_variance is None
    assert record.train.class_variance == (None, None, None)


def test_the_epoch_before_a_full_one_takes_class_means() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    codes = torch.arange(60) % 3
    monitor, inputs = Monitor(model, geometry_every=5), torch.randn(60, 4) + torch.arange(60)[:, None] % 3
    for epoch in range(8):
        if epoch == 5:
            with torch.no_grad():
                model[0].weight += 1.0  # far from the class means of the epochs before
        model(inputs)
        monitor.update(codes)
        monitor.end_epoch()
    trained = [record.train for record in monitor.records]
    assert [phase.within_variance is not None for phase in trained] == [epoch not in (3, 5) for epoch in range(8)]
    assert [phase.neural_collapse is not None for phase in trained] == [True] * 3 + [False] * 4 + [True]
    # the weights rest since epoch 5, so the means of the epoch before are those of the epoch itself
    assert trained[7].neural_collapse.nc4 == monitor.measure([(inputs, codes)]).neural_collapse.nc4
