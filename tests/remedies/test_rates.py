"""Rates against hand counts, brute force and the theory they come from."""

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.remedies.forecast_rates import _linear_level
from lopsided.remedies.rates import oversampling_rates, rates_for
from lopsided.remedies.recipe import Recipe
from lopsided.theory.collapse import collapse
from lopsided.theory.network_forecast import network_forecast

SURVIVAL = {"weight_decay": 5e-3, "step": 0.1, "batch_size": 64, "hidden_layers": 2}


def test_simple_rules_by_hand() -> None:
    counts = [400, 100, 25]
    assert oversampling_rates(counts, "balanced").rates.tolist() == [1, 4, 16]
    assert oversampling_rates(counts, "sqrt").rates.tolist() == [1, 2, 4]
    # fewer than the mean of 175: both small classes, at most up to 400
    assert oversampling_rates(counts, 3).rates.tolist() == [1, 3, 3]
    assert oversampling_rates(counts, 10).rates.tolist() == [1, 4, 10]
    # 100 is below the mean of 600, and is not lifted past 700
    assert oversampling_rates([1000, 700, 100], 10).rates.tolist() == [1, 1, 7]
    assert oversampling_rates(counts, {1: 2.5}).rates.tolist() == [1, 2.5, 1]
    assert oversampling_rates({"cat": 10, "dog": 5}, {"dog": 2}).rates.tolist() == [1, 2]


def test_one_copy_changes_nothing() -> None:
    assert oversampling_rates([400, 100, 25], 1).rates.tolist() == [1, 1, 1]
    assert oversampling_rates([400, 100, 25], 1).added == 0


