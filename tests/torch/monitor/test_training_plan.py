"""How much of a planned training is done: told in epochs or steps, or read from a schedule."""

from functools import partial

import pytest
from torch.optim import SGD, lr_scheduler

import torch
from lopsided.core.errors import InputError
from lopsided.torch import Monitor
from lopsided.torch.monitor.training_plan import schedule_length

pytestmark = pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")  # a few epochs teach little


def seen_after(run, count, scheduler=None, *, per_step=False, **plan):
    """The share of the training done at the end of each epoch of three steps."""
    model, inputs, labels, loss, optimizer, _ = run
    monitor = Monitor(model, loss=loss, optimizer=optimizer, scheduler=scheduler, **plan)
    found = []
    for _ in range(count):
        for rows in torch.arange(96).split(32):
            loss(model(inputs[rows]), labels[rows]).backward()
            optimizer.step()
            if scheduler is not None and per_step:
                scheduler.step()
        found.append(monitor.end_epoch().seen)
        if scheduler is not None and not per_step:
            scheduler.step()
    return found, monitor


def test_told_length(run) -> None:
    assert seen_after(run, 2)[0] == [None, None]
    assert seen_after(run, 3, epochs=4)[0] == [0.25, 0.5, 0.75]
    assert seen_after(run, 3, steps=8)[0] == [3 / 8, 6 / 8, 1.0]  # nothing is seen twice
    assert seen_after(run, 2, epochs=10, steps=6)[0] == [0.5, 1.0]  # what ends first
    with pytest.raises(InputError, match="epochs"):
        seen_after(run, 1, epochs=0)


def test_within_an_epoch_the_one_before_is_the_measure(run) -> None:
    _, monitor = seen_after(run, 1, epochs=4)
    model, inputs, labels, loss, *_ = run
    loss(model(inputs[:32]), labels[:32])
    assert monitor.seen == pytest.approx((1 + 1 / 3) / 4)


def test_schedules_of_epochs_and_of_steps(run) -> None:
    optimizer = run[4]
    assert seen_after(run, 2, lr_scheduler.CosineAnnealingLR(optimizer, T_max=5))[0] == [0.2, 0.4]
    cycle = lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=12)
    assert seen_after(run, 2, cycle, per_step=True)[0] == [0.25, 0.5]
    assert seen_after(run, 1, lr_scheduler.StepLR(optimizer, 3))[0] == [None]
    with pytest.raises(InputError, match="scheduler"):
        seen_after(run, 1, scheduler="cosine")


def test_lengths_of_joined_schedules() -> None:
    optimizer = SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    warm, fall = lr_scheduler.LinearLR(optimizer, total_iters=4), lr_scheduler.CosineAnnealingLR(optimizer, T_max=16)
    assert schedule_length(warm) is None  # a warm-up ends long before the training does
    assert schedule_length(lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=7)) == 7
    assert schedule_length(lr_scheduler.SequentialLR(optimizer, [warm, fall], milestones=[4])) == 20
    assert schedule_length(lr_scheduler.ChainedScheduler([warm, fall])) == 16

    def rule(step, *, num_warmup_steps, num_training_steps):
        return 1.0

    like_transformers = partial(rule, num_warmup_steps=10, num_training_steps=90)
    assert schedule_length(lr_scheduler.LambdaLR(optimizer, like_transformers)) == 90


def test_an_evaluation_before_the_training_is_no_epoch_of_it(run) -> None:
    model, inputs, labels, loss, optimizer, train = run
    monitor = Monitor(model, loss=loss, optimizer=optimizer, epochs=4)
    model.eval()
    loss(model(inputs), labels)
    assert monitor.end_epoch().seen == 0.0
    train()
    assert monitor.end_epoch().seen == 0.25
