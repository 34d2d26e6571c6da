"""Two class sizes, exactly: K_A classes of weight f_A, K_B of weight f_B <= f_A (f = n/N).

By symmetry and 1^T Z = 0 four scalars remain, a, b (contrasts within the groups), p, q (between them), s = |(p, q)|:

    |Z|_* = (K_A-1) a + (K_B-1) b + s
    CE_A = log(1 + (K_A-1) e^{-a} + K_B e^{-g_A}),   g_A = a (1-1/K_A) + (p/K_A) sqrt(K/K_B);   CE_B: swap A and B

For a multiplier lambda and an angle t (p = s cos t, q = s sin t) the optimality conditions give a, p, b, q in closed
form, because they fix the softmax masses: kappa_A, on the other group, and pi_A, on the other classes of the group,

    f_A kappa_A sqrt(K/K_B) = lambda cos t,     f_A (pi_A K_A/(K_A-1) + kappa_A) = lambda   (a > 0).

Two monotone equations remain: p tan t = q for t, and |Z|_* = tau for lambda. Newton's method solves both at once; if it
does not converge, nested bracketed root finders do. Everything is in logarithms, so weights as small as 1e-300, or
zero, and losses as small as e^{-600} keep their relative precision.

The ratios at which the minority collapses and vanishes have closed forms (`two_sizes_thresholds`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.optimize import brentq

from lopsided.theory.layer_peeled.two_sizes_thresholds import vanishing_ratio

LOG_ZERO = -math.inf
# brentq's absolute tolerance is set below what a double resolves around 1; its relative one is the smallest it takes.
_XTOL, _RTOL = 1e-15, 8.9e-16
# Newton's method takes about seven steps; near its end they shrink quadratically until rounding stops them.
_MOST_NEWTON_STEPS, _NEWTON_END = 40, 1e-9


@dataclass(frozen=True)
class TwoSizes:
    """Class numbers and weights of the two groups; the majority A has the larger weight."""

    majority_classes: int
    minority_classes: int
    majority_weight: float
    minority_weight: float

    @property
    def classes(self) -> int:
        """K."""
        return self.majority_classes + self.minority_classes


@dataclass(frozen=True)
class TwoSizesPoint:
    """The minimiser: contrasts a and b, between-group part (p, q), log of the multiplier."""

    a: float
    b: float
    p: float
    q: float
    log_multiplier: float

    @property
    def s(self) -> float:
        """Nuclear norm of the part between the groups."""
        return math.hypot(self.p, self.q)


def nuclear_norm(problem: TwoSizes, point: TwoSizesPoint) -> float:
    """|Z|_*."""
    return (problem.majority_classes - 1) * point.a + (problem.minority_classes - 1) * point.b + point.s


class _Side:
    """One group in the optimality conditions: own classes, the other group's classes, log weight."""

    def __init__(self, own: int, other: int, weight: float) -> None:
        self.own, self.other = own, other
        self.log_weight = math.log(weight) if weight > 0 else LOG_ZERO
        self._reach = math.sqrt(other / (own + other))
        self._log_reach = 0.5 * math.log(other / (own + other))
        self._log_own, self._log_other = math.log(own), math.log(other)

    def at(self, log_multiplier: float, log_direction: float) -> tuple[float, float, float, float, float, float]:
        """(contrast, between-group scalar) given log lambda and log cos t (for A) or log sin t (for B), then the slopes
        of either in log lambda and in the logarithm of the direction.

        The between-group scalar is -inf if no logit gives the mass that the conditions require.
        """
        own = self.own
        log_ratio = log_multiplier - self.log_weight  # log(lambda / f)
        log_kappa = log_ratio + log_direction + self._log_reach
        if log_kappa >= 0:
            return 0.0, -math.inf, 0.0, 0.0, 0.0, 0.0
        kappa = math.exp(log_kappa)
        if own > 1 and log_ratio < 0:
            # contrast > 0: pi = (lambda/f - kappa) (own-1)/own, in logarithms to keep tiny masses exact
            towards = math.exp(log_direction) * self._reach
            log_others = math.log(own - 1)
            log_pi = log_ratio + math.log1p(-towards) + log_others - self._log_own
            pi = math.exp(log_pi)
            log_right = math.log1p(-pi - kappa)
            contrast = log_right - log_pi + log_others
            turn = -towards / (1.0 - towards)  # of log pi, by the direction
            right = 1.0 - pi - kappa
            right_by_multiplier, right_by_direction = -(pi + kappa) / right, -(pi * turn + kappa) / right
            by_multiplier, by_direction = right_by_multiplier - 1.0, right_by_direction - turn
        else:
            # contrast 0 (collapsed) or absent (a single class): the mass kappa alone fixes the gap
            log_right = math.log1p(-kappa) - self._log_own
            contrast = by_multiplier = by_direction = 0.0
            right_by_multiplier = right_by_direction = -kappa / (1.0 - kappa)
        kept, scale = 1.0 - 1.0 / own, own * self._reach
        gap = log_right - log_kappa + self._log_other if log_kappa > -math.inf else math.inf
        return (
            contrast,
            (gap - contrast * kept) * scale,
            by_multiplier,
            by_direction,
            (right_by_multiplier - 1.0 - by_multiplier * kept) * scale,
            (right_by_direction - 1.0 - by_direction * kept) * scale,
        )

    def log_share_alone(self, contrast: float) -> float:
        """log(lambda/f) at a contrast when p = q = 0: (own e^-a + cross) / (1 + (own-1) e^-a + cross)."""
        decay = math.exp(-contrast)
        cross = self.other * math.exp(-contrast * (1 - 1 / self.own))
        return math.log(self.own * decay + cross) - math.log1p((self.own - 1) * decay + cross)

    def contrast_alone(self, log_multiplier: float) -> float:
        """The contrast when p = q = 0."""
        log_ratio = log_multiplier - self.log_weight
        if self.own == 1 or log_ratio >= 0:
            return 0.0
        high = 1.0
        while self.log_share_alone(high) > log_ratio:
            high *= 2
        excess = lambda contrast: self.log_share_alone(contrast) - log_ratio  # noqa: E731
        return float(brentq(excess, 0.0, high, xtol=_XTOL, rtol=_RTOL))


