"""Inputs at the edge of the doubles, and answers that once went wrong there."""

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.theory.collapse import collapse
from lopsided.theory.layer_peeled.merged import merge


@pytest.mark.parametrize(
    "arguments",
    [
        {"feature_energy": 1e-18, "weight_energy": 1e-18},
        {"feature_energy": 1e-320, "weight_energy": 1},
        {"feature_energy": 1e300, "weight_energy": 1e-300},
        {"weight_decay": 1e-200, "feature_decay": 1e200},
        {"tau": 1, "tolerance": 0},
        {"tau": 1, "tolerance": float("nan")},
        {"tau": 1, "class_weights": 5},
    ],
)
def test_refused_in_a_sentence(arguments) -> None:
    with pytest.raises(InputError):
        collapse("5000,300*3,70*4,20", **{"class_weights": None, **arguments})


@pytest.mark.parametrize("counts", [5, None, b"5,6", "1e308,1e308", "1e-320,1", np.ma.array([5, 3], mask=[0, 1])])
def test_counts_refused_in_a_sentence(counts) -> None:
    with pytest.raises(InputError):
        collapse(counts, tau=1)


def test_smallest_energies_stay_right() -> None:
    forecast = collapse("5000*5,50*5", feature_energy=1e-12, weight_energy=1e-10)
    assert forecast.collapsed == [5, 6, 7, 8, 9]
    assert forecast.majority_cosine == pytest.approx(-0.25, rel=1e-3)


def test_sizes_equal_to_rounding_are_one_size() -> None:
    counts = np.array([0.1 + 0.2, 0.3, 0.3 * (1 + 1e-9), 5.0])
    assert merge(counts).multiplicity.tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    ("counts", "tau"),
    [
        ([3983, 375, 70, 1458, 693, 1057], 2.114230491719939),
        ([126, 291, 60, 4, 7029, 46, 654, 6038, 10], 3.5125005581540227),
    ],
)
def test_planned_rates_hold_when_they_are_applied(counts, tau) -> None:
    plan = collapse(counts, tau=tau, plan=True).plan
    assert plan.oversampling.verified
    assert collapse(counts, tau=tau, class_weights=plan.oversampling.rates).collapsed == []


def test_an_unreachable_target_has_no_rate() -> None:
    for counts in ("5000*5,50*5", "900,300,20,20,5"):
        forecast = collapse(counts, multiplier=0.5, target_cosine=0.5)
        assert forecast.oversampling_rate is None


def test_fractional_counts_can_be_planned() -> None:
    assert collapse("1.66*5,1*7", tau=4.086315791782709, plan=True).plan.collection.verified
