"""Indices: exact multiplicities, repeatability, and frequencies of the random fraction by chi-square."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from lopsided.core.errors import InputError
from lopsided.remedies.resampling import resampling_plan

LABELS = np.repeat([0, 1, 2], [50, 20, 7])


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=60).map(lambda found: np.unique(found, return_inverse=True)[1]),
    st.lists(st.floats(0.05, 6), min_size=4, max_size=4),
    st.integers(0, 5),
)
def test_every_example_is_seen_floor_or_ceil_of_its_rate(codes, rates, epoch) -> None:
    given_rates = np.array(rates)[: codes.max() + 1]
    plan = resampling_plan(codes, given_rates)
    taken = plan.indices(0, epoch)
    assert taken.size == plan.length
    times = np.bincount(taken, minlength=codes.size)
    for k, rate in enumerate(given_rates):
        members = times[codes == k]
        assert members.sum() == max(1, np.rint(rate * members.size))
        assert members.max() - members.min() <= 1  # whole copies plus a fraction without replacement


def test_rate_one_is_a_permutation() -> None:
    plan = resampling_plan(LABELS, np.ones(3))
    assert sorted(plan.indices(0, 3)) == list(range(77))
    assert plan.indices(0, 3).tolist() != list(range(77))


def test_same_seed_and_epoch_same_indices() -> None:
    plan = resampling_plan(LABELS, np.array([1, 2.5, 3]))
    assert (plan.indices(4, 2) == plan.indices(4, 2)).all()
    assert (plan.indices(4, 2) != plan.indices(4, 3)).any()
    assert (plan.indices(4, 2) != plan.indices(5, 2)).any()


def test_the_random_fraction_is_uniform_and_the_shuffle_too() -> None:
    """Chi-square over 4000 epochs; each of the two tests raises a false alarm with probability 1e-4 (the seed is fixed,
    so it either always or never does)."""
    epochs, rate = 4000, 1.4
    plan = resampling_plan(LABELS, np.array([1.0, rate, 1.0]))
    extra, first = np.zeros(20), np.zeros(3)
    for epoch in range(epochs):
        taken = plan.indices(11, epoch)
        extra += np.bincount(taken, minlength=77)[50:70] - 1
        first[LABELS[taken[0]]] += 1
    # 8 of 20 without replacement: the counts' covariance is epochs p(1-p) n/(n-1) (I - 11'/n), so this is chi2_19
    p = 8 / 20
    statistic = ((extra - epochs * p) ** 2).sum() / (epochs * p * (1 - p) * 20 / 19)
    assert statistic < chi2.isf(1e-4, 19)
    assert statistic > chi2.isf(1 - 1e-4, 19)  # and not suspiciously even, as a fixed rotation would be
    expected = epochs * np.array([50, 28, 7]) / 85
    assert ((first - expected) ** 2 / expected).sum() < chi2.isf(1e-4, 2)


def test_empty_classes_and_absurd_rates_are_refused() -> None:
    with pytest.raises(InputError, match="drop empty classes"):
        resampling_plan(np.array([0, 0, 2]), np.ones(3))
    with pytest.raises(InputError, match="indices an epoch"):
        resampling_plan(np.array([0, 1]), np.array([1.0, 1e15]))
