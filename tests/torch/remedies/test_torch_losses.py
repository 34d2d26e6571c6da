"""Losses and layers against closed forms, loops and finite differences; no autograd in the references."""

import numpy as np
import pytest
from scipy.stats import chi2

import torch
from lopsided.core.errors import InputError
from lopsided.remedies.augmentation import shifted
from lopsided.remedies.class_weighting import class_weights
from lopsided.remedies.group_dro import dro_start, dro_step
from lopsided.remedies.group_standardiser import GroupStandardiser
from lopsided.remedies.logit_adjustment import adjust_logits
from lopsided.remedies.rates import oversampling_rates
from lopsided.torch import (
    GroupCrops,
    GroupDROLoss,
    GroupNoise,
    GroupWhitening,
    LogitAdjustedLoss,
    PostHocAdjustment,
    WeightedCrossEntropy,
)

STREAM = np.random.default_rng(0)
LOGITS = STREAM.normal(size=(12, 3))
LABELS = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2])
GROUPS = np.array([0, 1] * 6)


def cross_entropies(logits, labels):
    """CE of every row, from its definition."""
    return np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(labels)), labels]


def finite_differences(function, at, step=1e-6):
    found = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[place] += step
        down[place] -= step
        found[place] = (function(up) - function(down)) / (2 * step)
    return found


def value_and_gradient(loss, *arguments):
    logits = torch.tensor(LOGITS, requires_grad=True)
    value = loss(logits, *[torch.tensor(part) for part in arguments])
    value.backward()
    return float(value.detach()), logits.grad.numpy()


# Buffers are single precision, so values agree to 1e-6; central differences with step 1e-6 are good to about 1e-9.
def assert_loss(loss, reference, *arguments):
    value, gradient = value_and_gradient(loss, *arguments)
    assert value == pytest.approx(reference(LOGITS), rel=1e-6)
    np.testing.assert_allclose(gradient, finite_differences(reference, LOGITS), rtol=1e-5, atol=1e-7)


def test_class_weights() -> None:
    weights = class_weights(LABELS, "balanced")
    loss = WeightedCrossEntropy(weights)
    assert_loss(loss, lambda logits: (weights.of_examples * cross_entropies(logits, LABELS)).mean(), LABELS)


def test_cell_weights() -> None:
    weights = class_weights(LABELS, "balanced", groups=GROUPS)
    loss = WeightedCrossEntropy(weights)
    assert_loss(loss, lambda logits: (weights.of_examples * cross_entropies(logits, LABELS)).mean(), LABELS, GROUPS)


def test_weights_of_one_are_plain_cross_entropy_and_batches_average_to_the_whole() -> None:
    logits, labels = torch.tensor(LOGITS), torch.tensor(LABELS)
    plain = torch.nn.functional.cross_entropy(logits, labels)
    assert WeightedCrossEntropy([1.0, 1, 1])(logits, labels) == pytest.approx(float(plain))
    loss = WeightedCrossEntropy(class_weights(LABELS, "balanced"))
    halves = [loss(logits[::2], labels[::2]), loss(logits[1::2], labels[1::2])]
    assert float(sum(halves)) / 2 == pytest.approx(float(loss(logits, labels)))


def test_classes_permuted_with_their_weights_give_the_same_loss() -> None:
    order = np.array([2, 0, 1])
    weights = np.array([0.5, 1.0, 3.0])
    plain = WeightedCrossEntropy(weights)(torch.tensor(LOGITS), torch.tensor(LABELS))
    moved = np.empty(3)
    moved[order] = weights
    columns = np.empty_like(LOGITS)
    columns[:, order] = LOGITS
    permuted = WeightedCrossEntropy(moved)(torch.tensor(columns), torch.tensor(order[LABELS]))
    assert float(permuted) == pytest.approx(float(plain), rel=1e-6)


def test_weighted_loss_mistakes() -> None:
    by_cell = WeightedCrossEntropy(class_weights([0, 0, 1], "balanced", groups=[0, 1, 0]))
    logits = torch.zeros(1, 2)
    with pytest.raises(InputError, match="groups with weights"):
        by_cell(logits, torch.tensor([0]))
    with pytest.raises(InputError, match="an empty one"):
        by_cell(logits, torch.tensor([1]), torch.tensor([1]))
    with pytest.raises(InputError, match="no groups"):
        WeightedCrossEntropy([1.0, 1.0])(logits, torch.tensor([0]), torch.tensor([0]))
    with pytest.raises(InputError, match="numbered from 0"):
        WeightedCrossEntropy(class_weights(["a", "b"], "balanced"))
    with pytest.raises(InputError, match="positive"):
        WeightedCrossEntropy([1.0, 0.0])


def test_logit_adjusted_loss() -> None:
    counts = np.array([600.0, 40, 2])
    offsets = 0.7 * np.log(counts / counts.sum())
    loss = LogitAdjustedLoss(counts, tau=0.7)
    assert_loss(loss, lambda logits: cross_entropies(logits + offsets, LABELS).mean(), LABELS)
    weighted = LogitAdjustedLoss(counts, tau=0.7, weights=torch.tensor([1.0, 2.0, 3.0]))
    weights = np.array([1.0, 2, 3])[LABELS]
    assert_loss(weighted, lambda logits: (weights * cross_entropies(logits + offsets, LABELS)).mean(), LABELS)
    assert "offsets" in loss.state_dict()


def test_post_hoc_adjustment_in_eval_mode_only() -> None:
    model = torch.nn.Linear(4, 3)
    rates = oversampling_rates([600, 40, 2], 5)
    adjusted = PostHocAdjustment(model, rates)
    inputs = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(adjusted.train()(inputs), model(inputs))
    with torch.no_grad():
        wanted = adjust_logits(model(inputs).double().numpy(), rates)
        np.testing.assert_allclose(adjusted.eval()(inputs).numpy(), wanted, atol=1e-5)  # single precision


