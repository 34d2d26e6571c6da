"""What Li and Liang (2018) prove about SGD on a wide ReLU network, as numbers: Lemma 5.1 and Lemma 5.2.

k classes, l components per class, m units, sigma the standard deviation of an initial weight, eta the learning rate,
delta the separation of (A1), epsilon the target error. O-tilde hides logarithms. If a proof shows a constant, it is
used here; otherwise the quantity is given up to that constant, and its name says so.

Errors in the text, found by deriving it again:
- Lemma A.1 bounds |dL/dw_r| by L = max |a_ir|; eq (1) is sum_{i != y} o_i (a_ir - a_yr), so the bound is the range
  max_i a_ir - min_i a_ir <= 2L.
- Lemma A.2 uses 1 - <x, x'>^2 >= delta^2 for points of different classes. |x - x'| >= delta gives only
  1 - <x, x'> >= delta^2/2: antipodal points violate it, so Lemma 5.2 and Theorem 4.1 are false as stated (see
  `data.clusters.hexagon_mixture`). sin^2 = |x - x'|^2 |x + x'|^2 / 4, so the separation from antipodes is needed too.
- Lemma A.4 states T = sigma delta/(k l eta); its proof uses, and its conclusion needs, sigma delta/(k^2 l^2 eta).
- The proof of Theorem 4.1 says v <= epsilon <= 1/e implies a margin of 1; it implies log(e - 1) = 0.54. The margin is
  positive all the same, which is what is used.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, check_count, check_in_range, check_matrix, check_positive


@dataclass(frozen=True)
class CouplingBound:
    """Lower bounds on the fraction of units whose true gradient equals the pseudo gradient after t steps.

    `stated` is 1 - e tau k l / sigma with tau = 2 R eta t, R the bound on a unit's gradient; `union` replaces e
    tau/sigma by the probability P(|N(0, sigma^2)| <= tau/2) of the event itself, since a unit moves tau/2 at most;
    both hold in expectation over the start. `deviation` is what a union bound with Hoeffding takes off for m units
    with probability `confidence`. A stated bound of 0 or below says nothing.
    """

    tau: float
    stated: float
    union: float
    sampling_margin: float
    confidence: float


@dataclass(frozen=True)
class GradientBound:
    """Lemma 5.2 with the constants of its proof: at least `fraction` of units have |pseudo gradient| >= `size`."""

    fraction: float
    size: float
    width_order: float  # k^3 l^2 / delta, up to logarithms and a constant


def unit_gradient_bounds(top: ArrayLike) -> FloatArray:
    """R_r = max_i a_ir - min_i a_ir >= |dL/dw_r| for unit inputs, for each unit; `top` is a, (k, m)."""
    matrix = check_matrix(top, "the top layer")
    return np.asarray(matrix.max(axis=0) - matrix.min(axis=0))


def likely_gradient_bound(classes: int, width: int, confidence: float = 0.99) -> float:
    """A bound on every |dL/dw_r| before a is drawn: 2 max |a_ir| <= 2 sqrt(2 log(2 k m / (1 - confidence)))."""
    count = check_count(classes, "k", at_least=2) * check_count(width, "m")
    return 2 * math.sqrt(2 * math.log(2 * count / (1 - check_in_range(confidence, "the confidence", 0.5, 0.999999))))


def coupling_bound(
    *,
    classes: int,
    components: int,
    width: int,
    deviation: float,
    rate: float,
    steps: int,
    gradient_bound: float | None = None,
    confidence: float = 0.99,
) -> CouplingBound:
    """Lemma 5.1 (A.1) in the simplified case: for t <= tau/(2 R eta), at least 1 - e tau k l/sigma of the units couple.

    `deviation` is sigma, `gradient_bound` R (by default the one that holds for a Gaussian top layer with probability
    `confidence`).
    """
    pairs = check_count(classes, "k", at_least=2) * check_count(components, "l")
    sigma, eta = check_positive(deviation, "sigma"), check_positive(rate, "the learning rate")
    bound = likely_gradient_bound(classes, width, confidence) if gradient_bound is None else gradient_bound
    tau = 2 * check_positive(bound, "the gradient bound") * eta * check_count(steps, "t", at_least=0)
    missed = pairs * math.erf(tau / 2 / (sigma * math.sqrt(2)))
    return CouplingBound(
        tau=tau,
        stated=1 - math.e * tau * pairs / sigma,
        union=1 - min(missed, 1.0),
        sampling_margin=math.sqrt(math.log(1 / (1 - confidence)) / (2 * check_count(width, "m"))),
        confidence=confidence,
    )


def gradient_bound(*, classes: int, components: int, delta: float, largest: float, deviation: float) -> GradientBound:
    """Lemma 5.2 (A.2, A.3) with `largest` = v = max p_ab v_iab, and the constants of the proof.

    tau = delta sigma/(16 e k l);  Pr[E_tau] >= tau/(16 e^2 sigma);  Pr[h >= v tau/128 | E_tau] >= 1/(16 e);
    |P| >= h/(10 c sigma) with c = 100 sqrt(log(k l/(delta sigma))) but for probability exp(-c^2);  times 1/e for a.
    """
    pairs = check_count(classes, "k", at_least=2) * check_count(components, "l")
    separation, v = check_positive(delta, "delta"), check_positive(largest, "v")
    sigma = check_positive(deviation, "sigma")
    c = 100 * math.sqrt(math.log(max(pairs / (separation * sigma), math.e)))
    over_sigma = separation / (16 * math.e * pairs)  # tau / sigma
    event = over_sigma / (16 * math.e**2) / (16 * math.e)
    return GradientBound(
        fraction=(event - math.exp(-(c**2))) / math.e,
        size=v * over_sigma / (128 * 10 * c),
        width_order=classes**3 * components**2 / separation,
    )


def pattern_kernel(points: ArrayLike) -> FloatArray:
    """M_{su} = <x_s, x_u> P(<w, x_s> >= 0 and <w, x_u> >= 0) = <x_s, x_u> (pi - angle)/(2 pi), w Gaussian."""
    matrix = check_matrix(points, "the points")
    lengths = np.linalg.norm(matrix, axis=1)
    if not lengths.all():
        raise InputError("points other than 0", "a point at 0", "leave it out: its gradient is 0")
    products = matrix @ matrix.T
    cosines = np.clip(products / np.outer(lengths, lengths), -1.0, 1.0)
    return np.asarray(products * (math.pi - np.arccos(cosines)) / (2 * math.pi))


def gradient_energy_bound(points: ArrayLike) -> float:
    """Our sharp form of Lemma 5.2: the c >= 0 with E_r |pseudo gradient of unit r|^2 >= c v^2 for all error signals.

    With a ~ N(0, I) independent of w^(0), the mean over units is sum_i u_i^T M u_i, u_i = (p_s v_{i,s})_s and M the
    `pattern_kernel`; for signals fixed before the draw and |u_{i,s}| = v somewhere it is at least
    v^2 min_s 1/(M^-1)_{ss}. It is 0 exactly if some combination of patterns cancels for every w, as on the hexagon.
    """
    values, vectors = np.linalg.eigh(pattern_kernel(points))
    floor = float(values[-1]) * len(values) * float(np.finfo(np.float64).eps)  # rounding of a zero eigenvalue
    if values[0] <= floor:  # a null vector is a signal without any gradient
        return 0.0
    inverse_diagonal = (vectors**2 / values).sum(axis=1)
    return float(1 / inverse_diagonal.max())
