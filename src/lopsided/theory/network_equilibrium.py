"""The equilibrium of training with weight decay, class by class, if only the last layer couples the classes.

With f_k = n_k / N, logits z_k = u_k times the centred unit vector of class k, cross entropy CE = log(1 + (K-1) e^-u):

BatchNorm + ReLU before the head, batches of b (`batchnorm_equilibrium`). BatchNorm fixes the second moment of every
unit over the batch, so representing a class costs sqrt(g_k) per unit of |z_k|:

    minimise f_k CE(z_k) + wd sqrt(g_k) |z_k|,   g_k = f_k + (1 - f_k) / b
    q_k = min(wd sqrt(g_k (K-1)/K) / f_k, (K-1)/K),   u_k = log((K-1)(1-q_k)/q_k)
    omega_k = |z_k| sqrt(g_k),   |z_k| = u_k sqrt((K-1)/K)

No BatchNorm, L weight matrices, inputs of norm r (`plain_equilibrium`):

    minimise f_k CE(z_k) + (L wd / 2) (|z_k| / r)^(2/L),   omega_k = (|z_k| / r)^(2/L)

In both  W W^T = E diag(omega) E^T,  E = sqrt(K/(K-1)) (I - 11^T/K).  A class with omega_k = 0 is lost: its classifier
is minus the mean of the others', so lost classes coincide. These are our own results, not a paper's; they hold for
orthogonal classes without within-class variation, trained to convergence. Real networks lose classes earlier: see
`survival_law`.
"""

import math
from dataclasses import dataclass

import numpy as np

from lopsided.core.counts import CountsLike, class_counts
from lopsided.core.validation import FloatArray, check_count, check_positive

_HALVINGS = 200  # of the bracket of a stationary point: more than double precision needs


@dataclass(frozen=True)
class Equilibrium:
    """The equilibrium: the share of errors q_k, the margin u_k and omega_k of every class; omega gives all angles."""

    frequencies: FloatArray
    errors: FloatArray
    margins: FloatArray
    strengths: FloatArray

    @property
    def weight_energy(self) -> float:
        """E_W = mean_k |w_k|^2 = sum_k omega_k / K, since E has unit columns."""
        return float(self.strengths.sum()) / self.strengths.size

    def cosines(self) -> FloatArray:
        """cos(w_j, w_k) of all pairs; NaN if every class is lost."""
        return cosines_of_strengths(self.strengths)


def cosines_of_strengths(strengths: FloatArray) -> FloatArray:
    """Cosines of the rows of W where W W^T = E diag(omega) E^T; leading axes are kept."""
    classes = strengths.shape[-1]
    total = strengths.sum(axis=-1)[..., None, None]
    shared = total / classes**2 - (strengths[..., :, None] + strengths[..., None, :]) / classes
    gram = shared + strengths[..., :, None] * np.eye(classes)
    lengths = np.sqrt(np.diagonal(gram, axis1=-2, axis2=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        cosines: FloatArray = gram / (lengths[..., :, None] * lengths[..., None, :])
    return np.clip(cosines, -1.0, 1.0)


def batchnorm_equilibrium(counts: CountsLike, weight_decay: float, batch_size: int) -> Equilibrium:
    """q_k = min(wd sqrt(g_k (K-1)/K) / f_k, (K-1)/K) and what follows from it; `batch_size` is capped at N."""
    found = class_counts(counts)
    decay = check_positive(weight_decay, "the weight decay")
    classes, frequencies = found.classes, np.asarray(found.counts, dtype=np.float64) / found.total
    batch = min(float(check_count(batch_size, "the batch size")), found.total)
    second_moment = frequencies + (1.0 - frequencies) / batch
    chance = (classes - 1) / classes
    errors = np.minimum(decay * np.sqrt(second_moment * chance) / frequencies, chance)
    margins = np.log((classes - 1) * (1.0 - errors) / errors)
    margins = np.where(errors == chance, 0.0, np.maximum(margins, 0.0))
    return Equilibrium(frequencies, errors, margins, margins * np.sqrt(chance * second_moment))


def plain_equilibrium(counts: CountsLike, weight_decay: float, layers: int, input_norm: float = 1.0) -> Equilibrium:
    """argmin_u f CE(u) + (L wd / 2) (u sqrt((K-1)/K) / r)^(2/L), class by class.

    For L > 2 the penalty is concave: u = 0 is always a local minimum, and the class is lost if it is the global one.
    """
    found = class_counts(counts)
    decay = check_positive(weight_decay, "the weight decay")
    depth = check_count(layers, "the number of weight matrices", at_least=2)
    radius = check_positive(input_norm, "the norm of the inputs")
    classes, frequencies = found.classes, np.asarray(found.counts, dtype=np.float64) / found.total
    chance = (classes - 1) / classes
    power = 2.0 / depth

    price = decay * (np.sqrt(chance) / radius) ** power  # of u^p / p

    def slope(u: FloatArray) -> FloatArray:
        return np.asarray(price * u ** (power - 1.0) - frequencies * _share_of_errors(u, classes))

    # price u^(p-1) / q(u) is smallest where u (1 - q) = 1 - p, so the minimum sought lies beyond that point, if the
    # slope is negative there; otherwise the objective only rises.
    turn = _turning_point(classes, 1.0 - power)
    low = np.full(frequencies.shape, max(turn, 1e-12))
    falls = slope(low) < 0
    high = low + 1.0
    while np.any(slope(high) < 0):
        high = np.where(slope(high) < 0, 2.0 * high, high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        falling = slope(middle) < 0
        low, high = np.where(falling, middle, low), np.where(falling, high, middle)
    gain = frequencies * (np.log(classes) - np.log1p((classes - 1) * np.exp(-high)))
    kept = falls & (gain > price * high**power / power)
    margins = np.where(kept, high, 0.0)
    strengths = np.where(kept, (margins * np.sqrt(chance) / radius) ** power, 0.0)
    return Equilibrium(frequencies, _share_of_errors(margins, classes), margins, strengths)


def _share_of_errors(u: FloatArray, classes: int) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(u) / (classes - 1)))


def _turning_point(classes: int, level: float) -> float:
    """The u > 0 at which u (1 - q(u)) = level."""
    low, high = 0.0, math.log(classes) + 10.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        below = middle * (1.0 - 1.0 / (1.0 + math.exp(middle) / (classes - 1))) < level
        low, high = (middle, high) if below else (low, middle)
    return 0.5 * (low + high)
