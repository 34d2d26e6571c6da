"""Evaluations that are kept apart by name, and a monitor that goes on where another stopped."""

import copy
import dataclasses
import warnings

import pytest

import torch
from lopsided.core.errors import InputError
from lopsided.core.plain_records import from_plain, to_plain
from lopsided.torch import EpochRecord, Monitor
from torch import nn

from .reference import planted_head


def test_two_evaluations_and_the_training_set_are_not_one_sum(run) -> None:
    model, inputs, labels, loss, optimizer, train = run
    monitor = Monitor(model, loss=loss, optimizer=optimizer)
    train()
    with torch.no_grad(), monitor.phase("training set"):  # in training mode, and yet no training
        loss(model(inputs), labels)
    model.eval()
    with torch.no_grad():
        loss(model(inputs[:32]), labels[:32])
        for x, y in monitor.batches([(inputs[:8], labels[:8]), (inputs[8:20], labels[8:20])], "test"):
            loss(model(x), y)
        with monitor.phase("held_out"):
            loss(model(inputs[32:40]), labels[32:40])
    record = monitor.end_epoch()
    assert (record.train.examples, record.held_out.examples) == (96, 40)
    assert {name: phase.examples for name, phase in record.phases.items()} == {"training set": 96, "test": 20}
    assert record.to_dict()["phases"]["test"]["examples"] == 20
    assert record.scalars()["phases/test/recall/1"] == record.phases["test"].class_accuracy[1]
    assert record.forecast.settings.batch_size == 32  # rows of the phases belong to no step
    model.train()
    train()
    assert monitor.end_epoch().phases == {}


def test_a_phase_named_val_is_what_was_held_out(run) -> None:
    model, inputs, labels, loss, _, _ = run
    monitor = Monitor(model, loss=loss)
    loss(model(inputs), labels)
    model.eval()
    with monitor.phase("val"):
        loss(model(inputs[:30]), labels[:30])
    record = monitor.end_epoch()
    assert record.held_out == record.phases["val"]
    assert record.held_out.examples == 30


@pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")
def test_a_resumed_monitor_says_what_one_without_a_break_says(run, tmp_path) -> None:
    model, _, _, loss, optimizer, train = run
    whole = Monitor(model, loss=loss, optimizer=optimizer, epochs=4)
    first = Monitor(model, loss=loss, optimizer=optimizer, epochs=4)
    for _ in range(2):
        train()
        whole.end_epoch(), first.end_epoch()
    torch.save(first.state_dict(), tmp_path / "state.pt")
    first.close()
    second = Monitor(model, loss=loss, optimizer=optimizer, epochs=4)
    second.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert [record.to_dict() for record in second.records] == [record.to_dict() for record in first.records]
    train()
    expected, found = whole.end_epoch(), second.end_epoch()
    assert (found.epoch, found.step, found.seen, found.layers) == (2, 9, 0.75, expected.layers)
    assert found.patterns == expected.patterns
    assert found.forecast.settings == expected.forecast.settings


def test_a_resumed_monitor_does_not_repeat_its_warnings() -> None:
    model, inputs, labels = planted_head((1, 4)), torch.eye(6, 12).repeat(4, 1), torch.arange(24) % 6
    state = None
    said = []
    for _ in range(4):
        with Monitor(model, patterns=0) as monitor, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if state is not None:
                monitor.load_state_dict(state)
            model(inputs)
            monitor.update(labels)
            said.append([words for words in monitor.end_epoch().warnings if "merging" in words])
            state = copy.deepcopy(monitor.state_dict())
    assert [len(words) for words in said] == [0, 1, 0, 0]


def test_records_come_back_from_plain_values(run) -> None:
    model, _, _, loss, optimizer, train = run
    monitor = Monitor(model, loss=loss, optimizer=optimizer)
    train()
    record = dataclasses.replace(monitor.end_epoch(), epoch_seconds=float("inf"))
    again = from_plain(EpochRecord, to_plain(record))
    assert repr(to_plain(again)) == repr(to_plain(record))  # NaN is not equal to itself
    assert type(again.train.neural_collapse) is type(record.train.neural_collapse)
    assert again.layers[0].spectrum is not None
    assert isinstance(again.layers[0].shape, tuple)


def test_sharded_models_are_refused() -> None:
    class FSDPModule(nn.Sequential):
        pass

    with pytest.raises(InputError, match="whole in each process"):
        Monitor(FSDPModule(nn.Linear(3, 2)))


def test_training_after_a_loop_that_was_left_early_is_training_again(run) -> None:
    model, inputs, labels, loss, optimizer, train = run
    monitor = Monitor(model, loss=loss, optimizer=optimizer)
    bar = monitor.batches([(inputs[:8], labels[:8]), (inputs[8:20], labels[8:20])], "val")  # as a progress bar holds it
    model.eval()
    for x, y in bar:
        loss(model(x), y)
        break
    train()
    model.eval()
    with monitor.phase("test"):
        loss(model(inputs[:8]), labels[:8])
        bar.close()
        loss(model(inputs[8:16]), labels[8:16])
    record = monitor.end_epoch()
    assert record.train.examples == 96
    assert {name: phase.examples for name, phase in record.phases.items()} == {"val": 8, "test": 16}


def test_a_phase_that_was_opened_holds_until_it_is_closed(run) -> None:
    """Also for a pass in training mode after one in evaluation mode, such as one that renews batch statistics."""
    model, inputs, labels, loss, optimizer, train = run
    monitor = Monitor(model, loss=loss, optimizer=optimizer)
    train()
    with monitor.phase("test"):
        model.eval()
        loss(model(inputs[:8]), labels[:8])
        model.train()
        loss(model(inputs[:16]), labels[:16])
    record = monitor.end_epoch()
    assert record.train.examples == 96
    assert record.phases["test"].examples == 24