def _sides(problem: TwoSizes) -> tuple[_Side, _Side]:
    return (
        _Side(problem.majority_classes, problem.minority_classes, problem.majority_weight),
        _Side(problem.minority_classes, problem.majority_classes, problem.minority_weight),
    )


def _directions(log_tangent: float) -> tuple[float, float]:
    """log cos t and log sin t from log tan t."""
    if log_tangent > 0:
        half = 0.5 * math.log1p(math.exp(-2 * log_tangent))
        return -log_tangent - half, -half
    half = 0.5 * math.log1p(math.exp(2 * log_tangent))
    return -half, log_tangent - half


def solve_for_multiplier(problem: TwoSizes, log_multiplier: float, near: float | None = None) -> TwoSizesPoint:
    """min f(Z) + lambda |Z|_* for two sizes; `near` is a guess of log tan t, from a multiplier close by."""
    majority, minority = _sides(problem)
    if problem.minority_weight == 0:
        # R = infinity: nothing pulls on q, so t = 0 and b = 0; p may still push the minority logits down.
        a, p, *_ = majority.at(log_multiplier, 0.0)
        if p <= 0:
            return TwoSizesPoint(majority.contrast_alone(log_multiplier), 0.0, 0.0, 0.0, log_multiplier)
        return TwoSizesPoint(a, 0.0, p, 0.0, log_multiplier)

    def mismatch(log_tangent: float) -> float:
        """log(p tan t / q): increasing in t where p, q > 0; its sign is right elsewhere; nan if p, q <= 0."""
        log_cos, log_sin = _directions(log_tangent)
        p = majority.at(log_multiplier, log_cos)[1]
        q = minority.at(log_multiplier, log_sin)[1]
        if p <= 0:
            return math.nan if q <= 0 else -math.inf
        return math.inf if q <= 0 else math.log(p) + log_tangent - math.log(q)

    bracket = _bracket(mismatch, near)
    if bracket is None:
        # No angle has p, q > 0: the part between the groups is zero.
        a, b = majority.contrast_alone(log_multiplier), minority.contrast_alone(log_multiplier)
        return TwoSizesPoint(a, b, 0.0, 0.0, log_multiplier)
    low, high = bracket
    root = low if low == high else brentq(mismatch, low, high, xtol=_XTOL, rtol=_RTOL)
    log_cos, log_sin = _directions(root)
    a, p, *_ = majority.at(log_multiplier, log_cos)
    b, q, *_ = minority.at(log_multiplier, log_sin)
    return TwoSizesPoint(a, b, max(p, 0.0), max(q, 0.0), log_multiplier)


def _bracket(mismatch: Callable[[float], float], near: float | None) -> tuple[float, float] | None:
    """Two finite values of opposite sign around the root, or None where p, q <= 0 at once."""
    if near is not None:
        low, high = near - 0.2, near + 0.2
        below, above = mismatch(low), mismatch(high)
        if math.isfinite(below) and math.isfinite(above) and below < 0 < above:
            return low, high
    low, high = -800.0, 800.0  # log tan t: beyond this cos t or sin t is zero in a double
    finite_low: float | None = None
    finite_high: float | None = None
    for _ in range(200):
        middle = 0.5 * (low + high)
        value = mismatch(middle)
        if math.isnan(value):
            return None
        if value == 0:
            return middle, middle
        if value < 0:
            low = middle
            finite_low = middle if math.isfinite(value) else None
        else:
            high = middle
            finite_high = middle if math.isfinite(value) else None
        if finite_low is not None and finite_high is not None:
            return finite_low, finite_high
        if high - low <= 1e-15 * max(1.0, abs(middle)):
            return middle, middle  # p or q is zero to rounding: the boundary of the between-group part
    return middle, middle


