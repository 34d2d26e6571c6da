"""Weights: mean one, closed forms, scikit-learn's balanced weights; update variances against exact sums and draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import compute_class_weight

from lopsided.core.errors import InputError
from lopsided.remedies.class_weighting import class_weights, effective_numbers, forecast_weights
from lopsided.remedies.rates import oversampling_rates, rates_for
from lopsided.remedies.update_moments import update_variance, update_variance_of

LABELS = np.repeat([2, 0, 1], [90, 30, 6])


@pytest.mark.parametrize("weighting", ["balanced", "sqrt", "effective", {0: 3.0}])
def test_mean_over_examples_is_one(weighting) -> None:
    assert class_weights(LABELS, weighting).of_examples.mean() == pytest.approx(1, rel=1e-12)


def test_balanced_is_that_of_scikit_learn() -> None:
    found = class_weights(LABELS, "balanced")
    np.testing.assert_allclose(
        found.weights, compute_class_weight("balanced", classes=np.arange(3), y=LABELS), rtol=1e-12
    )
    assert found.to_dict()["1"] == pytest.approx(126 / (3 * 6))


def test_effective_number_between_its_limits() -> None:
    counts = np.array([1.0, 10, 1000])
    series = [sum(0.9**power for power in range(int(n))) for n in counts]  # 1 + beta + ... + beta^(n-1)
    np.testing.assert_allclose(effective_numbers(counts, 0.9), series, rtol=1e-12)
    # beta -> 1: n itself, i.e. balanced weights; to first order the error is n (1 - beta) / 2
    np.testing.assert_allclose(effective_numbers(counts, 1 - 1e-12), counts, rtol=1e-8)
    np.testing.assert_allclose(effective_numbers(counts, 1e-12), 1, rtol=1e-11)
    with pytest.raises(InputError, match="below 1"):
        class_weights(LABELS, "effective", beta=1.0)


def test_rates_as_weights_have_the_mean_update_of_oversampling() -> None:
    rates, _ = rates_for(LABELS, None, "sqrt")
    weights = class_weights(LABELS, rates)
    np.testing.assert_allclose(weights.weights / weights.weights[0], rates.rates / rates.rates[0], rtol=1e-12)
    forecast = forecast_weights(LABELS, recipe={"multiplier": 0.1})
    assert forecast.weights.argmax() == 1
    assert forecast.of_examples.mean() == pytest.approx(1, rel=1e-12)


def test_groups_make_cells() -> None:
    groups = np.tile(["a", "b", "b"], 42)
    found = class_weights(LABELS, "balanced", groups=groups)
    say = np.bincount(found.cells.codes, weights=found.of_examples)
    np.testing.assert_allclose(say, say[0], rtol=1e-12)  # every cell has the same total weight
    with pytest.raises(InputError, match="same labels and groups"):
        class_weights(LABELS, oversampling_rates([1, 2], "balanced"))


@given(st.lists(st.tuples(st.integers(1, 30), st.floats(0.2, 20), st.integers(0, 2**31)), min_size=1, max_size=5))
def test_update_variance_is_the_exact_sum(classes) -> None:
    sizes, rates = np.array([n for n, _, _ in classes]), np.array([w for _, w, _ in classes])
    stream = np.random.default_rng(classes[0][2])
    codes = np.repeat(np.arange(sizes.size), sizes)
    gradients = stream.normal(size=(codes.size, 3)) + 1
    found = update_variance_of(gradients, codes, rates)
    # both samplers spelled out, at the oversampling step 1
    factor, draw = found.step_ratio * rates[codes], rates[codes] / rates[codes].sum()
    reweighted = factor[:, None] * gradients
    np.testing.assert_allclose(reweighted.mean(axis=0), draw @ gradients, rtol=1e-9, atol=1e-12)  # the same mean update
    squares = ((gradients - draw @ gradients) ** 2).sum(axis=1)
    assert found.reweighting == pytest.approx(reweighted.var(axis=0).sum(), rel=1e-9, abs=1e-12)
    assert found.oversampling == pytest.approx(draw @ squares, rel=1e-9, abs=1e-12)
    lengths = np.bincount(codes, weights=(gradients**2).sum(axis=1)) / sizes
    from_counts = update_variance(sizes, rates, squared_gradients=lengths, batch_size=4)
    assert from_counts.reweighting * 4 == pytest.approx(found.reweighting_second_moment, rel=1e-9)
    assert from_counts.oversampling * 4 == pytest.approx(found.oversampling_second_moment, rel=1e-9)


def test_reweighting_is_never_steadier_for_gradients_of_one_length() -> None:
    stream = np.random.default_rng(0)
    for _ in range(200):
        found = update_variance(stream.integers(1, 1000, size=6), stream.uniform(1, 100, size=6))
        assert found.ratio is not None
        assert found.ratio >= 1 - 1e-12
    assert update_variance([100, 10], [3, 3]).ratio == pytest.approx(1)  # equal rates are no remedy at all
    rates = oversampling_rates("1000*5,10*5", "balanced")
    # the paper's example w = R = 100: N (n_A K_A + w^2 n_B K_B) / N_w^2
    assert update_variance(rates).ratio == pytest.approx(5050 * (5000 + 100**2 * 50) / 10000**2)


def test_update_variance_wants_rates() -> None:
    with pytest.raises(InputError, match="one per class"):
        update_variance([1, 2])
    with pytest.raises(InputError, match="2 numbers"):
        update_variance([1, 2], [1, 2, 3])
