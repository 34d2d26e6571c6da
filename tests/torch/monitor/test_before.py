"""A monitor that is given the forecast before training uses it: in the evidence, in the law, and through a resume."""

from dataclasses import replace

import numpy as np
import pytest

import torch
from lopsided.core.errors import InputError
from lopsided.theory.recall_law import recall_forecast
from lopsided.torch import Monitor, recall_before
from torch import nn


def trained(before: bool, epochs: int = 2):
    torch.manual_seed(0)
    labels = torch.repeat_interleave(torch.arange(3), torch.tensor([60, 20, 4]))
    inputs = torch.randn(84, 4) + torch.eye(4)[labels]
    model, loss = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    told = recall_before(inputs, labels, model=model, optimizer=optimizer, epochs=10, batch_size=28)
    monitor = Monitor(model, loss=loss, optimizer=optimizer, epochs=10, before=told if before else False)
    for _ in range(epochs):
        for rows in torch.randperm(84).split(28):
            optimizer.zero_grad()
            loss(model(inputs[rows]), labels[rows]).backward()
            optimizer.step()
        monitor.end_epoch()
    return monitor, told


@pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")
def test_the_forecast_rests_on_it() -> None:
    monitor, told = trained(before=True)
    evidence = monitor.records[-1].evidence
    assert evidence.before_score.tolist() == list(told.scores)
    chances = [one.chance_lost for one in monitor.records[-1].recall_forecast.classes]
    assert chances == recall_forecast(evidence).chance_lost.tolist()
    assert chances != recall_forecast(evidence.without_before()).chance_lost.tolist()
    without, _ = trained(before=False)
    assert np.isnan(without.records[-1].evidence.before_score).all()
    fewer = recall_forecast(without.records[-1].evidence).chance_lost
    assert fewer == pytest.approx(recall_forecast(evidence.without_before()).chance_lost)


@pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")
def test_a_better_forecast_before_makes_a_better_one_after() -> None:
    monitor, _ = trained(before=True)
    evidence = monitor.records[-1].evidence
    better = evidence.before_score + np.array([0.0, 0.0, 3.0])
    moved = recall_forecast(replace(evidence, before_score=better))
    assert moved.chance_lost[2] < recall_forecast(evidence).chance_lost[2]


def test_what_is_no_such_forecast_is_refused() -> None:
    _, told = trained(before=False, epochs=0)
    with pytest.raises(InputError, match="a forecast of 5 classes for before=, but got 3 classes"):
        Monitor(nn.Linear(4, 5), before=told)
    with pytest.raises(InputError, match="recall_before returns"):
        Monitor(nn.Linear(4, 3), before=0.5)


def test_the_training_data_will_do() -> None:
    labels = torch.repeat_interleave(torch.arange(3), torch.tensor([60, 20, 4]))
    inputs = torch.randn(84, 4, generator=torch.Generator().manual_seed(0)) + torch.eye(4)[labels]
    weights = 1.0 / torch.bincount(labels)[labels]
    data = torch.utils.data.TensorDataset(inputs, labels)
    loader = torch.utils.data.DataLoader(
        data, batch_size=28, sampler=torch.utils.data.WeightedRandomSampler(weights, 84)
    )
    model = nn.Linear(4, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    asked = {"model": model, "optimizer": optimizer, "epochs": 10}
    torch.manual_seed(3)
    first = torch.rand(1)
    torch.manual_seed(3)
    monitor = Monitor(**asked, before=loader)
    assert torch.rand(1) == first  # no random number of the training was used
    told = recall_before(inputs, labels, **asked, batch_size=28)
    assert monitor._ahead.before["before_score"].tolist() == list(told.scores)  # each example once, not as drawn
    with pytest.raises(InputError, match="the optimizer and either epochs or steps, but got optimizer"):
        Monitor(model, optimizer=optimizer, before=loader)
