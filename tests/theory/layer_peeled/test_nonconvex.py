"""Programs without a convex form: gradients by finite differences, known optima, honest marks."""

import numpy as np
import pytest

from lopsided.theory.collapse import collapse
from lopsided.theory.layer_peeled.nonconvex import contrastive, lq_features, softmax_family, two_layers
from lopsided.theory.layer_peeled.nonconvex.multistart import Sphere

EQUAL = np.full(4, 0.25)


def cosines(columns):
    units = columns / np.linalg.norm(columns, axis=0)
    return (units.T @ units)[np.triu_indices(columns.shape[1], 1)]


def assert_gradient(function, x, gradient) -> None:
    """Central differences with h = 1e-6: error h^2 f''' and rounding 1e-16/h, together below 1e-8 here."""
    generator = np.random.default_rng(1)
    for _ in range(5):
        direction = generator.normal(size=x.shape)
        slope = (function(x + 1e-6 * direction) - function(x - 1e-6 * direction)) / 2e-6
        assert np.vdot(gradient, direction) == pytest.approx(slope, abs=1e-7, rel=1e-6)


@pytest.mark.parametrize("q", [1.0, 1.5, 2.0, 3.0])
def test_sphere(q) -> None:
    sphere = Sphere((3, 4), 2.5, q)
    generator = np.random.default_rng(0)
    x, target = generator.normal(size=(3, 4)), generator.normal(size=(3, 4))
    assert (np.abs(sphere.place(x)) ** q).sum() ** (1 / q) == pytest.approx(2.5)
    assert_gradient(lambda y: float(np.vdot(target, sphere.place(y))), x, sphere.pull_back(x, target))


@pytest.mark.parametrize(
    "loss", [softmax_family.cross_entropy(), softmax_family.power_loss(2), softmax_family.power_loss(3)]
)
def test_softmax_family(loss) -> None:
    z = np.random.default_rng(2).normal(size=(4, 4))
    weights = np.array([0.5, 0.3, 0.1, 0.1])
    _, gradient = softmax_family.loss_and_slope(loss, z, weights)
    assert_gradient(lambda y: softmax_family.loss_and_slope(loss, y, weights)[0], z, gradient)
    found = softmax_family.solve_softmax_family(EQUAL, 20, 1, loss, starts=4)
    assert found.condition_holds
    # Theorem 4: the frame is the optimum. Descent ends within 1e-8 of it, relative to the loss.
    assert found.search.value == pytest.approx(found.frame_value, rel=1e-6)
    np.testing.assert_allclose(cosines(found.features), -1 / 3, atol=1e-3)
    assert "uncertified" in found.search.status


def test_energy_condition() -> None:
    holds, slack = softmax_family.energy_condition(10, 1.0, 1.0)
    assert not holds
    assert slack == pytest.approx(1 - 0.9 * np.log(100 + 19 * 9))
    assert softmax_family.energy_condition(10, 100.0, 1.0)[0]


def test_contrastive() -> None:
    counts = np.array([30.0, 10, 5, 5])
    h = np.random.default_rng(4).normal(size=(6, 4))
    _, gradient = contrastive.contrastive_loss(h, counts, 0.7)
    assert_gradient(lambda y: contrastive.contrastive_loss(y, counts, 0.7)[0], h, gradient)
    balanced = contrastive.solve_contrastive(np.full(4, 7.0), 3.0, starts=4)
    # Theorem 3: the frame of length sqrt(E_H)
    assert balanced.search.value == pytest.approx(balanced.frame_value, rel=1e-9)
    np.testing.assert_allclose(cosines(balanced.features), -1 / 3, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(balanced.features, axis=0), np.sqrt(3), rtol=1e-5)


def test_contrastive_is_the_loss_over_examples() -> None:
    """The class-mean form equals eq (11), summed over examples of unequal classes."""
    counts, temperature = np.array([3, 1, 2]), 0.8
    means = np.random.default_rng(5).normal(size=(4, 3))
    examples = np.repeat(means, counts, axis=1)
    labels = np.repeat(np.arange(3), counts)
    total = 0.0
    for i, label in enumerate(labels):
        scores = examples[:, i] @ examples / temperature
        same = np.flatnonzero(labels == label)
        total += np.mean([-scores[j] + np.log(np.exp(scores).sum()) for j in same])
    value, _ = contrastive.contrastive_loss(means, counts.astype(float), temperature)
    assert value == pytest.approx(total / counts.sum(), rel=1e-12)


def test_l2_features_reach_the_certified_optimum() -> None:
    weights = np.array([0.6, 0.25, 0.1, 0.05])
    found = lq_features.solve_lq(weights, 2.0, 1.0, 2.0, starts=6)
    certified = collapse(weights, feature_energy=2, weight_energy=1)
    assert found.search.value == pytest.approx(certified.solution.objective, rel=1e-8)
    assert found.search.constraints_active


@pytest.mark.parametrize("q", [1.5, 3.0])
def test_other_exponents_do_better_than_the_frame(q) -> None:
    """Proposition 2: with K >= 3 the frame, whose cosines are -1/2, is not optimal."""
    found = lq_features.solve_lq(EQUAL[:3] * 4 / 3, 2.0, 1.0, q, starts=2)
    assert np.abs(cosines(found.features) + 0.5).max() > 0.01


def test_two_layers_gradient_and_value() -> None:
    weights = np.array([0.5, 0.3, 0.2])
    found = two_layers.solve_two_layers(weights, 2.0, 3.0, starts=3)
    z = found.top @ np.maximum(found.hidden @ found.features, 0)
    naive = sum(w * (np.log(np.exp(z[:, k]).sum()) - z[k, k]) for k, w in enumerate(weights))
    assert found.search.value == pytest.approx(naive, rel=1e-9)
    energy = ((found.top**2).sum() + (found.hidden**2).sum()) / 3
    assert energy == pytest.approx(3.0, rel=1e-12)
    assert found.search.gradient_norm < 1e-4  # of the logarithm of the loss: L-BFGS has converged
