"""A Gaussian mixture and a teacher on it: x ~ sum_l lambda_l N(mu_l, Sigma_l), P(y=1|x) = (1/K) sum_j phi(w_j^T x).

These records are what the rooms hand to each other; they draw nothing and predict nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.core.activation import Activation, check_activation
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, check_finite, check_matrix

# Fractions typed by people (0.33, 0.33, 0.34 or thirds with six digits) are accepted and rescaled to sum to one.
# Beyond these the bounds of the paper leave the doubles; a change of units brings any data inside.
LARGEST_MEAN, LARGEST_WEIGHT = 1e6, 1e3
SMALLEST_VARIANCE, LARGEST_VARIANCE = 1e-9, 1e9
FRACTION_SLACK = 1e-4


@dataclass(frozen=True)
class Mixture:
    """Psi: fractions (L,), means (L, d), covariances (L, d, d), all checked by `mixture_of`."""

    fractions: FloatArray
    means: FloatArray
    covariances: FloatArray

    @property
    def groups(self) -> int:
        """L."""
        return int(self.fractions.shape[0])

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.means.shape[1])

    def with_fraction(self, group: int, fraction: float) -> "Mixture":
        """The same groups with one fraction changed and the others rescaled in proportion."""
        if self.groups < 2:
            raise InputError("at least two groups to change a fraction", self.groups)
        others = 1.0 - self.fractions[group]
        fractions = self.fractions * (1.0 - fraction) / others
        fractions[group] = fraction
        return Mixture(fractions, self.means, self.covariances)

    def with_group(
        self, group: int, *, mean: FloatArray | None = None, covariance: FloatArray | None = None
    ) -> "Mixture":
        """The same mixture with one group's mean or covariance replaced."""
        means, covariances = self.means.copy(), self.covariances.copy()
        if mean is not None:
            means[group] = mean
        if covariance is not None:
            covariances[group] = covariance
        return Mixture(self.fractions, means, covariances)

    @property
    def spread(self) -> FloatArray:
        """|Sigma_l|^{1/2} of every group, the largest standard deviation."""
        return np.asarray(np.sqrt(np.linalg.eigvalsh(self.covariances)[:, -1]))

    @property
    def least_spread(self) -> FloatArray:
        """s_l = |Sigma_l^{-1}|^{-1/2} of every group, the smallest standard deviation."""
        return np.asarray(np.sqrt(np.linalg.eigvalsh(self.covariances)[:, 0]))

    @property
    def mean_lengths(self) -> FloatArray:
        """|mu_l|."""
        return np.asarray(np.linalg.norm(self.means, axis=1))


@dataclass(frozen=True)
class MixtureProblem:
    """A mixture with the teacher W* (d, K) and its activation."""

    mixture: Mixture
    weights: FloatArray
    activation: Activation = "sigmoid"

    @property
    def neurons(self) -> int:
        """K."""
        return int(self.weights.shape[1])


def mixture_of(
    fractions: Any, means: Sequence[Any], covariances: Sequence[Any], dimension: int | None = None
) -> Mixture:
    """Build a mixture from what people write.

    A mean is a vector or a number (that number in every coordinate); a covariance is a number (times the identity), a
    list (the diagonal) or a matrix. `dimension` is needed only where no entry shows it.

    >>> mixture_of([0.8, 0.2], [0, 1], [1, [4, 9]]).covariances[1].tolist()
    [[4.0, 0.0], [0.0, 9.0]]
    """
    share = _fractions(fractions)
    if not share.size == len(means) == len(covariances):
        got = f"{share.size} fractions, {len(means)} means, {len(covariances)} covariances"
        raise InputError("as many means and covariances as fractions", got)
    sizes = {np.shape(entry)[0] for entry in [*means, *covariances] if np.ndim(entry) > 0}
    sizes |= {dimension} if dimension is not None else set()
    if len(sizes) != 1:
        raise InputError(
            "one dimension in all groups",
            sorted(sizes) or "numbers only",
            "give vectors of one length, or dimension under [teacher]",
        )
    size = int(sizes.pop())
    return Mixture(
        share,
        np.array([group_mean(entry, size, f"group {index} mean") for index, entry in enumerate(means)]),
        np.array(
            [group_covariance(entry, size, f"group {index} covariance") for index, entry in enumerate(covariances)]
        ),
    )


