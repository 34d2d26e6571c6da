"""The inverse questions: what prevents collapse, and how much of it is needed.

Oversampling a class w times is the program with w n_k in place of n_k (Proposition 1), so every remedy below is a
change of counts, and each answer is verified by solving the changed program again.

- Rate for a target cosine, two sizes: ceil(R / R_target), where R_target has that minority cosine.
- Rates of smallest total: a class is safe above c = `count_needed`, which moves with the counts. Raising the small
  classes to a common level L costs least, and L solves L = c(max(n, L)).
- Examples to collect: the same level in whole examples.
- The largest multiplier (weight decay) without collapse: n_min/N; with ReLU features n_min/N sqrt((K-1)/K).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, check_in_range
from lopsided.theory.layer_peeled.energy import Restraint
from lopsided.theory.layer_peeled.models import Model, minority_of
from lopsided.theory.layer_peeled.regulariser import Penalty

# Every class ends this share above `count_needed`, far more than the solver's error.
_CLEARANCE = 1e-6


@dataclass(frozen=True)
class RatePlan:
    """Per-class rates of smallest total that put every class above `count_needed`, verified by a second solve."""

    possible: bool
    why_not: str | None
    level: float | None
    rates: FloatArray
    added_total: float
    count_needed_after: float | None
    verified: bool


@dataclass(frozen=True)
class CollectionPlan:
    """Examples to collect per class so that none collapses, without oversampling."""

    possible: bool
    why_not: str | None
    extra: FloatArray
    extra_total: float
    count_needed_after: float | None
    verified: bool


def largest_safe_multiplier(counts: FloatArray, model: Model) -> float:
    """The multiplier (square root of the product of the weight decays) from which on the smallest class collapses."""
    share = float(counts.min() / counts.sum())
    classes = counts.shape[0]
    return share * math.sqrt((classes - 1) / classes) if model.features == "relu" else share


def _safe_level(counts: FloatArray, held: Restraint, model: Model) -> tuple[float | None, str | None]:
    """L with L = count_needed(max(n, L)); the smallest count where nothing has to change."""
    classes = counts.shape[0]

    def needed(level: float) -> float:
        return model.solve(np.maximum(counts, level), held).count_needed

    low, high = float(counts.min()), float(counts.max())
    if needed(low) < low:
        return low, None
    if isinstance(held.regulariser, Penalty) and needed(high) >= high:
        limit = largest_safe_multiplier(np.ones(classes), model)
        return None, f"even equal class sizes collapse at this weight decay: the multiplier must be below {limit:.3g}"
    if needed(high) >= high:
        return None, "even equal class sizes collapse at these energies"
    level = float(brentq(lambda value: needed(value) - value, low, high, rtol=1e-10, xtol=1e-9 * low))
    return level, None


def rates_of_smallest_total(counts: FloatArray, held: Restraint, model: Model) -> RatePlan:
    """Oversampling rates (1 where nothing is needed)."""
    level, why_not = _safe_level(counts, held, model)
    ones = np.ones_like(counts)
    if level is None:
        return RatePlan(False, why_not, None, ones, 0.0, None, False)
    raised, after = counts, model.solve(counts, held).count_needed
    if level > counts.min():
        # count_needed rises with the level, so the level is lifted until the clearance is really there.
        lift = _CLEARANCE
        while raised.min() <= after * (1 + _CLEARANCE) and lift < 1:
            raised = np.maximum(counts, level * (1 + lift))
            after = model.solve(raised, held).count_needed
            lift *= 4
    return RatePlan(
        True,
        None,
        float(raised.min()),
        raised / counts,
        float((raised - counts).sum()),
        after,
        bool(raised.min() > after),
    )


def examples_to_collect(counts: FloatArray, held: Restraint, model: Model) -> CollectionPlan:
    """Whole examples that each class lacks."""
    level, why_not = _safe_level(counts, held, model)
    if level is None:
        return CollectionPlan(False, why_not, np.zeros_like(counts), 0.0, None, False)
    if level <= counts.min():
        after = model.solve(counts, held).count_needed
        return CollectionPlan(True, None, np.zeros_like(counts), 0.0, after, bool(counts.min() > after))
    whole = math.floor(level) + 1
    for target in range(whole, whole + 40):  # the first level almost always does; fractions of examples may need more
        extra = np.ceil(np.maximum(target - counts, 0.0))
        after = model.solve(counts + extra, held).count_needed
        if (counts + extra).min() > after:
            break
    return CollectionPlan(True, None, extra, float(extra.sum()), after, bool((counts + extra).min() > after))


def oversampled(counts: FloatArray, rate: float) -> FloatArray:
    """Minority classes (fewer examples than the mean) counted `rate` times, but not beyond the largest class."""
    return np.where(minority_of(counts), np.minimum(counts * rate, counts.max()), counts)


def rate_for_cosine(counts: FloatArray, held: Restraint, model: Model, target: float) -> int | None:
    """The smallest whole oversampling rate that brings the mean minority cosine down to `target`.

    None where even equal sizes do not reach it, because they collapse at this weight decay.
    """
    classes = counts.shape[0]
    minority = minority_of(counts)
    if int(minority.sum()) < 2:
        raise InputError(
            "at least two minority classes for a target cosine", int(minority.sum()), "one class alone has no angle"
        )
    balanced = -1.0 / (classes - 1)
    check_in_range(
        target, "the target cosine", balanced, 1.0, remedy=f"{balanced:.4g} is reached with equal sizes, 1 is collapse"
    )

    def cosine(effective: FloatArray) -> float:
        value = model.solve(effective, held).mean_cosine(minority)
        return 1.0 if value is None else value  # vanished classifiers count as collapsed

    def reaches(rate: float) -> bool:
        # 1e-9: ten times the tolerance of the solver
        return cosine(oversampled(counts, rate)) <= target + 1e-9

    if reaches(1):
        return 1
    if model.solve(np.ones_like(counts), held).collapsed:
        return None
    sizes = np.unique(counts)
    if sizes.size == 2:
        ratio = float(sizes[1] / sizes[0])

        def excess(log_ratio: float) -> float:
            return cosine(np.where(minority, 1.0, math.exp(log_ratio))) - target

        if excess(0.0) >= 0:  # the target is the balanced cosine, to rounding
            return math.ceil(ratio - 1e-9)
        found = math.exp(brentq(excess, 0.0, math.log(ratio), xtol=1e-13, rtol=1e-14))
        return math.ceil(ratio / found - 1e-9)
    low, high = 1, math.ceil(float(counts.max() / counts.min()))
    if not reaches(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high