@pytest.mark.parametrize("order", [(1, 0, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_rates_follow_a_permutation_of_the_classes(order) -> None:
    counts = np.array([900.0, 300, 40, 7])
    for rate, recipe in (("balanced", None), ("sqrt", None), (5, None), ("forecast", {"multiplier": 0.02})):
        plain = oversampling_rates(counts, rate, recipe=recipe).rates
        moved = oversampling_rates(counts[list(order)], rate, recipe=recipe).rates
        # 1e-7: the level is a root found to 1e-9 of the smallest count
        np.testing.assert_allclose(moved, plain[list(order)], rtol=1e-7)


@pytest.mark.parametrize(
    "recipe",
    [
        {"multiplier": 0.02},
        {"multiplier": 0.02, "features": "relu"},
        {"feature_energy": 5, "weight_energy": 1},
        {"multiplier": 0.02, "safety": 1},
        SURVIVAL,
        SURVIVAL | {"pilot_loss": 0.1, "momentum": 0.9},
    ],
)
@pytest.mark.parametrize("counts", ["5000*5,50*5", [900, 400, 200, 100, 60, 30, 20, 10, 6, 4]])
def test_forecast_rates_put_every_class_at_the_multiple_asked_for(recipe, counts) -> None:
    found = oversampling_rates(counts, "forecast", recipe=recipe)
    safety = Recipe(**recipe).safety
    settings = {name: value for name, value in recipe.items() if name != "safety"}
    if "step" in recipe:
        needed = network_forecast(found.effective_counts, **settings).count_needed
    else:
        needed = collapse(found.effective_counts, **settings).count_needed
    assert found.count_needed == pytest.approx(needed, rel=1e-6)
    smallest = found.effective_counts.min()
    assert smallest >= safety * needed * (1 - 1e-6)
    assert (found.rates >= 1 - 1e-12).all()
    if (found.rates > 1).any():
        # of smallest total: no class that was raised is above the level, and the level is no higher than asked
        raised = found.effective_counts[found.rates > 1]
        np.testing.assert_allclose(raised, smallest, rtol=1e-9)
        assert smallest <= safety * needed * (1 + 1e-5)


def test_level_against_bisection() -> None:
    stream = np.random.default_rng(3)
    for _ in range(50):
        counts = np.round(stream.pareto(1.0, size=stream.integers(2, 30)) * 50) + 1
        share = stream.uniform(counts.min() / counts.sum(), 1 / counts.size)
        low, high = 0.0, float(counts.max())
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if middle < share * np.maximum(counts, middle).sum() else (low, middle)
        assert _linear_level(counts, share) == pytest.approx(low, rel=1e-9)  # bisection to rounding


def test_target_cosine_is_reached_and_no_smaller_rate_does_it() -> None:
    recipe = {"feature_energy": 5, "weight_energy": 1, "target_cosine": 0.5}
    found = oversampling_rates("5000*5,50*5", recipe=recipe)
    rate = found.rates.max()
    assert found.rates.tolist() == [1] * 5 + [rate] * 5
    energies = {"feature_energy": 5, "weight_energy": 1}
    assert collapse(found.effective_counts, **energies).minority_cosine <= 0.5
    fewer = [5000] * 5 + [50 * (rate - 1)] * 5
    assert collapse(fewer, **energies).minority_cosine > 0.5


def test_safe_counts_are_left_alone_and_the_reason_says_so() -> None:
    found = oversampling_rates([100, 90], recipe={"multiplier": 1e-3})
    assert found.rates.tolist() == [1, 1]
    assert "No class needs oversampling" in found.why


def test_a_multiple_out_of_reach_gives_balance_and_says_what_it_reaches() -> None:
    # ten classes, f* = 0.06: equal sizes have 0.1 / 0.06 = 1.67 times the need, not 2
    found = oversampling_rates("5000*5,50*5", recipe={"multiplier": 0.06})
    np.testing.assert_allclose(found.effective_counts, 5000)
    assert "That gives 1.67 times what a class needs" in found.why


@pytest.mark.parametrize("recipe", [{"multiplier": 0.2}, SURVIVAL | {"weight_decay": 3.0}])
def test_hopeless_settings_are_refused(recipe) -> None:
    with pytest.raises(InputError, match="no oversampling rate helps"):
        oversampling_rates("5000*5,50*5", recipe=recipe)


def test_cells_of_class_and_group() -> None:
    labels, groups = np.repeat([0, 0, 1, 1], [60, 10, 20, 5]), np.repeat(["m", "f", "m", "f"], [60, 10, 20, 5])
    rates, cells = rates_for(labels, groups, "balanced")
    assert rates.names == ("0 | f", "0 | m", "1 | f", "1 | m")
    assert rates.counts.tolist() == [10, 60, 5, 20]
    assert rates.rates.tolist() == [6, 1, 12, 3]
    by_key, _ = rates_for(labels, groups, {1: 2, (1, "f"): 7})
    assert by_key.rates.tolist() == [1, 1, 7, 2]
    assert (cells.counts == rates.counts).all()
    assert "analogy" in rates_for(labels, groups, recipe={"multiplier": 0.1})[0].why


@pytest.mark.parametrize(
    ("rate", "recipe", "words"),
    [
        ("forecast", None, "a recipe for rate='forecast'"),
        ("forecast", {"decay": 1}, "settings among .* but got decay"),
        ("forecast", {"weight_decay": 1e-3, "step": 0.1}, "no batch_size"),
        ("forecast", {"multiplier": 0.1, "safety": 0.5}, "at least 1"),
        ("forecast", {}, "none of them"),
        ("half", None, "'half'"),
        ("balanced", {"multiplier": 0.1}, "leave out the recipe"),
        (0.5, None, "at least 1"),
        (float("nan"), None, "positive number"),
        (True, None, "True"),
        ({7: 2}, None, "7"),
        ({0: -1}, None, "rates of 0"),
    ],
)
def test_mistakes_get_a_sentence(rate, recipe, words) -> None:
    with pytest.raises(InputError, match=words):
        oversampling_rates([100, 10], rate, recipe=recipe)


def test_a_rate_beyond_all_numbers_lifts_to_the_larger_classes() -> None:
    """1e308 times 20 is no number, which once was a warning."""
    assert oversampling_rates([100, 90, 20], 1e308).rates.tolist() == [1.0, 1.0, 4.5]
