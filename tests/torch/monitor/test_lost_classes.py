"""A class without recall is the loudest warning: said first, and again after twice as many epochs."""

import numpy as np
import pytest

import torch
from lopsided.torch import ImbalanceWarning, Monitor
from lopsided.torch.monitor.lost_classes import LostClasses
from torch import nn

NAMES = ("cat", "dog", "eel")
COUNTS = np.array([900.0, 90.0, 9.0])


def said(epochs, train=None, held_out=None):
    """What is said in each epoch, with the recall of the last class as given."""
    watch = LostClasses(3, NAMES)
    full = [None if last is None else (0.9, 0.8, last) for last in (train, held_out)]
    return [watch.look(full[0], full[1], COUNTS) for _ in range(epochs)]


def test_lost_on_both_or_one() -> None:
    both = said(12, train=0.0, held_out=0.0)
    where = "recall 0 on training and held-out examples in the last"
    assert [epoch for epoch, words in enumerate(both, 1) if words] == [3, 6, 12]
    assert both[2] == [f"class eel is lost: {where} 3 epochs (9 training examples)"]
    assert both[11] == [f"class eel is lost: {where} 12 epochs (9 training examples)"]
    assert said(3, train=0.7, held_out=0.0)[2] == [
        "class eel is lost: recall 0 on held-out examples in the last 3 epochs (9 training examples and training "
        "recall 0.70)"
    ]
    assert said(3, train=0.0)[2] == [
        "class eel is lost: recall 0 on training examples in the last 3 epochs (9 training examples)"
    ]


def test_nearly_lost_is_said_once() -> None:
    near = said(7, train=0.5, held_out=0.04)
    assert [len(words) for words in near] == [0, 0, 1, 0, 0, 0, 0]
    assert near[2] == ["class eel is nearly lost after 3 epochs: held-out recall 0.04 and training recall 0.50"]
    assert said(5, train=0.5, held_out=0.5) == [[]] * 5
    assert said(3, train=0.04)[2] == ["class eel is nearly lost after 3 epochs: training recall 0.04"]


def test_an_epoch_without_the_class_says_nothing() -> None:
    watch = LostClasses(3, NAMES)
    found = [watch.look((0.9, 0.8, value), None, COUNTS) for value in (0.0, 0.0, None, 0.0)]
    assert [len(words) for words in found] == [0, 0, 0, 1]
    watch = LostClasses(3, NAMES)
    assert not any(watch.look((0.9, 0.8, value), None, COUNTS) for value in (0.0, 0.0, 0.3, 0.0, 0.0))


def test_a_run_warns_logs_and_plots_it(tmp_path) -> None:
    model = nn.Sequential(nn.Identity(), nn.Linear(3, 3, bias=False))
    with torch.no_grad():
        model[1].weight.copy_(torch.diag(torch.tensor([1.0, 1.0, -1.0])))
    codes = torch.arange(30) % 3
    inputs = torch.eye(3)[codes]
    logged = []

    class Log:
        def log(self, values, step):
            logged.append(values)

    def epoch(monitor):
        for mode in (True, False):
            model.train(mode)
            model(inputs)
            monitor.update(codes)
        return monitor.end_epoch()

    with Monitor(model, names=NAMES, loggers=Log(), patterns=0) as monitor:
        epoch(monitor), epoch(monitor)
        with pytest.warns(ImbalanceWarning, match="class eel is lost"):
            record = epoch(monitor)
    assert record.warnings[0].startswith("class eel is lost: recall 0 on training and held-out examples")
    assert logged[-1]["lopsided/train/recall/0"] == 1.0
    assert logged[-1]["lopsided/held_out/recall/2"] == 0.0
    page = monitor.report(tmp_path / "page.html").read_text()
    assert "Recall of each class, held out" in page
    assert "class eel is lost" in page


def test_of_many_classes_the_lowest_and_quantiles_are_logged() -> None:
    torch.manual_seed(0)
    model, codes = nn.Linear(4, 120), torch.arange(240) % 120
    with Monitor(model, patterns=0) as monitor:
        model(torch.randn(240, 4))
        monitor.update(codes)
        record = monitor.end_epoch()
    values = record.scalars()
    own = {name: value for name, value in values.items() if name.startswith("train/recall/")}
    assert len(own) == 14
    recall = np.sort(record.train.class_accuracy)
    assert own["train/recall/lowest_10"] == recall[9]
    assert own["train/recall/quantile_0.75"] == np.quantile(recall, 0.75)
