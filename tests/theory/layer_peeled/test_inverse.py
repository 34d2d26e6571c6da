"""The inverse questions, each verified by solving again."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.theory.collapse import collapse
from lopsided.theory.layer_peeled.energy import restraint
from lopsided.theory.layer_peeled.inverse import CLEARANCE, InTurn, oversampled, rates_of_smallest_total
from lopsided.theory.layer_peeled.solve import Model

ENERGIES = {"feature_energy": 5, "weight_energy": 1}


@pytest.mark.parametrize("features", ["free", "relu"])
@pytest.mark.parametrize("held", [ENERGIES, {"multiplier": 0.012}])
@pytest.mark.parametrize("target", [0.9, 0.3, 0.0])
def test_rate_for_a_cosine_is_the_smallest(features, held, target) -> None:
    counts = "5000*5,50*5"
    rate = collapse(counts, features=features, target_cosine=target, **held).oversampling_rate

    def cosine(value):
        return collapse([5000] * 5 + [50 * value] * 5, features=features, **held).minority_cosine

    assert cosine(rate) <= target + 1e-9
    assert cosine(rate - 1) > target


def test_rate_by_the_ratio_rule() -> None:
    """ceil(R / R_target), with R_target found by bisection on the forecast itself."""
    low, high = 1.0, 100.0
    for _ in range(60):
        middle = math.sqrt(low * high)
        cosine = collapse([middle] * 5 + [1.0] * 5, **ENERGIES).minority_cosine
        low, high = (middle, high) if cosine < 0.25 else (low, middle)
    assert collapse("5000*5,50*5", target_cosine=0.25, **ENERGIES).oversampling_rate == math.ceil(100 / high)


def test_rate_with_many_sizes() -> None:
    counts = np.array([500, 400, 100, 30, 10, 10, 5.0])
    rate = collapse(counts, target_cosine=0.1, **ENERGIES).oversampling_rate
    minority = counts < counts.mean()

    def cosine(value):
        return collapse(oversampled(counts, value), **ENERGIES).solution.mean_cosine(minority)

    assert cosine(rate) <= 0.1 + 1e-9
    assert cosine(rate - 1) > 0.1


def test_nothing_to_do() -> None:
    forecast = collapse("100*5,90*5", target_cosine=0.5, plan=True, **ENERGIES)
    assert forecast.oversampling_rate == 1
    assert np.all(forecast.plan.oversampling.rates == 1)
    assert forecast.plan.collection.extra_total == 0


@pytest.mark.parametrize("target", [-0.5, 1.5, math.nan])
def test_impossible_targets(target) -> None:
    with pytest.raises(InputError, match="target cosine"):
        collapse("5000*5,50*5", target_cosine=target, **ENERGIES)


def test_one_minority_class_has_no_target() -> None:
    with pytest.raises(InputError, match="two minority classes"):
        collapse("5000*5,50", target_cosine=0.5, **ENERGIES)


@pytest.mark.parametrize("features", ["free", "relu"])
@pytest.mark.parametrize("held", [ENERGIES, {"weight_decay": 0.01}])
@pytest.mark.parametrize("counts", [[5000] * 5 + [50] * 5, [900, 700, 200, 60, 20, 20, 7, 3]])
def test_rates_put_every_class_above_what_it_needs(features, held, counts) -> None:
    plan = collapse(counts, features=features, plan=True, **held).plan
    assert plan.oversampling.verified
    assert plan.collection.verified
    again = collapse(counts, features=features, class_weights=plan.oversampling.rates, **held)
    assert again.collapsed == []
    collected = collapse(np.array(counts) + plan.collection.extra, features=features, **held)
    assert collected.collapsed == []
    # Smallest: a level lower by one part in a thousand is not enough.
    raised = plan.oversampling.rates > 1
    lower = np.where(raised, plan.oversampling.rates * 0.999, 1.0)
    assert collapse(counts, features=features, class_weights=lower, **held).collapsed != []


def test_safe_multiplier_is_the_edge() -> None:
    counts = [900, 700, 60, 20, 20]
    plan = collapse(counts, plan=True, **ENERGIES).plan
    assert collapse(counts, multiplier=plan.safe_multiplier * 0.999).collapsed == []
    assert collapse(counts, multiplier=plan.safe_multiplier * 1.001).collapsed == [3, 4]
    assert collapse(counts, tau=plan.safe_tau * 1.001).collapsed == []


def test_hopeless_weight_decay_is_said() -> None:
    plan = collapse([50, 20, 10], multiplier=0.5, plan=True).plan
    assert not plan.oversampling.possible
    assert "multiplier must be below" in plan.oversampling.why_not


@pytest.mark.parametrize("held", [ENERGIES, {"multiplier": 0.012}])
@pytest.mark.parametrize("ratio", [0.6, 0.8])
def test_rates_are_the_smallest_and_few_solves_find_them(held, ratio) -> None:
    counts = 5000 * ratio ** np.arange(16)
    model = Counting()
    plan = rates_of_smallest_total(counts, InTurn(restraint(16, **held), model))
    spare = plan.level / plan.count_needed_after - 1
    assert 0.9 * CLEARANCE < spare < 3.5 * CLEARANCE  # one to three, and the solver's own error
    # Half a percent less, and the classes raised to it collapse.
    lower = np.maximum(counts, 0.995 * plan.level)
    assert collapse(lower, **held).collapsed
    assert model.solves <= 12  # a bracketing search needs 20 to 30


@dataclass(frozen=True)
class Counting(Model):
    """The model, counting its solves."""

    made: list[int] = field(default_factory=list)

    @property
    def solves(self) -> int:
        return len(self.made)

    def solve(self, *given, **options):
        self.made.append(1)
        return super().solve(*given, **options)
