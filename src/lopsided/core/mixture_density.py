"""Density of a Gaussian mixture and its score tensors, S_m(x) = (-1)^m grad^m p(x) / p(x), contracted.

With r_l(x) the posterior of group l, P_l = Sigma_l^{-1} and a_l = P_l (x - mu_l):

    S_1 = sum r_l a_l,   S_2 = sum r_l (a a^T - P),   S_3 = sum r_l (a (x) a (x) a - a (x) P in its three placements).

Weighted sums over samples are formed group by group, so nothing of size n d^2 or d^3 is ever stored (Definition 1 of
Li et al. 2022).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lopsided.core.mixture_spec import Mixture
from lopsided.core.validation import FloatArray


def group_log_densities(features: FloatArray, mixture: Mixture) -> FloatArray:
    """log lambda_l N(x; mu_l, Sigma_l), shape (n, L)."""
    from scipy.linalg import solve_triangular

    columns = []
    for fraction, mean, covariance in zip(mixture.fractions, mixture.means, mixture.covariances, strict=True):
        if _is_diagonal(covariance):
            log_volume = np.log(np.diag(covariance)).sum()
            distance = np.square(features - mean) @ (1.0 / np.diag(covariance))
        else:
            factor = np.linalg.cholesky(covariance)
            log_volume = 2.0 * np.log(np.diag(factor)).sum()
            whitened = solve_triangular(factor, (features - mean).T, lower=True, check_finite=False)
            distance = np.einsum("dn,dn->n", whitened, whitened)
        constant = mixture.dimension * np.log(2.0 * np.pi)
        columns.append(np.log(fraction) - 0.5 * (log_volume + constant + distance))
    return np.stack(columns, axis=1)


def _is_diagonal(covariance: FloatArray) -> bool:
    """Diagonal groups cost n d instead of n d^2."""
    return bool(np.count_nonzero(covariance) == np.count_nonzero(np.diag(covariance)))


def log_density(features: FloatArray, mixture: Mixture) -> FloatArray:
    """log p(x), shape (n,)."""
    from scipy.special import logsumexp

    return np.asarray(logsumexp(group_log_densities(features, mixture), axis=1))


def responsibilities(features: FloatArray, mixture: Mixture) -> FloatArray:
    """r_l(x) = P(group l | x), shape (n, L), by a softmax that survives points far from every group."""
    from scipy.special import softmax

    return np.asarray(softmax(group_log_densities(features, mixture), axis=1))


@dataclass(frozen=True)
class ScoreMoments:
    """Means over a sample of c_i S_m(x_i), for given coefficients c (the labels): estimates of Q_1, Q_2, Q_3."""

    features: FloatArray
    coefficients: FloatArray
    mixture: Mixture

    @cached_property
    def _parts(self) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """Per group: weights c_i r_l(x_i) / n, rows a_l(x_i), precision P_l."""
        count, posterior = self.features.shape[0], responsibilities(self.features, self.mixture)
        parts = []
        for group, covariance in enumerate(self.mixture.covariances):
            precision = np.linalg.inv(covariance)
            centred = self.features - self.mixture.means[group]
            rows = centred * np.diag(precision) if _is_diagonal(covariance) else centred @ precision
            parts.append((self.coefficients * posterior[:, group] / count, rows, precision))
        return parts

    def first(self) -> FloatArray:
        """Q_1, shape (d,)."""
        return np.asarray(sum(weights @ rows for weights, rows, _ in self._parts))

    def second(self) -> FloatArray:
        """Q_2, shape (d, d)."""
        return np.asarray(
            sum((rows * weights[:, None]).T @ rows - weights.sum() * inverse for weights, rows, inverse in self._parts)
        )

    def second_times(self, block: FloatArray) -> FloatArray:
        """Q_2 V for a block V (d, k), without forming Q_2."""
        total = np.zeros_like(block)
        for weights, rows, precision in self._parts:
            total += rows.T @ (weights[:, None] * (rows @ block)) - weights.sum() * (precision @ block)
        return total

    def third_along_times(self, direction: FloatArray, block: FloatArray) -> FloatArray:
        """Q_3(I, V, alpha) for a block V (d, k), without forming a d x d matrix."""
        total = np.zeros_like(block)
        for weights, rows, precision in self._parts:
            along = weights * (rows @ direction)
            mean, turned = weights @ rows, precision @ direction
            total += rows.T @ (along[:, None] * (rows @ block)) - along.sum() * (precision @ block)
            total -= np.outer(mean, turned @ block) + np.outer(turned, mean @ block)
        return total

    def third_along(self, direction: FloatArray) -> FloatArray:
        """Q_3(I, I, alpha), shape (d, d)."""
        total = np.zeros((self.mixture.dimension, self.mixture.dimension))
        for weights, rows, precision in self._parts:
            along = weights * (rows @ direction)
            cross = np.outer(weights @ rows, precision @ direction)
            total += (rows * along[:, None]).T @ rows - along.sum() * precision - cross - cross.T
        return total

    def third_within(self, basis: FloatArray) -> FloatArray:
        """Q_3(U, U, U) for a basis U (d, k), shape (k, k, k)."""
        size = basis.shape[1]
        total = np.zeros((size, size, size))
        for weights, rows, precision in self._parts:
            inside = rows @ basis
            block = basis.T @ precision @ basis
            mean = weights @ inside
            pairs = np.einsum("ni,nj->nij", inside, inside).reshape(len(inside), -1)
            cubic = (pairs.T @ (inside * weights[:, None])).reshape(size, size, size)
            placed = np.einsum("i,jk->ijk", mean, block)
            total += cubic - placed - placed.transpose(1, 0, 2) - placed.transpose(1, 2, 0)
        return total
