"""The forecast before training reads data, network and optimiser as they are given."""

import random

import numpy as np
import pytest
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

import torch
from lopsided.core.errors import InputError
from lopsided.torch import mend, recall_before
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


def ragged(number: int):
    return torch.zeros(number + 1), 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epochs": float("nan")}, "epochs"),
        ({"epochs": 0}, "epochs"),
        ({"optimizer": None}, "a PyTorch optimizer as optimizer="),
        ({"model": "resnet"}, "torch.nn.Module as model="),
        ({"features": lambda rows: rows}, "torch.nn.Module as features="),
        ({"features": nn.Linear(3, 2)}, "rows of numbers of one kind"),  # of the wrong width
        ({"data": torch.eye(20).to_sparse()}, "a dense tensor"),
        ({"data": [[1.0], [1.0, 2.0]] * 10}, "rows of numbers of one kind"),
        ({"data": [ragged(number) for number in range(20)], "labels": None}, "rows of numbers of one kind"),
        (
            {"data": TensorDataset(torch.zeros(20, 4), torch.zeros(20).long(), torch.zeros(20).long()), "labels": None},
            r"batches \(inputs, labels\)",  # which of the two are labels?
        ),
    ],
)
def test_bad_arguments_are_a_sentence(change, words) -> None:
    model = nn.Linear(4, 2)
    told = {
        "data": torch.randn(20, 4),
        "labels": torch.arange(20) % 2,
        "model": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "epochs": 5,
        "batch_size": 4,
    } | change
    with pytest.raises(InputError, match=words):
        recall_before(told.pop("data"), told.pop("labels"), **told)


class Augmented(torch.utils.data.Dataset):
    """Draws from all three sources of random numbers."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, place: int):
        moved = torch.randn(4) + float(np.random.rand()) + random.random()  # noqa: NPY002  # as users do
        return moved, place % 2


def test_the_training_draws_what_it_would_have_drawn(digits) -> None:
    model = nn.Linear(4, 2)
    told = {"model": model, "optimizer": torch.optim.SGD(model.parameters(), lr=0.1), "epochs": 5}

    def after(action) -> tuple[float, float, float]:
        torch.manual_seed(0), np.random.seed(0), random.seed(0)  # noqa: NPY002
        action()
        return float(torch.rand(1)), float(np.random.rand()), random.random()  # noqa: NPY002

    untouched = after(lambda: None)
    own = torch.Generator().manual_seed(3)
    loader = DataLoader(Augmented(), batch_size=8, shuffle=True, generator=own)
    state = own.get_state()
    assert after(lambda: recall_before(loader, **told)) == untouched
    assert after(lambda: mend(model, loader, counts=[20, 20])) == untouched
    assert torch.equal(own.get_state(), state)
