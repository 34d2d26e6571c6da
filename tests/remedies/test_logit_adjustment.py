"""Logit adjustment against exact Bayes on Gaussian classes."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from lopsided.core.errors import InputError
from lopsided.remedies.logit_adjustment import adjust_logits, adjust_probabilities, logit_offsets, prior_of
from lopsided.remedies.rates import oversampling_rates, rates_for

MEANS = np.array([[0.0, 0], [1.5, 0], [0, 2]])
COUNTS = np.array([900, 90, 10])


def posterior(points, prior):
    """p(y|x) from the densities themselves."""
    joint = np.column_stack([p * multivariate_normal(mean).pdf(points) for p, mean in zip(prior, MEANS, strict=True)])
    return joint / joint.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(200, 2)) * 2


@pytest.mark.parametrize("target", [None, [1, 1, 1], [0.2, 0.3, 0.5]])
def test_prior_shift_is_exact_bayes(points, target) -> None:
    wanted = posterior(points, np.ones(3) / 3 if target is None else np.array(target) / np.sum(target))
    seen = posterior(points, COUNTS / 1000)
    # 1e-12: a handful of roundings in each
    np.testing.assert_allclose(adjust_probabilities(seen, COUNTS, target=target), wanted, rtol=1e-12, atol=1e-15)
    logits = adjust_logits(np.log(seen) + 7.0, COUNTS, target=target)
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(shifted / shifted.sum(axis=1, keepdims=True), wanted, rtol=1e-11, atol=1e-15)


def test_after_oversampling_the_prior_of_the_epoch_is_taken_off(points) -> None:
    rates = oversampling_rates(COUNTS, 5)
    seen = posterior(points, prior_of(rates))
    np.testing.assert_allclose(adjust_probabilities(seen, rates), posterior(points, np.ones(3) / 3), rtol=1e-12)


def test_rates_by_cell_give_the_prior_of_classes() -> None:
    labels, groups = np.repeat([0, 0, 1, 1], [60, 10, 20, 5]), np.repeat(["m", "f", "m", "f"], [60, 10, 20, 5])
    rates, _ = rates_for(labels, groups, {(0, "f"): 3, (1, "f"): 4})
    np.testing.assert_allclose(prior_of(rates), np.array([60 + 30, 20 + 20]) / 130)


def test_training_and_post_hoc_offsets_cancel(points) -> None:
    """What training adds, post hoc takes off: a model fitted with offsets needs no adjustment."""
    balanced = np.log(posterior(points, np.ones(3) / 3))
    with_offsets = balanced + logit_offsets(COUNTS)  # the logits that the loss saw
    np.testing.assert_allclose(adjust_logits(with_offsets, COUNTS), balanced, atol=1e-12)


def test_tau_zero_and_equal_counts_change_nothing(points) -> None:
    seen = posterior(points, COUNTS / 1000)
    np.testing.assert_allclose(adjust_probabilities(seen, COUNTS, tau=0), seen, rtol=1e-12)
    np.testing.assert_allclose(adjust_probabilities(seen, [5, 5, 5]), seen, rtol=1e-12)
    half = adjust_probabilities(adjust_probabilities(seen, COUNTS, tau=0.5), COUNTS, tau=0.5)
    np.testing.assert_allclose(half, adjust_probabilities(seen, COUNTS), rtol=1e-12)


def test_extreme_priors_stay_probabilities() -> None:
    certain = np.array([[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(adjust_probabilities(certain, [1e90, 1e-90], tau=4), certain)
    tiny = adjust_probabilities([[1.0, 1e-300]], [1e90, 1e-90], tau=2)  # factor 1e360 leaves the doubles
    np.testing.assert_allclose(tiny, [[0.0, 1.0]], atol=1e-15)


@pytest.mark.parametrize("counts", [[1, 0], [1], [1, np.nan], [[1, 2]]])
def test_impossible_priors_are_refused(counts) -> None:
    with pytest.raises(InputError):
        logit_offsets(counts)


def test_mistakes_get_a_sentence() -> None:
    with pytest.raises(InputError, match="adjust_logits"):
        adjust_probabilities([[-1.0, 2.0]], [1, 2])
    with pytest.raises(InputError, match="2 columns"):
        adjust_logits(np.ones((3, 4)), [1, 2])
    with pytest.raises(InputError, match="Bayes"):
        logit_offsets([1, 2], tau=np.nan)
    with pytest.raises(InputError, match="a target prior of 2 classes"):
        logit_offsets([1, 2], target=[1, 1, 1])