def largest_log_multiplier(problem: TwoSizes) -> float:
    """log |grad f(0)|_op: from this multiplier on, Z = 0."""
    classes_a, classes_b = problem.majority_classes, problem.minority_classes
    between = math.sqrt(
        (problem.majority_weight**2 * classes_b + problem.minority_weight**2 * classes_a) / problem.classes
    )
    within = ((classes_a, problem.majority_weight), (classes_b, problem.minority_weight))
    return math.log(max([between, *(weight for classes, weight in within if classes > 1)]))


def solve_for_norm(problem: TwoSizes, tau: float) -> TwoSizesPoint:
    """min f(Z) subject to |Z|_* <= tau: the multiplier at which the penalised minimiser has norm tau."""
    vanishing = vanishing_ratio(problem.majority_classes, problem.minority_classes, tau)
    if vanishing is not None and problem.majority_weight >= vanishing * problem.minority_weight:
        side, contrast = _sides(problem)[0], tau / (problem.majority_classes - 1)
        return TwoSizesPoint(contrast, 0.0, 0.0, 0.0, side.log_weight + side.log_share_alone(contrast))
    point = _both_at_once(problem, tau) or _one_in_the_other(problem, tau)
    norm = nuclear_norm(problem, point)
    scale = tau / norm if norm > 0 else 1.0
    return TwoSizesPoint(point.a * scale, point.b * scale, point.p * scale, point.q * scale, point.log_multiplier)


def _both_at_once(problem: TwoSizes, tau: float) -> TwoSizesPoint | None:
    """Newton's method for (log lambda, log tan t) on p sin t = q cos t and |Z|_* = tau; None where it does not settle.

    The start is Z = (I - 11^T/K) diag(t_A, t_B) with margins t that differ by log R.
    """
    if problem.minority_weight == 0:
        return None
    majority, minority = _sides(problem)
    k_a, k_b = problem.majority_classes, problem.minority_classes
    apart = majority.log_weight - minority.log_weight
    margins = tau * problem.classes / (problem.classes - 1)  # their sum over the classes
    margin = (margins + k_b * apart) / problem.classes
    margin = margin if margin > apart else margins / k_a  # the minority has none
    log_multiplier = majority.log_weight - math.log1p(math.exp(min(margin, 700.0)) / (problem.classes - 1))
    log_tangent = math.log(max(1.0 - apart / margin, 0.05)) + 0.5 * math.log(k_a / k_b)
    last = math.inf
    for _ in range(_MOST_NEWTON_STEPS):
        log_cos, log_sin = _directions(log_tangent)
        a, p, a_m, a_d, p_m, p_d = majority.at(log_multiplier, log_cos)
        b, q, b_m, b_d, q_m, q_d = minority.at(log_multiplier, log_sin)
        if p == -math.inf or q == -math.inf:
            log_tangent += 0.7 if p == -math.inf else -0.7  # less mass on the side that asks for too much
            continue
        cos, sin = math.exp(log_cos), math.exp(log_sin)
        down, up = -sin * sin, cos * cos  # slopes of log cos t and log sin t in log tan t
        turn, excess = p * sin - q * cos, (k_a - 1) * a + (k_b - 1) * b + p * cos + q * sin - tau
        turn_m = p_m * sin - q_m * cos
        turn_t = (p_d * down + p * up) * sin - (q_d * up + q * down) * cos
        excess_m = (k_a - 1) * a_m + (k_b - 1) * b_m + p_m * cos + q_m * sin
        excess_t = (k_a - 1) * a_d * down + (k_b - 1) * b_d * up + (p_d + p) * down * cos + (q_d + q) * up * sin
        determinant = turn_m * excess_t - turn_t * excess_m
        if not math.isfinite(determinant) or determinant == 0:
            return None
        step_m = (turn_t * excess - excess_t * turn) / determinant
        step_t = (excess_m * turn - turn_m * excess) / determinant
        longest = max(abs(step_m), abs(step_t))
        if longest <= _NEWTON_END and longest >= 0.5 * last:  # steps no longer shrink: rounding
            return TwoSizesPoint(a, b, p, q, log_multiplier) if p > 0 and q > 0 else None
        last = longest
        log_multiplier += step_m / max(longest, 1.0)
        log_tangent += step_t / max(longest, 1.0)
    return None


def _one_in_the_other(problem: TwoSizes, tau: float) -> TwoSizesPoint:
    """A root in log lambda of roots in log tan t; both are bracketed, so the search always ends."""
    highest = largest_log_multiplier(problem)

    near: float | None = None

    def excess(log_multiplier: float) -> float:
        nonlocal near
        point = solve_for_multiplier(problem, log_multiplier, near)
        near = math.log(point.q / point.p) if point.p > 0 and point.q > 0 else None
        return nuclear_norm(problem, point) - tau

    # At a multiplier lambda every live contrast is about log(K f/lambda); start there and widen.
    low = highest - tau / max(problem.majority_classes - 1, 1) - 1.0
    while excess(low) < 0:
        low -= 2 * (highest - low)
    return solve_for_multiplier(problem, brentq(excess, low, highest, xtol=_XTOL, rtol=_RTOL), near)
