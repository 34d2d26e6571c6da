"""Short epochs are measured in full now and then, long ones always; recall and losses in every epoch."""

import pytest

import torch
from lopsided.torch import Monitor
from lopsided.torch.monitor.cadence import Cadence
from torch import nn

pytestmark = pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")  # a few epochs teach little


def full_epochs(examples, count, seen=lambda done: None, told=None, classes=10):
    cadence, found = Cadence(told, 10, classes), []
    for epoch in range(count):
        found += [epoch] if cadence.full else []
        cadence.end_epoch(examples, epoch + 1, seen(epoch + 1))
    return found


def test_how_often() -> None:
    assert full_epochs(60_000, 5) == [0, 1, 2, 3, 4]
    assert full_epochs(2_500, 20) == [0, 1, 2, 14]  # 30,000 / 2,500: one in twelve
    assert full_epochs(100, 45) == [0, 1, 2, 22, 42]  # one in twenty at least
    assert full_epochs(100, 8, seen=lambda done: done / 8) == [0, 1, 2, 7]  # the last is known
    assert full_epochs(100, 9, told=3) == [0, 1, 2, 5, 8]
    assert full_epochs(30_000, 7, classes=1000) == [0, 1, 2, 5]  # many classes cost more
    assert full_epochs(100, 4, told=1) == [0, 1, 2, 3]


def test_rows_are_kept_at_times_that_grow() -> None:
    cadence, found = Cadence(None, 10), []
    for epoch in range(30):
        found += [epoch] if cadence.rows else []
        cadence.end_epoch(100, epoch + 1, None)
    assert found == [0, 1, 2, 4, 7, 11, 17, 22]  # each 1.5 times as late as the one before; 22 is measured in full


def test_spectra_come_with_full_epochs_alone() -> None:
    cadence = Cadence(None, spectra_every=10)
    assert [cadence.spectra(epoch) for epoch in range(12)] == [epoch in (0, 10) for epoch in range(12)]
    cadence.full = False
    assert not cadence.spectra(20)
    cadence.full = True
    assert cadence.spectra(21)
    cadence.every = 7
    assert not cadence.spectra(90)
    assert cadence.spectra(91)
    assert not Cadence(None, spectra_every=0).spectra(0)


def test_a_short_epoch_keeps_its_scores() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    codes = torch.arange(30) % 3
    monitor = Monitor(model)
    for _ in range(5):
        model(torch.randn(30, 4) + codes[:, None])
        monitor.update(codes)
        record = monitor.end_epoch()
    assert record.layers == record.patterns == ()
    assert record.train.neural_collapse is record.train.means is None
    assert None not in record.train.class_accuracy + record.train.class_loss
    first = monitor.records[2].train
    assert first.neural_collapse.nc1 is not None
    assert record.classifier.angles.largest_cosine is not None
    # tr S_W / tr S_B needs no angles
    assert abs(record.train.scatter_ratio / first.scatter_ratio - 1) < 1
