"""The quadratic discriminant of `theory.patch_bayes` in full, which its closed form is held against."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.factored import FactoredMatrix, joint_span
from lopsided.core.validation import FloatArray, IntArray


@dataclass(frozen=True)
class NoiseBayesRule:
    """The quadratic discriminant on noise patches; inside the joint span of the A_k, a norm outside it."""

    basis: FloatArray  # d x s
    whiteners: tuple[FloatArray, ...]  # s x s, W_k with W_k^T W_k = (V^T A_k A_k^T V)^+
    outside: FloatArray  # K, scale of A_k outside the span
    rest: int  # d - s
    offsets: FloatArray  # log pi_k - log det^+ / 2

    def scores(self, noise: FloatArray) -> FloatArray:
        """Log posterior up to a constant, n x K."""
        inside = noise @ self.basis
        return self._scores(inside, np.square(noise).sum(axis=1) - np.square(inside).sum(axis=1))

    def predict(self, noise: FloatArray) -> IntArray:
        """The class of every noise patch."""
        return np.asarray(self.scores(noise).argmax(axis=1))

    def _scores(self, inside: FloatArray, outside: FloatArray) -> FloatArray:
        columns = [
            offset - np.square(inside @ W.T).sum(axis=1) / 2.0 - (outside / (2.0 * scale**2) if self.rest else 0.0)
            for W, scale, offset in zip(self.whiteners, self.outside, self.offsets, strict=True)
        ]
        return np.stack(columns, axis=1)


def noise_bayes_rule(matrices: Sequence[FactoredMatrix], priors: FloatArray | None = None) -> NoiseBayesRule:
    """The Bayes rule for Gaussian noise patches A_k zeta with class probabilities `priors` (equal unless given)."""
    K = len(matrices)
    weights = np.full(K, 1.0 / K) if priors is None else np.asarray(priors, dtype=np.float64)
    basis = joint_span(*matrices)
    rest = matrices[0].dimension - basis.shape[1]
    whiteners, offsets, ranges = [], [], []
    for A, prior in zip(matrices, weights, strict=True):
        if rest and A.scale == 0.0:
            raise InputError("noise in every direction", "a class without bulk noise", "give it a bulk eigenvalue")
        inside = basis.T @ A.apply(basis.T).T
        left, values, _ = np.linalg.svd(inside)
        alive = values > 1e-10 * max(values.max(initial=0.0), abs(A.scale))
        ranges.append(left[:, alive] @ left[:, alive].T)
        whiteners.append((left[:, alive] / values[alive]).T)
        offsets.append(np.log(prior) - np.log(values[alive]).sum() - (rest * np.log(abs(A.scale)) if rest else 0.0))
    if any(np.abs(other - ranges[0]).max() > 1e-6 for other in ranges[1:]):
        raise InputError(
            "noise matrices with one common range",
            "different ranges",
            "nothing is to be forecast: classes are distinguished by where their noise lives",
        )
    scales = np.array([A.scale for A in matrices])
    return NoiseBayesRule(basis, tuple(whiteners), scales, rest, np.array(offsets))
