"""The smallest rates that a forecast calls safe: small classes are raised to a common level L, large ones do not
change.

With c(n) the number of examples a class needs at counts n, and a safety factor s, the level solves

    L = s c(max(n, L))

because raising counts raises N and with it the need (Fang et al. 2021, Proposition 1: oversampling w times is the
program with w n_k in place of n_k). By a law of lost classes (`theory.network_forecast`) c = f* sum_k max(n_k, L), so L
is a root of a piecewise linear function and found exactly; under the Layer-Peeled Model each step solves the program.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray
from lopsided.remedies.recipe import Recipe
from lopsided.theory.collapse import collapse
from lopsided.theory.layer_peeled.energy import restraint
from lopsided.theory.layer_peeled.inverse import InTurn, oversampled, rates_of_smallest_total
from lopsided.theory.layer_peeled.solve import Model

_FURTHER = ("momentum", "hidden_layers", "pilot_loss")  # settings of a network that a forecast may do without


@dataclass(frozen=True)
class SafeRates:
    """Rates, the effective count that a class needs once they are applied, and the reason in words."""

    rates: FloatArray
    count_needed: float
    why: str


def forecast_rates(counts: FloatArray, recipe: Recipe) -> SafeRates:
    """Rates by the theory that the recipe names."""
    if counts.shape[0] < 2:
        raise InputError("at least two classes for a forecast", counts.shape[0])
    if recipe.target_cosine is not None:
        return _for_cosine(counts, recipe, recipe.target_cosine)
    return _surviving(counts, recipe) if recipe.survives else _layer_peeled(counts, recipe)


def _layer_peeled(counts: FloatArray, recipe: Recipe) -> SafeRates:
    held, model = restraint(counts.shape[0], **recipe.restraint), Model(recipe.features)

    def needed(level: float) -> float:
        return model.solve(np.maximum(counts, level), held).count_needed

    source = "Layer-Peeled Model"
    before, largest = needed(0.0), float(counts.max())
    if counts.min() >= recipe.safety * before:
        return _unchanged(counts, before, recipe, source)
    if recipe.safety == 1:
        plan = rates_of_smallest_total(counts, InTurn(held, model))
        if plan.possible and plan.level is not None and plan.count_needed_after is not None:
            return SafeRates(plan.rates, plan.count_needed_after, _raised(plan.level, recipe, source))
    at_balance = needed(largest)
    if largest <= at_balance:
        raise _hopeless(at_balance / largest, "energies" if held.form == "constraint" else "weight decay")
    if largest <= recipe.safety * at_balance:
        return _balanced(counts, at_balance, recipe, source)
    # 1e-9 of the smallest count: far below one example, far above the solver's error.
    level = brentq(
        lambda value: value - recipe.safety * needed(value), float(counts.min()), largest, xtol=1e-9 * counts.min()
    )
    return SafeRates(np.maximum(counts, level) / counts, needed(level), _raised(level, recipe, source))


def _surviving(counts: FloatArray, recipe: Recipe) -> SafeRates:
    from lopsided.theory.network_forecast import network_forecast

    needed = ("weight_decay", "step", "batch_size")
    missing = [name for name in needed if getattr(recipe, name) is None]
    if missing:
        raise InputError(
            "weight decay, step and batch size for the laws of lost classes", f"no {missing[0]}", "give all three"
        )
    law = network_forecast(counts, **{name: getattr(recipe, name) for name in (*needed, *_FURTHER)})
    source = law.recipe + (f", outside the range it was tested on: {'; '.join(law.outside)}" if law.outside else "")
    share, largest = law.threshold_frequency, float(counts.max())
    if counts.min() >= recipe.safety * share * counts.sum():
        return _unchanged(counts, share * counts.sum(), recipe, source)
    classes = counts.shape[0]
    if share * classes >= 1:
        raise _hopeless(share * classes, "weight decay, step and batch size")
    if recipe.safety * share * classes >= 1:
        return _balanced(counts, share * classes * largest, recipe, source)
    level = _linear_level(counts, recipe.safety * share)
    raised = np.maximum(counts, level)
    return SafeRates(raised / counts, share * float(raised.sum()), _raised(level, recipe, source))


def _linear_level(counts: FloatArray, share: float) -> float:
    """L = share * sum_k max(n_k, L): with the m smallest classes raised, L = share (N - their sum) / (1 - share m)."""
    ordered = np.sort(counts)
    raised = np.arange(1, ordered.size + 1)
    levels = share * (ordered.sum() - np.cumsum(ordered)) / (1.0 - share * raised)
    following = np.append(ordered[1:], np.inf)
    return float(levels[np.flatnonzero((levels >= ordered) & (levels <= following))[0]])


def _for_cosine(counts: FloatArray, recipe: Recipe, target: float) -> SafeRates:
    forecast = collapse(counts, features=recipe.features, target_cosine=target, **recipe.restraint)  # type: ignore[arg-type]
    if forecast.oversampling_rate is None:
        raise InputError(
            "a target cosine that oversampling can reach", target, "even equal sizes do not reach it; lower the decay"
        )
    raised = oversampled(counts, forecast.oversampling_rate)
    after = Model(recipe.features).solve(raised, forecast.held).count_needed
    why = (
        f"Minority classes are repeated {forecast.oversampling_rate} times, at most up to the largest class: the "
        f"smallest whole rate that brings their mean cosine to {target:g} in the Layer-Peeled Model."
    )
    return SafeRates(raised / counts, after, why)


def _unchanged(counts: FloatArray, needed: float, recipe: Recipe, source: str) -> SafeRates:
    times = f"{recipe.safety:g} times the {needed:.3g} examples it needs"
    why = f"No class needs oversampling against collapse: each has at least {times} ({source})."
    return SafeRates(np.ones_like(counts), needed, why)


def _raised(level: float, recipe: Recipe, source: str) -> str:
    times = "above what" if recipe.safety == 1 else f"to {recipe.safety:g} times what"
    return f"Small classes are oversampled to {level:.4g} effective examples, {times} a class then needs ({source})."


def _balanced(counts: FloatArray, needed: float, recipe: Recipe, source: str) -> SafeRates:
    reached = float(counts.max()) / needed
    why = (
        f"Oversamples every class to the size of the largest. That gives {reached:.2f} times what a class needs; "
        f"{recipe.safety:g} times is out of reach ({source})."
    )
    return SafeRates(counts.max() / counts, needed, why)


def _hopeless(shortage: float, lever: str) -> InputError:
    return InputError(
        "settings under which equal class sizes survive",
        f"a forecast in which even they have 1/{shortage:.3g} of the examples needed",
        f"change the {lever}, because no oversampling rate helps",
    )