def test_group_dro_against_the_array_version_and_finite_differences() -> None:
    sizes = [500, 60]
    loss = GroupDROLoss(sizes, step=0.5, adjustment=2.0)
    state = dro_start(sizes, step=0.5, adjustment=2.0)
    stream = np.random.default_rng(1)
    for _ in range(5):
        groups = stream.integers(0, 2, size=12)
        logits = stream.normal(size=(12, 3)) * 3
        value = loss(torch.tensor(logits), torch.tensor(LABELS), torch.tensor(groups))
        state, wanted = dro_step(state, cross_entropies(logits, LABELS), groups)
        assert float(value) == pytest.approx(wanted, rel=1e-12)
        np.testing.assert_allclose(loss.weights.numpy(), state.weights, rtol=1e-12)

    weights = state.weights

    def fixed(logits):
        losses = cross_entropies(logits, LABELS)
        return sum(weights[g] * losses[g == GROUPS].mean() for g in range(2))

    assert_loss(loss.eval(), fixed, LABELS, GROUPS)  # in eval mode q rests, so differences see the same function
    np.testing.assert_allclose(loss.weights.numpy(), weights, rtol=1e-12)


def test_group_dro_resumes_from_its_state() -> None:
    first = GroupDROLoss([5, 5], step=0.5)
    first(torch.tensor([1.0, 3.0]), groups=torch.tensor([0, 1]))
    again = GroupDROLoss([5, 5], step=0.5)
    again.load_state_dict(first.state_dict())
    torch.testing.assert_close(again.weights, first.weights)
    assert first.weights[1] > first.weights[0]


def test_group_dro_backward_after_the_next_batch() -> None:
    """Two forward passes before backward, as gradient accumulation does: q of the first batch stays with it."""
    loss = GroupDROLoss([5, 5], step=0.5)
    losses = torch.tensor([1.0, 3.0], requires_grad=True)
    one = loss(losses, groups=torch.tensor([0, 1]))
    q = loss.weights.clone()
    loss(losses, groups=torch.tensor([0, 1]))
    one.backward()
    torch.testing.assert_close(losses.grad.double(), q)


def test_group_dro_mistakes() -> None:
    loss = GroupDROLoss([5, 5])
    with pytest.raises(InputError, match="the group of every example"):
        loss(torch.zeros(2, 3), torch.tensor([0, 1]))
    with pytest.raises(InputError, match="number them from 0"):
        loss(torch.zeros(2), groups=torch.tensor([0, 2]))
    with pytest.raises(InputError, match="flatten"):
        loss(torch.zeros(2, 3), groups=torch.tensor([0, 1]))


def test_noise_for_one_group_in_train_mode() -> None:
    noise = GroupNoise(4.0, only=[1], generator=torch.Generator().manual_seed(0))
    inputs, groups = torch.zeros(400, 2, 5, 5), torch.arange(400) % 2
    noisy = noise(inputs, groups)
    assert (noisy[groups == 0] == 0).all()
    statistic = float((noisy[groups == 1] ** 2).sum()) / 4  # chi2, 10000 degrees; false alarm 1e-4 on each side
    assert chi2.isf(1 - 1e-4, 10000) < statistic < chi2.isf(1e-4, 10000)
    assert noise.eval()(inputs, groups) is inputs
    half = GroupNoise(1.0, share=0.5, generator=torch.Generator().manual_seed(1))(inputs)
    touched = int((half != 0).flatten(1).any(dim=1).sum())
    assert 140 < touched < 260  # binomial(400, 1/2), six standard deviations
    with pytest.raises(InputError, match="a group for every"):
        noise.train()(inputs)


@pytest.mark.parametrize("shape", [(20, 6, 5), (20, 3, 6, 5)])
def test_crops_against_the_array_version(shape) -> None:
    images = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    groups = torch.arange(20) % 2
    crops = GroupCrops(2, only=[1], fill=-1.0, generator=torch.Generator().manual_seed(5))(images, groups)
    shifts = torch.randint(0, 5, (20, 2), generator=torch.Generator().manual_seed(5)).numpy()
    last = np.moveaxis(images.numpy(), 1, -1) if len(shape) == 4 else images.numpy()
    wanted = shifted(last, shifts, 2, -1.0)
    wanted = np.moveaxis(wanted, -1, 1) if len(shape) == 4 else wanted
    np.testing.assert_array_equal(crops[groups == 1].numpy(), wanted[1::2])
    np.testing.assert_array_equal(crops[groups == 0].numpy(), images[::2].numpy())
    assert GroupCrops(2).eval()(images) is images
    with pytest.raises(InputError, match="pictures"):
        GroupCrops(1)(torch.zeros(2, 3))


@pytest.mark.parametrize("whiten", [True, False])
def test_whitening_layer_against_the_array_version(whiten) -> None:
    stream = np.random.default_rng(3)
    x, groups = stream.normal(size=(60, 4)) * [1, 2, 3, 4] + 1, np.arange(60) % 3
    fitted = GroupStandardiser(whiten=whiten).fit(x, groups)
    layer = GroupWhitening(fitted)
    found = layer(torch.tensor(x, dtype=torch.float32), torch.tensor(groups))
    np.testing.assert_allclose(found.numpy(), fitted.transform(x, groups), atol=1e-5)  # single precision
    with pytest.raises(InputError, match="fit on examples"):
        layer(torch.zeros(1, 4), torch.tensor([3]))
    with pytest.raises(InputError, match="call its fit"):
        GroupWhitening(GroupStandardiser())
