"""The inverse questions: what prevents collapse, and how much of it is needed.

Oversampling a class w times is the program with w n_k in place of n_k (Proposition 1), so every remedy below is a
change of counts, and each answer is verified by solving the changed program again.

- Rate for a target cosine, two sizes: ceil(R / R_target), where R_target has that minority cosine.
- Rates of smallest total: a class is safe above c = `count_needed`, which depends on the counts. The cheapest way is to
  raise the small classes to a common level L, the smallest with L > c(max(n, L)) by a millionth.
- Examples to collect: the same level in whole examples.
- The largest multiplier (weight decay) without collapse: n_min/N; with ReLU features n_min/N sqrt((K-1)/K).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, check_in_range
from lopsided.theory.layer_peeled.energy import Penalty, Restraint
from lopsided.theory.layer_peeled.solve import Model, PeeledSolution, minority_of

# Every class ends at least this share above `count_needed`, far more than the solver's error.
CLEARANCE = 1e-6
_FIRST_STEP = 0.02  # of log L, above its lower bound
_MOST_TRIES = 60


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


class InTurn:
    """Solve neighbouring problems, each starting from the previous solution; a known problem is not solved again, for
    whatever question."""

    def __init__(self, held: Restraint, model: Model) -> None:
        self.held, self.model = held, model
        self._known: dict[bytes, PeeledSolution] = {}
        self._last: PeeledSolution | None = None

    def know(self, counts: FloatArray, solution: PeeledSolution) -> None:
        """Add a solution of this model and restraint from elsewhere."""
        self._known[counts.tobytes()] = self._last = solution

    def __call__(self, counts: FloatArray) -> PeeledSolution:
        """The solution for these counts."""
        name = counts.tobytes()
        if name not in self._known:
            found = self.model.solve(counts, self.held, None, self._last)
            if found.certificate.relative_gap >= self.model.tolerance and self._last is not None:
                found = self.model.solve(counts, self.held)  # the solver failed from this start
            self._known[name] = found
        self._last = self._known[name]
        return self._last


def _safe_level(counts: FloatArray, solver: InTurn) -> tuple[float | None, str | None]:
    """The smallest L that exceeds count_needed(max(n, L)) by the clearance; the smallest count if that is enough."""

    def needed(level: float) -> float:
        return solver(np.maximum(counts, level)).count_needed

    low, high = float(counts.min()), float(counts.max())
    at_least = needed(low)
    if at_least < low:
        return low, None
    if needed(high) >= high:
        if not isinstance(solver.held.regulariser, Penalty):
            return None, "even equal class sizes collapse at these energies"
        limit = largest_safe_multiplier(np.ones_like(counts), solver.model)
        return None, f"even equal class sizes collapse at this weight decay: the multiplier must be below {limit:.3g}"

    def spare(log_level: float) -> float:
        return log_level - math.log(needed(math.exp(log_level)))

    return math.exp(_first_with(spare, math.log(at_least), math.log(high))), None


def _first_with(spare: Callable[[float], float], low: float, high: float) -> float:
    """The log L where spare = log(L / count_needed) is one to three clearances; `low` lies below, `high` above.

    The function has a kink at its zero. Above, it is nearly linear with a small slope, so a secant through two points
    is used; below, count_needed itself is a better lower bound, because it rises with L.
    """
    above: list[tuple[float, float]] = []
    step = _FIRST_STEP
    tried = min(low + step, high)
    for _ in range(_MOST_TRIES):
        value = spare(tried)
        if value < CLEARANCE:
            low = max(low, tried, tried - value)
            step *= 2
        else:
            above = [*above, (tried, value)][-2:]
            high = tried
            if value <= 3 * CLEARANCE:
                break
        if not above:
            tried = min(low + step, high)
        elif len(above) == 1 or above[0][1] <= above[1][1]:
            tried = 0.5 * (low + high)
        else:
            (far, far_value), (near, near_value) = above
            tried = near - (near_value - 2 * CLEARANCE) * (far - near) / (far_value - near_value)
        if not low < tried < high:
            tried = low + 0.1 * (high - low)
    return high


def rates_of_smallest_total(counts: FloatArray, solver: InTurn) -> RatePlan:
    """Oversampling rates (1 if nothing is needed)."""
    level, why_not = _safe_level(counts, solver)
    if level is None:
        return RatePlan(False, why_not, None, np.ones_like(counts), 0.0, None, False)
    raised = np.maximum(counts, level)
    after = solver(raised).count_needed
    lowest, added = float(raised.min()), float((raised - counts).sum())
    return RatePlan(True, None, lowest, raised / counts, added, after, lowest > after)


def examples_to_collect(counts: FloatArray, solver: InTurn) -> CollectionPlan:
    """Whole examples that each class lacks."""
    level, why_not = _safe_level(counts, solver)
    if level is None:
        return CollectionPlan(False, why_not, np.zeros_like(counts), 0.0, None, False)
    if level <= counts.min():
        after = solver(counts).count_needed
        return CollectionPlan(True, None, np.zeros_like(counts), 0.0, after, bool(counts.min() > after))
    whole = math.floor(level)  # the clearance may have carried the level past a whole number
    for target in range(whole, whole + 40):  # one of the first two almost always does; fractions may need more
        extra = np.ceil(np.maximum(target - counts, 0.0))
        after = solver(counts + extra).count_needed
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
