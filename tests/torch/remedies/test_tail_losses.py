"""Focal, LDAM and balanced-softmax losses against their definitions in NumPy and finite differences."""

import numpy as np
import pytest

import torch
from lopsided.core.errors import InputError
from lopsided.torch import BalancedSoftmaxLoss, FocalLoss, LDAMLoss, LogitAdjustedLoss
from tests.torch.remedies.test_torch_losses import LABELS, LOGITS, assert_loss, cross_entropies

COUNTS = np.array([600.0, 40.0, 2.0])


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
def test_focal_loss(gamma) -> None:
    weights = np.array([0.5, 1.0, 3.0])

    def reference(logits):
        plain = cross_entropies(logits, LABELS)
        return (weights[LABELS] * (1 - np.exp(-plain)) ** gamma * plain).mean()

    assert_loss(FocalLoss(gamma, weights=weights), reference, LABELS)


def test_focal_loss_of_a_certain_answer_has_a_finite_gradient() -> None:
    logits = torch.tensor([[200.0, 0.0], [0.0, 0.0]], requires_grad=True)
    FocalLoss(0.5)(logits, torch.tensor([0, 1])).backward()
    assert bool(logits.grad.isfinite().all())


def test_ldam_margins_and_deferred_weights() -> None:
    margins = 0.4 * (2.0 / COUNTS) ** 0.25

    def plain(logits):
        moved = logits.copy()
        moved[np.arange(LABELS.size), LABELS] -= margins[LABELS]
        return cross_entropies(3.0 * moved, LABELS)

    loss = LDAMLoss(COUNTS, margin=0.4, scale=3.0, reweight_from=5, beta=0.99)
    assert_loss(loss, lambda logits: plain(logits).mean(), LABELS)
    loss.set_epoch(5)
    weights = (1 - 0.99) / (1 - 0.99**COUNTS)
    weights *= COUNTS.sum() / (weights @ COUNTS)
    assert_loss(loss, lambda logits: (weights[LABELS] * plain(logits)).mean(), LABELS)


def test_ldam_resumes_at_its_epoch() -> None:
    first, second = (LDAMLoss(COUNTS, reweight_from=2) for _ in range(2))
    first.set_epoch(3)
    second.load_state_dict(first.state_dict())
    logits, labels = torch.tensor(LOGITS), torch.tensor(LABELS)
    assert second(logits, labels) == first(logits, labels) != LDAMLoss(COUNTS)(logits, labels)


def test_balanced_softmax_is_the_adjusted_loss_at_tau_one() -> None:
    def reference(logits):  # eq. 4 of Ren et al.: n_y e^f_y / sum_k n_k e^f_k
        shares = COUNTS * np.exp(logits)
        return -np.log(shares[np.arange(LABELS.size), LABELS] / shares.sum(axis=1)).mean()

    assert_loss(BalancedSoftmaxLoss(COUNTS), reference, LABELS)
    assert isinstance(BalancedSoftmaxLoss(COUNTS), LogitAdjustedLoss)


@pytest.mark.parametrize(
    "loss", [FocalLoss(), LDAMLoss(COUNTS), BalancedSoftmaxLoss(COUNTS)], ids=lambda x: type(x).__name__
)
def test_ignored_rows_segmentation_and_scripts(loss) -> None:
    logits, labels = torch.tensor(LOGITS), torch.tensor(LABELS)
    ignored = labels.clone()
    ignored[::3] = -100
    kept = labels[ignored != -100], logits[ignored != -100]
    assert float(loss(logits, ignored)) == pytest.approx(float(loss(kept[1], kept[0])))
    assert float(loss(logits, torch.full_like(labels, -100))) == 0.0
    pixels = torch.stack([logits[:6], logits[6:]], dim=2), torch.stack([labels[:6], labels[6:]], dim=1)
    assert float(loss(*pixels)) == pytest.approx(float(loss(logits, labels)))


def test_mistakes_are_one_sentence() -> None:
    logits, labels = torch.tensor(LOGITS), torch.tensor(LABELS)
    with pytest.raises(InputError, match="logits with 2 columns"):
        LDAMLoss([5, 1])(logits, labels)
    with pytest.raises(InputError, match="positive count"):
        LDAMLoss([5, 0, 1])
    with pytest.raises(InputError, match="gamma"):
        FocalLoss(-1.0)
    with pytest.raises(InputError, match="a positive weight for every class"):
        FocalLoss(weights=[[1.0, 2.0]])
    with pytest.raises(InputError, match="labels from 0 to 2"):
        FocalLoss()(logits, labels + 1)
