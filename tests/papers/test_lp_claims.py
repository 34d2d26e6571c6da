"""The tools of the Layer-Peeled claims against answers that owe them nothing: differences, cvxpy, sign patterns."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from lopsided.core.seeds import generator
from lopsided.papers.lp.lp_contrastive import contrastive, frame_loss
from lopsided.papers.lp.lp_lq import CLAIM as LQ
from lopsided.papers.lp.lp_softmax_losses import softmax_loss
from lopsided.papers.lp.peeled import cross_entropy, descend, frame_error, pair_cosines, problem


@pytest.mark.parametrize("loss", [cross_entropy, softmax_loss(1.5), softmax_loss(3.0)])
def test_gradients_of_the_losses(loss) -> None:
    stream = generator(0, "logits")
    logits, labels = 2 * stream.normal(size=(4, 5)), np.array([0, 1, 2, 3, 1])
    _, gradient = loss(logits, labels)

    def total(flat):
        return loss(flat.reshape(4, 5), labels)[0].sum()

    # forward differences of step 1e-7 on values of order 1: errors of about 1e-7
    np.testing.assert_allclose(gradient.ravel(), approx_fprime(logits.ravel(), total, 1e-7), atol=2e-6)


def test_gradient_of_the_contrastive_loss() -> None:
    features = generator(0, "features").normal(size=(3, 6))
    _, gradient = contrastive(features, 3, 2, 0.7)
    numeric = approx_fprime(features.ravel(), lambda flat: contrastive(flat.reshape(3, 6), 3, 2, 0.7)[0], 1e-7)
    np.testing.assert_allclose(gradient.ravel(), numeric, atol=2e-6)


def test_contrastive_loss_by_its_definition() -> None:
    features, classes, examples, temperature = generator(1, "features").normal(size=(3, 6)), 3, 2, 0.7
    total = 0.0
    for k in range(classes):
        for i in range(examples):
            own = features[:, k * examples + i]
            below = sum(np.exp(own @ other / temperature) for other in features.T)
            for j in range(examples):
                total -= np.log(np.exp(own @ features[:, k * examples + j] / temperature) / below) / examples
    assert np.isclose(contrastive(features, classes, examples, temperature)[0], total / 6, rtol=1e-13)
    frame = np.sqrt(1.5) * (np.eye(3) - 1 / 3)
    at_frame = contrastive(np.repeat(frame, 2, axis=1), 3, 2, 0.7)[0]
    assert np.isclose(at_frame, frame_loss(3, 2, 0.7, 1.0), rtol=1e-13)


def test_tiny_losses_keep_their_digits() -> None:
    losses, gradient = cross_entropy(np.array([[60.0], [0.0], [-5.0]]), np.array([0]))
    assert np.isclose(losses[0], np.exp(-60) + np.exp(-65), rtol=1e-13)
    assert np.isclose(gradient[1, 0], np.exp(-60), rtol=1e-13)


@pytest.mark.parametrize("counts", [[8, 2, 1], [6, 6, 1, 1]])
def test_descent_reaches_the_optimum_of_the_semidefinite_program(counts: list[int]) -> None:
    """Program (15) word by word in cvxpy, solved by Clarabel."""
    import cvxpy as cp

    classes, of_features, of_weights = len(counts), 2.0, 1.0
    share = np.array(counts) / sum(counts)
    x = cp.Variable((2 * classes, 2 * classes), PSD=True)
    terms = [share[k] * (cp.log_sum_exp(x[k, classes:]) - x[k, classes + k]) for k in range(classes)]
    energies = [
        cp.trace(x[:classes, :classes]) <= classes * of_features,
        cp.trace(x[classes:, classes:]) <= classes * of_weights,
    ]
    reference = cp.Problem(cp.Minimize(cp.sum(terms)), energies).solve(solver=cp.CLARABEL)
    instance = problem(counts, weight_energy=of_weights, feature_energy=of_features, dimension=2 * classes)
    fit = descend(instance, generator(0, "start"), starts=2)[0]
    assert abs(fit.loss / reference - 1) < 1e-6  # Clarabel's default gap of 1e-8, relative to losses of order 0.1
    assert np.isclose(np.sum(fit.classifiers**2), classes * of_weights, rtol=1e-12)


@pytest.mark.parametrize(("classes", "repeats"), [(4, 2), (6, 1)])
def test_a_frame_whose_entries_have_one_absolute_value(classes: int, repeats: int) -> None:
    """One coordinate per split of the classes into halves: the counterexample to Proposition 2 for q > 2."""
    rows = []
    for half in combinations(range(1, classes), classes // 2 - 1):
        signs = -np.ones(classes)
        signs[[0, *half]] = 1.0
        rows.append(signs)
    features = np.repeat(np.array(rows), repeats, axis=0).T
    assert features.shape[1] >= classes
    assert frame_error(features) < 1e-12
    # its features are as long as mean |h|_q^q <= E_H allows any features to be (power means), so Theorem 1 applies
    settings = {
        "classes": classes,
        "dimension": features.shape[1],
        "q": 4.0,
        "weight_energy": 1.0,
        "feature_energy": 2.0,
    }
    length = np.sqrt(features.shape[1]) * (2.0 / features.shape[1]) ** 0.25
    optimum = np.log1p((classes - 1) * np.exp(-length * classes / (classes - 1)))
    numbers = LQ.measure(settings | {"starts": 12}, 0)
    assert np.isclose(numbers["frame_loss"], optimum, rtol=1e-8)
    assert numbers["loss"] >= optimum * (1 - 1e-9)


def test_pair_cosines_and_frame_error() -> None:
    frame = np.eye(5) - 0.2
    assert frame_error(frame) < 1e-12
    np.testing.assert_allclose(pair_cosines(frame), -0.25, atol=1e-15)
    frame[0] *= 1.5
    assert frame_error(frame) > 0.3
    frame[0] = 0.0
    assert frame_error(frame) >= 1.0
