"""rho(u, s), the curvature of the population risk due to a Gaussian group (Li et al. 2024 eq 13, 2022 eq 18).

    rho(u, s) = min over i != j of  (u_j^2 + 1) (beta_0 - alpha_0^2)(u_i)  and  (beta_2 - alpha_2^2 / (u_i^2 + 1))(u_i)
    alpha_q = E phi'(s z) z^q,   beta_q = E phi'(s z)^2 z^q,   z ~ N(u_i, 1)

Both terms are second moments, Var phi'(s z) and min_c E (phi'(s z) - c)^2 z^2, and are computed as such: the
differences above lose every digit for small s. For small arguments phi' is replaced by phi'(0) - phi', again to keep
the digits. Gauss-Hermite fails for s >= 10 (phi' is a spike) and for s <= 1e-4; the integrals are Gauss-Legendre on
intervals split at the scales of both factors. With one neuron there is no j != i, and only the second term remains
(our choice; the paper has K > 1).
"""

from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.activation import Activation, slope
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, check_finite, check_positive

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_REACH = 12.0  # standard deviations; the normal density beyond them is below 1e-31


def rho(u: ArrayLike, s: float, activation: Activation = "sigmoid") -> float:
    """rho(u, s) for a vector u of one entry per neuron and s > 0."""
    means = np.atleast_1d(np.asarray(u, dtype=np.float64))
    check_finite(means, "u")
    scale = check_positive(s, "s")
    if means.ndim != 1 or means.size == 0:
        raise InputError("a vector u with one entry per neuron", f"shape {means.shape}", "give W^T mu / (delta_K s)")
    terms = np.array([rho_terms(abs(float(mean)), scale, activation) for mean in means])
    least = terms[:, 1].min()
    for i in range(means.size):
        others = np.delete(np.square(means), i)
        if others.size:
            least = min(least, (others.min() + 1.0) * terms[i, 0])
    return float(least)


@cache
def rho_terms(u: float, s: float, activation: Activation = "sigmoid") -> tuple[float, float]:
    """beta_0 - alpha_0^2 and beta_2 - alpha_2^2 / (u^2 + 1) at mean u >= 0."""
    z, weights = _rule(u, s)
    density = weights * np.exp(-0.5 * np.square(z - u)) / np.sqrt(2.0 * np.pi)
    shape = _drop(s * z, activation) if s * (u + 1.0) < 1.0 else slope(s * z, activation)
    mass = density.sum()
    centre = density @ shape / mass
    variance = float(density @ np.square(shape - centre) / mass)
    second = density * np.square(z)
    total = second.sum()
    tilted = second @ shape / total
    residual = float(second @ np.square(shape - tilted)) / total * (u * u + 1.0)
    return variance, residual


def _drop(t: FloatArray, activation: Activation) -> FloatArray:
    """phi'(0) - phi'(t) without cancellation."""
    if activation == "erf":
        return np.asarray(-np.expm1(-np.square(t)) / np.sqrt(np.pi))
    if activation == "tanh":
        return np.asarray(np.square(np.tanh(t)) / 2.0)
    return np.asarray(np.square(np.tanh(t / 2.0)) / 4.0)


def _rule(u: float, s: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights: unit steps around the density's centre and the centres tilted by phi' ~ e^{-s z}, and the
    spike."""
    offsets = np.arange(-_REACH, _REACH + 0.5)
    centres = {0.0, u, max(u - s, 0.0), max(u - 2.0 * s, 0.0)}
    spike = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 45.0]) / s
    points = np.concatenate([centre + offsets for centre in sorted(centres)] + [spike, -spike])
    low, high = min(-_REACH, u - _REACH), u + _REACH
    points = np.unique(points[(points >= low) & (points <= high)])
    half, middle = np.diff(points) / 2.0, (points[1:] + points[:-1]) / 2.0
    return (middle[:, None] + half[:, None] * _NODES).ravel(), (half[:, None] * _WEIGHTS).ravel()
