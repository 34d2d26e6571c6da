"""Two class sizes, exactly: K_A classes of weight f_A, K_B of weight f_B <= f_A (f = n/N).

By symmetry and 1^T Z = 0 four scalars remain, a, b (contrasts within the groups), p, q (between them), s = |(p, q)|:

    |Z|_* = (K_A-1) a + (K_B-1) b + s
    CE_A = log(1 + (K_A-1) e^{-a} + K_B e^{-g_A}),   g_A = a (1-1/K_A) + (p/K_A) sqrt(K/K_B);   CE_B: swap A and B

For a multiplier lambda and an angle t (p = s cos t, q = s sin t) the optimality conditions give a, p, b, q in closed
form, because they fix the softmax masses: kappa_A, on the other group, and pi_A, on the other classes of the group,

    f_A kappa_A sqrt(K/K_B) = lambda cos t,     f_A (pi_A K_A/(K_A-1) + kappa_A) = lambda   (a > 0).

What is left is one monotone equation for t, p tan t = q, and one for lambda, |Z|_* = tau. Both are solved in
logarithms, so weights as small as 1e-300, or zero, and losses as small as e^{-600} keep their relative precision.

Where the minority collapses (R0) and where it vanishes (R1) is known in closed form, with R = n_A/n_B. Collapse,
b = 0, holds exactly when the multiplier lambda* >= n_B/N. At the threshold, with x in (0, 1) the ratio e^{-g_B} of a
majority logit to a minority one:

    sin t = sqrt(K K_A) x / (K_B + K_A x);  q = -K_B sqrt(K_A/K) ln x;  s = q / sin t;  p = s cos t
    y = K_A cos t / (sqrt(K K_B) - K_B cos t);  a = p sqrt(K/K_B) + K_A ln y
    (K_A-1) a + s = tau fixes x;   R0 = (e^a + K_A - 1 + K_B y) / (K_A + K_B y)

Beyond R1 the minority's classifiers and features are exactly zero, and their angle is undefined. R1 is finite iff
tau < K_A (K_A-1) ln(1 + sqrt(K/K_B)); with a = tau/(K_A-1), y = e^{a/K_A}, t = sqrt(K K_B) y / (K_A + K_B y):

    R1 = sqrt(K_A/K) / sqrt(1 - t^2) * (e^a + K_A - 1 + K_B y) / (K_A + K_B y)

The paper observes R0 (Section 4.B, Fig 3) and proves the limit (Theorem 5); the closed forms are ours. Compare the
thresholds of Hong and Ling (2023) for two clusters.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.optimize import brentq

LOG_ZERO = -math.inf
# brentq's absolute tolerance is set below what a double resolves around 1; its relative one is the smallest it takes.
_XTOL, _RTOL = 1e-15, 8.9e-16


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


@dataclass(frozen=True)
class _Side:
    """One group seen from the optimality conditions: own classes, the other group's classes, log weight."""

    own: int
    other: int
    log_weight: float

    def contrast_and_gap(self, log_multiplier: float, log_direction: float) -> tuple[float, float]:
        """(contrast, between-group scalar) given log lambda and log cos t (for A) or log sin t (for B).

        The between-group scalar is -inf where no logit can carry the mass that the conditions ask for.
        """
        own, other = self.own, self.other
        total = own + other
        log_ratio = log_multiplier - self.log_weight  # log(lambda / f)
        log_kappa = log_ratio + log_direction + 0.5 * math.log(other / total)
        if log_kappa >= 0:
            return 0.0, -math.inf
        kappa = math.exp(log_kappa)
        if own > 1 and log_ratio < 0:
            # contrast > 0: pi = (lambda/f - kappa) (own-1)/own, in logarithms to keep tiny masses exact
            inner = 1.0 - math.exp(log_direction) * math.sqrt(other / total)
            log_pi = log_ratio + math.log(inner) + math.log((own - 1) / own)
            log_right = math.log1p(-math.exp(log_pi) - kappa)
            contrast = log_right - log_pi + math.log(own - 1)
        else:
            # contrast 0 (collapsed) or absent (a single class): the mass kappa alone fixes the gap
            log_right = math.log1p(-kappa) - math.log(own)
            contrast = 0.0
        if log_kappa == -math.inf:
            return contrast, math.inf
        gap = log_right - log_kappa + math.log(other)
        return contrast, (gap - contrast * (1 - 1 / own)) * own * math.sqrt(other / total)