def _fractions(value: Any) -> FloatArray:
    fractions = np.atleast_1d(np.asarray(value, dtype=np.float64))
    check_finite(fractions, "fraction")
    if np.any(fractions <= 0):
        raise InputError("a fraction above 0 for every group", fractions.min(), "leave out empty groups")
    if abs(fractions.sum() - 1.0) > FRACTION_SLACK:
        raise InputError("fractions that sum to 1", f"a sum of {fractions.sum():g}", "rescale them")
    return np.asarray(fractions / fractions.sum())


def group_mean(value: Any, dimension: int, name: str) -> FloatArray:
    """A vector of length d from a number or a vector."""
    mean = np.asarray(value, dtype=np.float64)
    if mean.ndim == 0:
        mean = np.full(dimension, float(mean))
    if mean.shape != (dimension,):
        raise InputError(f"a number or {dimension} numbers for {name}", f"shape {mean.shape}")
    check_finite(mean, name)
    if np.max(np.abs(mean)) > LARGEST_MEAN:
        raise InputError(f"entries of at most {LARGEST_MEAN:g} for {name}", f"{np.max(np.abs(mean)):g}", "rescale x")
    return mean


def group_covariance(value: Any, dimension: int, name: str) -> FloatArray:
    """A positive definite d x d matrix from a number, a diagonal or a matrix."""
    entry = np.asarray(value, dtype=np.float64)
    if entry.ndim == 0:
        entry = np.full(dimension, float(entry))
    if entry.ndim == 1 and entry.shape == (dimension,):
        check_finite(entry, name)
        entry = np.diag(entry)
    if entry.shape != (dimension, dimension):
        expected = f"a number, {dimension} numbers or a {dimension} x {dimension} matrix for {name}"
        raise InputError(expected, f"shape {np.shape(value)}")
    check_finite(entry, name)
    # Matrices typed with a few digits are symmetric to those digits; anything further off is a mistake.
    if np.max(np.abs(entry - entry.T)) > 1e-8 * np.max(np.abs(entry)):
        raise InputError(f"a symmetric matrix for {name}", "an asymmetric one")
    entry = (entry + entry.T) / 2
    least, largest = np.linalg.eigvalsh(entry)[[0, -1]]
    if least <= 1e-13 * max(largest, 0.0) or least <= 0:
        got = f"smallest eigenvalue {least:.3g}"
        raise InputError(f"a positive definite matrix for {name}", got, "raise its diagonal")
    if least < SMALLEST_VARIANCE or largest > LARGEST_VARIANCE:
        allowed = f"variances between {SMALLEST_VARIANCE:g} and {LARGEST_VARIANCE:g} for {name}"
        raise InputError(allowed, f"{least:.3g} to {largest:.3g}", "rescale x")
    return entry


def problem_of(mixture: Mixture, weights: Any, activation: object = "sigmoid") -> MixtureProblem:
    """A checked teacher on a mixture."""
    matrix = check_matrix(weights, "teacher weights", rows=mixture.dimension)
    if np.max(np.abs(matrix)) > LARGEST_WEIGHT:
        got = f"{np.max(np.abs(matrix)):g}"
        raise InputError(f"teacher weights of at most {LARGEST_WEIGHT:g}", got, "such a teacher is a step function")
    return MixtureProblem(mixture, matrix, check_activation(activation))


def is_symmetric(mixture: Mixture, tolerance: float = 1e-9) -> bool:
    """Whether x and -x have one distribution (Li et al. 2022, eq 16): every group has a mirror image.

    Q_2 vanishes then, because phi'' is odd.
    """
    scale = max(1.0, float(np.max(mixture.mean_lengths)), float(np.max(mixture.spread)) ** 2)

    def share_at(mean: FloatArray, covariance: FloatArray) -> float:
        """Groups that coincide act as one, so their fractions are added."""
        return sum(
            float(part)
            for part, other, spread in zip(mixture.fractions, mixture.means, mixture.covariances, strict=True)
            if np.max(np.abs(other - mean)) <= tolerance * scale
            and np.max(np.abs(spread - covariance)) <= tolerance * scale
        )

    groups = zip(mixture.means, mixture.covariances, strict=True)
    return all(abs(share_at(mean, spread) - share_at(-mean, spread)) <= tolerance for mean, spread in groups)
