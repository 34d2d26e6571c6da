"""Two class sizes: where the minority collapses (R0) and where it vanishes (R1), in closed form, with R = n_A/n_B.

In the notation of `two_sizes`, collapse, b = 0, holds exactly when the multiplier lambda* >= n_B/N. At the threshold,
with x in (0, 1) the ratio e^{-g_B} of a majority logit to a minority one:

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

from scipy.optimize import brentq

_LOWEST = -600.0  # of ln x, whose exponential is a number


def collapse_ratio(majority_classes: int, minority_classes: int, tau: float) -> float | None:
    """R0, the ratio from which minority classifiers coincide; None for one minority class, which has no angle."""
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

    low, high = -1e-6, -1e-300
    while (below := excess(low) < 0) and low > _LOWEST:
        low, high = max(16.0 * low, _LOWEST), low
    if below:
        return math.inf
    a, _, y = parts(brentq(excess, low, high, xtol=1e-300, rtol=8.9e-16))
    return _ratio_from(a, y, k_a, k_b)


def vanishing_ratio(majority_classes: int, minority_classes: int, tau: float) -> float | None:
    """R1, the ratio from which minority classifiers and features are zero; None if there is no such ratio."""
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
    """(e^a + K_A - 1 + K_B y) / (K_A + K_B y); infinite if e^a overflows."""
    return math.inf if a > 709.0 else (math.exp(a) + k_a - 1 + k_b * y) / (k_a + k_b * y)
