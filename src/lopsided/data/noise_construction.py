"""Noise matrices with requested correlation ratios, exactly (the synthetic data of Xu and Chen 2025, Section 5.1).

Wanted: Gamma_{k,j} = n_k T_kk / (n_j T_kj) for j != k, where T_kj = |A_k^T A_j|_F^2 = tr(Sigma_k Sigma_j). Only two
things of T are fixed by that: the scales D_k = sqrt(T_kk) up to one factor, with (D_j / D_k)^2 = n_k^2 Gamma_{j,k} /
(n_j^2 Gamma_{k,j}), and the correlations C_kj = T_kj / (D_k D_j) = (Gamma_{k,j} Gamma_{j,k})^(-1/2). With v_1 ... v_K
orthonormal and orthogonal to the features, take

    Sigma_k = D_k (c P + sum_l (N_kl - c) v_l v_l^T),   c = base^2
    N N^T = t C - c^2 (R - K) 11^T,   N symmetric, N >= 0

with R = d - K the rank of P; then T_kj = t D_k D_j C_kj whatever t is. The free t is set so that the entries of N off
the diagonal average c (larger where an entry would be negative): a class then meets the others' directions as it
meets any direction. For one common ratio and equal sizes this is the paper's construction, A_k = P/2 + (l - 1/2) v_k
v_k^T ("all but one non-zero eigenvalue 0.5"), with

    l^2 = (Gamma + sqrt((Gamma - 1)(Gamma + R - 1))) / 4.

A_k is the symmetric root of Sigma_k, kept as scalar times projector plus rank K.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.factored import FactoredMatrix
from lopsided.core.noise_geometry import NoiseGeometry, noise_geometry
from lopsided.core.validation import FloatArray, check_positive

# Consistent ratios in float64 agree around a cycle to about 1e-15; the achieved ratios would miss by the inconsistency.
_CYCLE_TOLERANCE = 1e-10


@dataclass(frozen=True)
class NoiseConstruction:
    """The matrices, what was asked for (K x K, diagonal 1) and what is achieved."""

    matrices: tuple[FactoredMatrix, ...]
    directions: FloatArray  # d x K, the v_l
    requested: FloatArray
    achieved: FloatArray
    geometry: NoiseGeometry

    @property
    def largest_error(self) -> float:
        """The largest relative difference between achieved and requested ratios."""
        return float(np.abs(self.achieved / self.requested - 1.0).max())


def construct_noise(
    features: FloatArray, directions: FloatArray, sizes: FloatArray, ratios: ArrayLike, *, base: float = 0.5
) -> NoiseConstruction:
    """Noise matrices with the requested ratios: one number for every pair, or a K x K matrix.

    features: d x K orthonormal directions of the features. directions: d x K orthonormal, orthogonal to those.
    sizes: the K class sizes. base: the eigenvalue of the bulk (0.5 in the paper).
    """
    K = sizes.shape[0]
    requested = _requested(ratios, K)
    check_positive(base, "the bulk eigenvalue")
    if features.shape[0] < 2 * K:
        expected = f"a dimension of at least {2 * K} for {K} classes"
        raise InputError(expected, features.shape[0], "raise d or lower the classes")
    scales = _scales(requested, sizes)
    correlation = 1.0 / np.sqrt(requested * requested.T)
    bulk = base**2
    rest = features.shape[0] - 2 * K
    eigenvalues = _nonnegative_root(correlation, bulk, rest)
    matrices = tuple(
        FactoredMatrix(
            scale=float(np.sqrt(scales[k] * bulk)),
            avoided=features,
            left=directions * (np.sqrt(scales[k] * eigenvalues[k]) - np.sqrt(scales[k] * bulk)),
            right=directions,
        )
        for k in range(K)
    )
    geometry = noise_geometry(matrices)
    return NoiseConstruction(matrices, directions, requested, geometry.ratios(sizes), geometry)


def _requested(ratios: ArrayLike, K: int) -> FloatArray:
    given = np.asarray(ratios, dtype=np.float64)
    if given.ndim == 0:
        given = np.full((K, K), float(given))
    if given.shape != (K, K):
        raise InputError(f"one ratio or a {K} x {K} matrix of ratios", f"shape {given.shape}")
    requested = given.copy()
    np.fill_diagonal(requested, 1.0)
    if not np.all(np.isfinite(requested)) or np.any(requested <= 0):
        raise InputError("positive noise correlation ratios", "others")
    if np.any(requested * requested.T < 1.0):
        k, j = np.argwhere(requested * requested.T < 1.0)[0]
        expected = "ratios with Gamma_kj Gamma_jk >= 1 (the inequality of Cauchy and Schwarz)"
        got = f"{requested[k, j]:g} and {requested[j, k]:g} for classes {k} and {j}"
        raise InputError(expected, got, "raise one of the two")
    return requested


def _scales(requested: FloatArray, sizes: FloatArray) -> FloatArray:
    """D_k with geometric mean 1; the pairs must agree on it around every cycle."""
    # log D_j - log D_k = log(n_k / n_j) + (log Gamma_jk - log Gamma_kj) / 2
    differences = np.log(sizes)[:, None] - np.log(sizes)[None, :] + (np.log(requested.T) - np.log(requested)) / 2.0
    logarithms = differences.mean(axis=0)  # the least squares solution with mean zero
    misfit = np.abs(logarithms[None, :] - logarithms[:, None] - differences)
    if misfit.max() > _CYCLE_TOLERANCE:
        k, j = np.unravel_index(int(misfit.argmax()), misfit.shape)
        raise InputError(
            "ratios that agree around every cycle of classes, Gamma_ij Gamma_jk Gamma_ki = Gamma_ik Gamma_kj Gamma_ji",
            f"a factor of {np.exp(2 * misfit.max()):.4g} too much for classes {k} and {j}",
            "change one ratio; such noise does not exist",
        )
    result: FloatArray = np.exp(logarithms)
    return result


def _nonnegative_root(correlation: FloatArray, bulk: float, rest: int) -> FloatArray:
    """Symmetric N >= 0 with N N^T = t C - bulk^2 rest 11^T, t such that N averages `bulk` off the diagonal."""
    from scipy.optimize import brentq

    K = correlation.shape[0]
    ones = bulk**2 * rest * np.ones((K, K))
    off_diagonal = ~np.eye(K, dtype=bool)

    def root(t: float) -> FloatArray:
        values, vectors = np.linalg.eigh(t * correlation - ones)
        result: FloatArray = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
        return result

    def excess(t: float) -> float:
        return float(root(t)[off_diagonal].mean()) - bulk

    values, vectors = np.linalg.eigh(correlation)
    if values[0] < -1e-12 * values[-1]:
        got = "ratios of none"
        raise InputError("ratios of a positive semidefinite matrix of noise products", got, "raise the smaller ratios")
    # t C - s 11^T is positive semidefinite from t = s 1^T C^+ 1 on (1 must lie in the range of C, as Perron's theorem
    # gives for C = 11^T and as any positive definite C does).
    alive = values > 1e-12 * values[-1]
    start = float(np.square(vectors[:, alive].T @ np.ones(K)).dot(1.0 / values[alive])) * bulk**2 * rest
    start = max(start, bulk**2 * 1e-9)
    end = 2.0 * start + bulk**2
    limit = 1e9 * end
    while excess(end) < 0 and end < limit:
        end *= 2.0
    crosses = excess(start) < 0 <= excess(end)
    t = float(brentq(excess, start, end, xtol=1e-15 * end, rtol=1e-15)) if crosses else start
    # Ratios that differ much from pair to pair need stronger directions over the bulk before every variance is
    # positive.
    while root(t).min() < -1e-12 * bulk and t < limit:
        t *= 1.25
    result = root(t)
    if result.min() < -1e-12 * bulk:
        got = "a request that needs a negative variance"
        raise InputError("ratios that class-wise noise in K directions can give", got, "make the ratios more alike")
    return np.clip(result, 0.0, None)
