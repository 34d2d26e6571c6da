"""What users give by mistake to the PyTorch remedies ends in one sentence; what is merely unusual works."""

import re

import numpy as np
import pytest
from torch.nn.functional import cross_entropy
from torch.utils.data import Subset, TensorDataset

import torch
from lopsided import remedies
from lopsided.core.errors import InputError
from lopsided.torch import (
    GroupDROLoss,
    GroupNoise,
    GroupWhitening,
    LogitAdjustedLoss,
    OversamplingSampler,
    PostHocAdjustment,
    WeightedCrossEntropy,
)

LOGITS, LABELS = torch.arange(12.0).reshape(4, 3), torch.tensor([0, 1, 2, 0])
DATA = TensorDataset(torch.zeros(9, 2), torch.arange(9) % 3)
WHITENING = remedies.GroupStandardiser().fit(np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: OversamplingSampler(Subset(DATA, []), rate="balanced"), "a Subset with examples"),
        (lambda: OversamplingSampler(Subset(DATA, [500]), rate="balanced"), "from 0 to 8, but got 500 to 500"),
        (lambda: OversamplingSampler(Subset(DATA, [0.5]), rate="balanced"), "indices of a Subset"),
        (lambda: WeightedCrossEntropy("abc"), "a positive weight for every class, but got 'abc'"),
        (lambda: WeightedCrossEntropy(None), "a positive weight for every class, but got a NoneType"),
        (lambda: WeightedCrossEntropy([1.0, 2.0])(LOGITS, LABELS % 2), "logits with 2 columns"),
        (lambda: WeightedCrossEntropy([1.0] * 4)(LOGITS, LABELS), "logits with 4 columns"),
        (lambda: WeightedCrossEntropy([1.0] * 3)(LOGITS, LABELS.float()), "labels as whole numbers"),
        (lambda: WeightedCrossEntropy([1.0] * 3)(LOGITS, LABELS + 1), "labels from 0 to 2, but got 3"),
        (lambda: LogitAdjustedLoss([5, 5])(LOGITS, LABELS), "logits with 2 columns"),
        (lambda: LogitAdjustedLoss([5, 5, 1])(LOGITS, LABELS - 1), "labels from 0 to 2, but got -1"),
        (lambda: LogitAdjustedLoss([5, 5, 1], weights=[1.0, 2.0]), "3 weights, one per class"),
        (lambda: LogitAdjustedLoss([5, 5, 1], weights="abc"), "a positive weight"),
        (lambda: LogitAdjustedLoss("abc"), "one count for each of at least two classes, but got 'abc'"),
        (lambda: PostHocAdjustment(torch.nn.Linear(2, 3), [5, 5]).eval()(torch.ones(1, 2)), "logits with 2 columns"),
        (lambda: PostHocAdjustment(torch.nn.LSTM(2, 2), [5, 5]).eval()(torch.ones(1, 1, 2)), "returns logits"),
        (lambda: GroupDROLoss([5, 5])(LOGITS, LABELS, torch.tensor([0.0, 1, 0, 1])), "groups as whole numbers"),
        (lambda: GroupDROLoss([5, 5])(LOGITS, LABELS, torch.tensor([0, 1, 2, 1])), "groups from 0 to 1, but got 2"),
        (lambda: GroupDROLoss([5]), "groups"),
        (lambda: GroupDROLoss([5, 0]), "group"),
        (lambda: GroupNoise(0.1)(torch.ones(2, 3, dtype=torch.uint8)), "floating-point numbers"),
        (lambda: GroupWhitening(WHITENING)(torch.ones(2, 5), torch.tensor([0, 1])), "rows of 3 features"),
        (lambda: GroupWhitening(WHITENING)(torch.ones(2, 3), torch.tensor([0, 7])), "groups from 0 to 1"),
    ],
)
def test_mistakes_end_in_a_sentence(act, words) -> None:
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        act()
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize("counts", [[5], [5, 0], "x"])
def test_group_dro_speaks_of_groups(counts) -> None:
    with pytest.raises(InputError) as caught:
        GroupDROLoss(counts)
    assert "class" not in str(caught.value)


@pytest.mark.parametrize("kind", [torch.uint8, torch.int32, torch.bool])
def test_groups_of_any_whole_type(kind) -> None:
    groups = torch.tensor([0, 1, 1, 0])
    one, other = GroupDROLoss([5, 5]), GroupDROLoss([5, 5])
    assert torch.equal(one(LOGITS, LABELS, groups), other(LOGITS, LABELS, groups.to(kind)))


def test_an_ignored_example_belongs_to_no_group() -> None:
    loss = GroupDROLoss([5, 5]).eval()
    labels, groups = torch.tensor([0, 1, -100, 0]), torch.tensor([0, 1, 1, 0])
    kept = labels != -100
    assert torch.allclose(loss(LOGITS, labels, groups), loss(LOGITS[kept], labels[kept], groups[kept]))


def test_lists_and_small_integers() -> None:
    plain = LogitAdjustedLoss([9, 5, 1], weights=[1.0, 2.0, 3.0])
    by_hand = torch.tensor([1.0, 2.0, 3.0])[LABELS] * cross_entropy(LOGITS + plain.offsets, LABELS, reduction="none")
    assert torch.allclose(plain(LOGITS, LABELS.to(torch.int32)), by_hand.mean())
    weighted = WeightedCrossEntropy([1.0, 2.0, 3.0])
    assert torch.equal(weighted(LOGITS, LABELS.to(torch.int32)), weighted(LOGITS, LABELS))


def test_offsets_go_to_the_class_axis_of_maps() -> None:
    loss = LogitAdjustedLoss([90, 9, 1])
    maps, labels = torch.randn(2, 3, 5), torch.randint(0, 3, (2, 5))
    flat = maps.movedim(1, -1).reshape(-1, 3)
    assert torch.allclose(loss(maps, labels), cross_entropy(flat + loss.offsets, labels.reshape(-1)))


def test_weights_of_data_that_lacks_the_last_class() -> None:
    loss = WeightedCrossEntropy(remedies.class_weights([0, 0, 1], "balanced"))
    assert torch.isfinite(loss(LOGITS, torch.tensor([0, 1, 1, 0])))


def test_rows_that_are_no_probabilities_are_refused() -> None:
    with pytest.raises(InputError, match=r"sum to 1 in every row, but got a sum of 1.8 in row 1"):
        remedies.adjust_probabilities([[0.5, 0.5], [0.9, 0.9]], [990, 10])
    half = np.full((1, 2), 0.4998)  # a softmax in half precision
    assert remedies.adjust_probabilities(half, [990, 10]).sum() == pytest.approx(1)
