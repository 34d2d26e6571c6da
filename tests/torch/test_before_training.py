"""The forecast before training reads data, network and optimiser as they are given."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

import torch
from lopsided.core.errors import InputError
from lopsided.torch import recall_before
from torch import nn


@pytest.fixture(scope="module")
def digits():
    features, labels = load_digits(return_X_y=True)
    kept = np.concatenate([np.flatnonzero(labels == k)[: max(2, 120 // 2**k)] for k in range(10)])
    return torch.tensor(features[kept] / 16, dtype=torch.float32), torch.tensor(labels[kept])


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 10))


def test_arrays_sets_and_loaders_are_the_same_data(digits) -> None:
    inputs, labels = digits
    model = network()
    told = {"model": model, "optimizer": torch.optim.AdamW(model.parameters(), lr=1e-3), "epochs": 20}
    one = recall_before(inputs, labels, batch_size=32, **told)
    two = recall_before(TensorDataset(inputs, labels), batch_size=32, **told)
    three = recall_before(DataLoader(TensorDataset(inputs, labels), batch_size=32), **told)
    assert one == two == three
    assert one.seen == 0.0
    assert len(one.classes) == 10
    assert one.classes[0].chance_lost < one.classes[-1].chance_lost  # 120 examples and two
    assert 9 in one.likely_lost
    assert "too little to merge classes" in one.notes[0]


def test_the_plan_is_read(digits) -> None:
    inputs, labels = digits
    plain = nn.Sequential(nn.Linear(64, 10))
    outlooks = []
    for model, optimizer in (
        (network(), torch.optim.AdamW),
        (plain, torch.optim.AdamW),
        (plain, torch.optim.SGD),
    ):
        made = optimizer(model.parameters(), lr=1e-2, weight_decay=0.5)
        outlooks.append(recall_before(inputs, labels, model=model, optimizer=made, steps=2000, batch_size=32))
    assert len({tuple(one.recall for one in found.classes) for found in outlooks}) == 3
    assert all(found.notes == () for found in outlooks)  # decay this strong may merge classes


def test_a_backbone_gives_the_features(digits) -> None:
    inputs, labels = digits
    model = nn.Linear(8, 10)
    told = {"model": model, "optimizer": torch.optim.SGD(model.parameters(), lr=0.1), "epochs": 5, "batch_size": 32}
    torch.manual_seed(0)
    backbone = nn.Linear(64, 8).train()
    found = recall_before(inputs, labels, features=backbone, **told)
    with torch.no_grad():
        assert found == recall_before(backbone(inputs), labels, **told)
    assert backbone.training


def test_what_is_missing_is_said(digits) -> None:
    inputs, labels = digits
    model = nn.Linear(64, 10)
    told = {"model": model, "optimizer": torch.optim.SGD(model.parameters(), lr=0.1)}
    with pytest.raises(InputError, match="steps or in epochs"):
        recall_before(inputs, labels, batch_size=8, **told)
    with pytest.raises(InputError, match="batch size"):
        recall_before(inputs, labels, steps=10, **told)
    with pytest.raises(InputError, match="class code"):
        recall_before(inputs, labels[:5], steps=10, batch_size=8, **told)
    with pytest.raises(InputError, match=r"batches \(inputs, labels\)"):
        recall_before([1, 2, 3], steps=10, batch_size=8, **told)