def _sides(problem: TwoSizes) -> tuple[_Side, _Side]:
    def log(weight: float) -> float:
        return math.log(weight) if weight > 0 else LOG_ZERO

    return (
        _Side(problem.majority_classes, problem.minority_classes, log(problem.majority_weight)),
        _Side(problem.minority_classes, problem.majority_classes, log(problem.minority_weight)),
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
        a, p = majority.contrast_and_gap(log_multiplier, 0.0)
        if p <= 0:
            return TwoSizesPoint(_contrast_alone(majority, log_multiplier), 0.0, 0.0, 0.0, log_multiplier)
        return TwoSizesPoint(a, 0.0, p, 0.0, log_multiplier)

    def mismatch(log_tangent: float) -> float:
        """log(p tan t / q): increasing in t where p, q > 0; its sign is right elsewhere; nan if p, q <= 0."""
        log_cos, log_sin = _directions(log_tangent)
        _, p = majority.contrast_and_gap(log_multiplier, log_cos)
        _, q = minority.contrast_and_gap(log_multiplier, log_sin)
        if p <= 0:
            return math.nan if q <= 0 else -math.inf
        return math.inf if q <= 0 else math.log(p) + log_tangent - math.log(q)

    bracket = _bracket(mismatch, near)
    if bracket is None:
        # No angle has p, q > 0: the part between the groups is zero.
        a, b = _contrast_alone(majority, log_multiplier), _contrast_alone(minority, log_multiplier)
        return TwoSizesPoint(a, b, 0.0, 0.0, log_multiplier)
    low, high = bracket
    root = low if low == high else brentq(mismatch, low, high, xtol=_XTOL, rtol=_RTOL)
    log_cos, log_sin = _directions(root)
    a, p = majority.contrast_and_gap(log_multiplier, log_cos)
    b, q = minority.contrast_and_gap(log_multiplier, log_sin)
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
            return middle, middle  # p or q is zero to rounding: the very edge of the between-group part
    return middle, middle


def _contrast_alone(side: _Side, log_multiplier: float) -> float:
    """The contrast when p = q = 0: (1 - e^{-a}) / (1 + (own-1) e^{-a} + other e^{-a(1-1/own)}) = 1 - lambda/f."""
    own, other = side.own, side.other
    log_ratio = log_multiplier - side.log_weight
    if own == 1 or log_ratio >= 0:
        return 0.0

    def excess(contrast: float) -> float:
        decay = math.exp(-contrast)
        cross = other * math.exp(-contrast * (1 - 1 / own))
        # lambda/f = (own e^{-a} + cross) / (1 + (own-1) e^{-a} + cross), compared in logarithms
        return math.log(own * decay + cross) - math.log1p((own - 1) * decay + cross) - log_ratio

    high = 1.0
    while excess(high) > 0:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=_XTOL, rtol=_RTOL))


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
    root = brentq(excess, low, highest, xtol=_XTOL, rtol=_RTOL)
    point = solve_for_multiplier(problem, root, near)
    norm = nuclear_norm(problem, point)
    scale = tau / norm if norm > 0 else 1.0
    return TwoSizesPoint(point.a * scale, point.b * scale, point.p * scale, point.q * scale, root)


def collapse_ratio(majority_classes: int, minority_classes: int, tau: float) -> float | None:
    """R0, from which on the minority classifiers coincide; None for one minority class, which has no angle."""
    if minority_classes < 2:
        return None
    k_a, k_b = majority_classes, minority_classes
    k = k_a + k_b

    def parts(log_x: float) -> tuple[float, float, float]:
        """(a, s, y) at the threshold with e^{-g_B} = x."""
        sine = math.sqrt(k * k_a) / (k_b * math.exp(-log_x) + k_a)
        cosine = math.sqrt(1.0 - sine * sine)
        # s = q / sin t, written so that it stays exact where x and sin t underflow together
        s = -log_x * k_b * math.sqrt(k_a / k) / sine
        y = k_a * cosine / (math.sqrt(k * k_b) - k_b * cosine)
        a = s * cosine * math.sqrt(k / k_b) + k_a * math.log(y)
        return a, s, y

    def excess(log_x: float) -> float:
        a, s, _ = parts(log_x)
        return (k_a - 1) * a + s - tau

    low = -1e-6
    while excess(low) < 0 and low > -600.0:
        low *= 2.0
    if excess(low) < 0:
        return math.inf
    a, _, y = parts(brentq(excess, low, -1e-300, xtol=1e-300, rtol=8.9e-16))
    return _ratio_from(a, y, k_a, k_b)


def vanishing_ratio(majority_classes: int, minority_classes: int, tau: float) -> float | None:
    """R1, from which on minority classifiers and features are zero; None where there is no such ratio."""
    k_a, k_b = majority_classes, minority_classes
    k = k_a + k_b
    if k_a < 2 or tau >= k_a * (k_a - 1) * math.log1p(math.sqrt(k / k_b)):
        return None
    a = tau / (k_a - 1)
    y = math.exp(a / k_a)
    t = math.sqrt(k * k_b) * y / (k_a + k_b * y)
    if t >= 1.0:  # only by rounding: the bound on tau above says t < 1
        return None
    return math.sqrt(k_a / k) / math.sqrt(1 - t * t) * _ratio_from(a, y, k_a, k_b)


def _ratio_from(a: float, y: float, k_a: int, k_b: int) -> float:
    """(e^a + K_A - 1 + K_B y) / (K_A + K_B y); infinite where e^a leaves the doubles."""
    return math.inf if a > 709.0 else (math.exp(a) + k_a - 1 + k_b * y) / (k_a + k_b * y)
