"""Programs without a convex form: gradients by finite differences, known optima, honest marks."""

import numpy as np
import pytest

from lopsided.core.seeds import generator
from lopsided.papers.lp.descents import LqSphere, Sphere
from lopsided.papers.lp.lp_contrastive import CLAIM as CONTRASTIVE
from lopsided.papers.lp.lp_contrastive import contrastive
from lopsided.papers.lp.lp_lq import lowest_end
from lopsided.papers.lp.lp_softmax_losses import bound, softmax_loss
from lopsided.papers.lp.lp_two_layers import peeled_layers
from lopsided.papers.lp.peeled import cross_entropy, descend, pair_cosines, problem
from lopsided.theory.collapse import collapse


def assert_gradient(function, x, gradient) -> None:
    """Central differences with h = 1e-6: error h^2 f''' and rounding 1e-16/h, together below 1e-8 here."""
    stream = np.random.default_rng(1)
    for _ in range(5):
        direction = stream.normal(size=x.shape)
        slope = (function(x + 1e-6 * direction) - function(x - 1e-6 * direction)) / 2e-6
        assert np.vdot(gradient, direction) == pytest.approx(slope, abs=1e-7, rel=1e-6)


@pytest.mark.parametrize("q", [1.0, 1.5, 2.0, 3.0])
def test_sphere_of_entries(q) -> None:
    sphere = LqSphere((3, 4), 2.5**q, q)
    stream = np.random.default_rng(0)
    x, target = stream.normal(size=(3, 4)), stream.normal(size=(3, 4))
    assert (np.abs(sphere.place(x)) ** q).sum() ** (1 / q) == pytest.approx(2.5)
    assert_gradient(lambda y: float(np.vdot(target, sphere.place(y))), x, sphere.pull_back(x, target))


@pytest.mark.parametrize("weights", [None, np.array([0.4, 0.3, 0.2, 0.1])])
def test_sphere(weights) -> None:
    sphere = Sphere((3, 4), 2.5, weights)
    stream = np.random.default_rng(0)
    x, target = stream.normal(size=(3, 4)), stream.normal(size=(3, 4))
    energy = (sphere.place(x) ** 2).sum(axis=0) @ (np.ones(4) if weights is None else weights)
    assert energy == pytest.approx(2.5)
    assert_gradient(lambda y: float(np.vdot(target, sphere.place(y))), x, sphere.pull_back(x, target))


@pytest.mark.parametrize("loss", [cross_entropy, softmax_loss(2), softmax_loss(3)])
def test_softmax_family(loss) -> None:
    z, labels = np.random.default_rng(2).normal(size=(4, 4)), np.arange(4)
    weights = np.array([0.5, 0.3, 0.1, 0.1])
    _, slope = loss(z, labels)
    assert_gradient(lambda y: weights @ loss(y, labels)[0], z, weights * slope)
    instance = problem([1.0] * 4, feature_energy=20.0, weight_energy=1.0)
    found = descend(instance, generator(0, "start"), starts=4, loss=loss)[0]
    assert np.sqrt(20.0) > bound(4, np.sqrt(20.0))
    # Theorem 4: the frame is the optimum. Descent ends within 1e-8 of it, relative to the loss.
    gram = np.eye(4) * 4 / 3 - 1 / 3
    assert found.loss == pytest.approx(loss(np.sqrt(20.0) * gram, labels)[0].mean(), rel=1e-6)
    np.testing.assert_allclose(pair_cosines(found.features.T), -1 / 3, atol=1e-3)
    assert "uncertified" in found.status


def test_energy_condition() -> None:
    """Theorem 4 at E_H E_W = 1 and 100, ten classes."""
    assert bound(10, 1.0) == pytest.approx(0.9 * np.log(100 + 19 * 9))
    assert bound(10, 1.0) > 1.0
    assert bound(10, 10.0) < 10.0


def test_contrastive() -> None:
    h = np.random.default_rng(4).normal(size=(6, 4))
    _, gradient = contrastive(h, 2, 2, 0.7)
    assert_gradient(lambda y: contrastive(y, 2, 2, 0.7)[0], h, gradient)
    settings = {"classes": 4, "examples": 7, "dimension": 4, "feature_energy": 3.0, "temperature": 1.0, "starts": 4}
    numbers = CONTRASTIVE.measure(settings, 0)
    # Theorem 3: the frame of length sqrt(E_H)
    assert numbers["loss_excess"] == pytest.approx(0, abs=1e-9)
    assert numbers["frame_error"] < 1e-5
    assert numbers["within_class"] < 1e-5


def test_contrastive_is_the_loss_over_examples() -> None:
    """Features at their class means: eq (11), summed over examples."""
    temperature, labels = 0.8, np.repeat(np.arange(3), 2)
    examples = np.repeat(np.random.default_rng(5).normal(size=(4, 3)), 2, axis=1)
    total = 0.0
    for i, label in enumerate(labels):
        scores = examples[:, i] @ examples / temperature
        same = np.flatnonzero(labels == label)
        total += np.mean([-scores[j] + np.log(np.exp(scores).sum()) for j in same])
    value, _ = contrastive(examples, 3, 2, temperature)
    assert value == pytest.approx(total / 6, rel=1e-12)


def test_l2_features_reach_the_certified_optimum() -> None:
    weights = [0.6, 0.25, 0.1, 0.05]
    found = descend(problem(weights, feature_energy=2.0, weight_energy=1.0), generator(0, "start"), starts=6)[0]
    certified = collapse(np.array(weights), feature_energy=2, weight_energy=1)
    assert found.loss == pytest.approx(certified.solution.objective, rel=1e-8)
    # Both constraints are active: a longer W or H would lower the loss.
    _, slope = cross_entropy(found.logits, np.arange(4))
    assert np.vdot(slope * np.array(weights), found.logits) < 0


@pytest.mark.parametrize("q", [1.5, 3.0])
def test_other_exponents_do_better_than_the_frame(q) -> None:
    """Proposition 2: with K >= 3 the frame, whose cosines are -1/2, is not optimal."""
    settings = {"classes": 3, "dimension": 3, "q": q, "weight_energy": 1.0, "feature_energy": 2.0, "starts": 2}
    end = lowest_end(settings, generator(0, "start"))
    assert np.abs(pair_cosines(end.blocks[1].T) + 0.5).max() > 0.01
    assert "uncertified" in end.status


@pytest.mark.parametrize(("layers", "reading"), [(2, "relu"), (3, "linear")])
def test_peeled_layers_gradient_and_value(layers: int, reading: str) -> None:
    weights, p = np.array([0.5, 0.3, 0.2]), 6
    energies = {"weight_energy": 3.0, "feature_energy": 2.0}
    settings = {"dimension": p, "reading": reading, "layers": layers, "starts": 3, **energies}
    end, top, seen = peeled_layers(settings, weights, generator(0, "start"))
    hidden, features = end.blocks[0][3 * p :].reshape(layers - 1, p, p), end.blocks[1]
    for matrix in hidden:
        features = np.maximum(matrix @ features, 0) if reading == "relu" else matrix @ features
    np.testing.assert_allclose(seen, features, atol=1e-15)
    z = top @ seen
    naive = sum(w * (np.log(np.exp(z[:, k]).sum()) - z[k, k]) for k, w in enumerate(weights))
    assert np.exp(end.objective) == pytest.approx(naive, rel=1e-9)
    assert ((top**2).sum() + (hidden**2).sum()) / 3 == pytest.approx(3.0, rel=1e-12)
    assert end.gradient < 1e-4  # of the logarithm of the loss: L-BFGS has converged
