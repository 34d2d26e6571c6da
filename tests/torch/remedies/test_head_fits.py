"""Corrections of a head against closed forms, an independent optimiser and invariances."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from lopsided.core.errors import InputError
from lopsided.torch.remedies.head_fits import HeadWeights, leading_directions, refitted, shifted, tau_normalised

STREAM = np.random.default_rng(0)
FEATURES = STREAM.normal(size=(200, 3))
CODES = STREAM.choice(4, size=200, p=[0.6, 0.2, 0.15, 0.05])
HEAD = HeadWeights(STREAM.normal(size=(4, 3)), STREAM.normal(size=4))
LOG_PRIOR = np.log(np.bincount(CODES) / CODES.size)


def objective(head, free, variance, log_prior) -> float:
    """The problem of the module's docstring, from the fitted head alone."""
    scores = log_softmax(head.scores(FEATURES) + log_prior, axis=1)[np.arange(CODES.size), CODES]
    unit = np.sqrt(np.square(FEATURES).sum(axis=1).mean())
    changes = [head.bias - HEAD.bias]
    if free == "all":
        changes.append((head.weight - HEAD.weight).ravel() * unit)
    if free == "scales":
        ratio = (head.weight / HEAD.weight).mean(axis=1) - 1.0
        changes.append(ratio * (FEATURES @ HEAD.weight.T).std())
    return -scores.mean() + np.square(np.concatenate(changes)).sum() / (2 * variance * CODES.size)


@pytest.mark.parametrize("free", ["offsets", "scales", "all"])
def test_a_refit_is_a_minimum(free) -> None:
    found = refitted(HEAD, FEATURES, CODES, free=free, variance=2.0, log_prior=LOG_PRIOR)
    best = objective(found, free, 2.0, LOG_PRIOR)
    random = np.random.default_rng(1)
    for _ in range(50):
        step = 1e-2 * random.normal(size=4)
        other = shifted(found, step)
        if free == "all":
            other = HeadWeights(found.weight + 1e-2 * random.normal(size=(4, 3)), other.bias)
        if free == "scales":
            other = HeadWeights(found.weight * (1 + 1e-2 * random.normal(size=(4, 1))), other.bias)
        # L-BFGS ends at a relative change of 2e-9; the steps cost about 1e-4
        assert objective(other, free, 2.0, LOG_PRIOR) > best - 1e-7


def test_a_loose_refit_is_logistic_regression_and_a_tight_one_the_head() -> None:
    loose = refitted(HEAD, FEATURES, CODES, variance=1e6)
    peer = LogisticRegression(C=np.inf, max_iter=1000, tol=1e-8).fit(FEATURES, CODES)
    np.testing.assert_allclose(  # both ends of L-BFGS, at gradients of about 1e-5
        log_softmax(loose.scores(FEATURES), axis=1), peer.predict_log_proba(FEATURES), atol=5e-3
    )
    tight = refitted(HEAD, FEATURES, CODES, variance=1e-9)
    np.testing.assert_allclose(tight.weight, HEAD.weight, atol=1e-6)


def test_the_prior_inside_the_softmax_makes_a_head_for_equal_classes() -> None:
    """Offsets alone, hardly held: with log rho inside, the fit is the plain one less log rho."""
    plain = refitted(HEAD, FEATURES, CODES, free="offsets", variance=1e6)
    equal = refitted(HEAD, FEATURES, CODES, free="offsets", variance=1e6, log_prior=LOG_PRIOR)
    gap = plain.bias - equal.bias - LOG_PRIOR
    np.testing.assert_allclose(gap - gap.mean(), 0.0, atol=1e-3)


def test_tau_norm() -> None:
    lengths = np.linalg.norm(HEAD.weight, axis=1)
    one = tau_normalised(HEAD)
    np.testing.assert_allclose(np.linalg.norm(one.weight, axis=1), lengths.mean())
    np.testing.assert_allclose(one.bias, HEAD.bias * lengths.mean() / lengths)
    np.testing.assert_allclose(tau_normalised(HEAD, 0.0).weight, HEAD.weight)
    with pytest.raises(InputError, match="zero weights for class 0"):
        tau_normalised(HeadWeights(np.zeros((2, 3)), np.zeros(2)))


@pytest.mark.parametrize("rows", [30, 300])
def test_leading_directions_are_orthonormal_and_hold_the_largest_part(rows) -> None:
    features = np.random.default_rng(2).normal(size=(rows, 100)) * np.r_[np.full(5, 10.0), np.full(95, 0.1)]
    found = leading_directions(features)
    assert found.shape == (min(rows, 64), 100)
    np.testing.assert_allclose(found @ found.T, np.eye(len(found)), atol=1e-10)
    assert np.square(features @ found.T).sum() > 0.999 * np.square(features).sum()
