"""Mistakes that would give a wrong number without a word."""

import numpy as np
import pytest
from torch.nn.functional import cross_entropy

import torch
from lopsided.core.errors import InputError
from lopsided.measure.neural_collapse import neural_collapse
from lopsided.torch import GroupDROLoss, LogitAdjustedLoss, Monitor, WeightedCrossEntropy, compare_checkpoints


@pytest.mark.parametrize("offset", [0.0, 10.0, 1000.0])
def test_an_offset_of_all_features_leaves_nc1(offset) -> None:
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 100)
    features = random.normal(size=(400, 8)) * 0.3 + (random.normal(size=(4, 8)) * 0.3)[labels]
    plain = neural_collapse(features, labels).nc1
    # moving by 1000 rounds the features at 1e-13 of their scatter
    assert neural_collapse(features + offset, labels).nc1 == pytest.approx(plain, rel=1e-9)


def test_ignored_labels_count_nowhere() -> None:
    torch.manual_seed(0)
    logits, labels = torch.randn(6, 3), torch.tensor([0, 1, 2, 0, 1, -100])
    adjusted = LogitAdjustedLoss([100, 30, 5])
    assert torch.allclose(adjusted(logits, labels), cross_entropy(logits + adjusted.offsets, labels))
    weighted = WeightedCrossEntropy([1.0, 2.0, 3.0])
    by_hand = (weighted.weights[labels[:5]] * cross_entropy(logits[:5], labels[:5], reduction="none")).mean()
    assert torch.allclose(weighted(logits, labels), by_hand)


def test_a_batch_that_overflowed_leaves_group_weights() -> None:
    loss = GroupDROLoss([10, 3])
    logits, labels, groups = torch.full((4, 2), torch.nan), torch.zeros(4, dtype=torch.long), torch.arange(4) % 2
    loss(logits, labels, groups)
    assert torch.isfinite(loss.weights).all()


def test_the_head_in_safetensors_is_not_the_last_in_the_alphabet(tmp_path) -> None:
    from safetensors.torch import save_file

    torch.manual_seed(0)
    for name in ("before", "after"):
        shapes = {"stem.weight": (16, 6), "mid.weight": (12, 16), "fc.weight": (4, 12)}
        save_file({key: torch.randn(shape) for key, shape in shapes.items()}, tmp_path / f"{name}.safetensors")
    found = compare_checkpoints(tmp_path / "before.safetensors", tmp_path / "after.safetensors").classifier
    assert found is not None
    assert (found.name, found.classes) == ("fc.weight", 4)


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))


@pytest.mark.parametrize("in_order", [True, False])
def test_batches_that_come_class_by_class_are_said(in_order) -> None:
    model = network().eval()
    labels = torch.arange(4).repeat_interleave(1000)
    order = torch.arange(4000) if in_order else torch.randperm(4000, generator=torch.Generator().manual_seed(0))
    inputs = torch.randn(4000, 20) + labels[:, None]
    with Monitor(model) as monitor, torch.no_grad():
        for rows in order.split(100):
            model(inputs[rows])
            monitor.update(labels[rows])
        record = monitor.end_epoch()
    assert (record.held_out.neural_collapse.nc1 is None) == in_order
    assert any("sorted by class" in note for note in record.notes) == in_order


def test_reused_buffers_are_read_at_once() -> None:
    model = network().eval()
    groups, labels = torch.zeros(50, dtype=torch.long), np.zeros(50, dtype=np.int64)
    with Monitor(model) as monitor, torch.no_grad():
        for k in range(4):
            groups.fill_(k)
            labels[:] = k
            model(torch.randn(50, 20))
            monitor.update(torch.from_numpy(labels), groups)
        record = monitor.end_epoch()
    assert record.held_out.counts == (50, 50, 50, 50)
    assert [group.examples for group in record.held_out.groups] == [50, 50, 50, 50]


def test_a_wild_group_code_is_refused() -> None:
    model = network().eval()
    with Monitor(model) as monitor, torch.no_grad():
        model(torch.randn(5, 20))
        with pytest.raises(InputError, match="group codes"):
            monitor.update(torch.zeros(5, dtype=torch.long), torch.full((5,), 10**9))
