"""A mixture from data: moments where the group of every example is known, expectation maximisation where it is not.

Footnote 2 of the paper: EM finds the parameters at rate (d/n)^{1/2} when the number of groups is known, and at
(d/n)^{1/4} when it is set too high. The goodness of fit is the mean log-likelihood in bits per dimension (Li et al.
2024, Section F).
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.mixture_density import log_density
from lopsided.core.mixture_spec import Mixture
from lopsided.core.validation import FloatArray, check_count, check_labels, check_matrix

MOST_ITERATIONS = 1000
COLLAPSED = 1e-2  # EM's own floor on unit-variance features is 1e-3 (variance 1e-6); real groups are far wider


@dataclass(frozen=True)
class MixtureEstimate:
    """The estimated mixture with how it was found. `criterion` is BIC by number of groups, where several were tried;
    `declined` says which numbers of groups were refused and why."""

    mixture: Mixture
    bits_per_dimension: float
    method: str
    converged: bool
    iterations: int
    criterion: dict[int, float] = field(default_factory=dict)
    declined: dict[int, str] = field(default_factory=dict)


def bits_per_dimension(features: FloatArray, mixture: Mixture) -> float:
    """Mean log2 density over d: larger is a better fit."""
    return float(log_density(features, mixture).mean() / np.log(2.0) / mixture.dimension)


def estimate_by_moments(features: FloatArray, groups: ArrayLike) -> MixtureEstimate:
    """Fractions, means and covariances of known groups; each needs more members than dimensions."""
    matrix = check_matrix(features, "features")
    codes, names = check_labels(groups, "groups", length=len(matrix))
    counts = np.bincount(codes, minlength=len(names))
    dimension = matrix.shape[1]
    if counts.min() <= dimension:
        least = int(counts.argmin())
        expected = f"more than {dimension} members in every group"
        got = f"{int(counts[least])} in group {names[least]}"
        raise InputError(expected, got, "merge small groups or use fewer features")
    means = np.array([matrix[codes == code].mean(axis=0) for code in range(len(names))])
    covariances = np.array([np.atleast_2d(np.cov(matrix[codes == code].T)) for code in range(len(names))])
    _check_definite(covariances, names)
    mixture = Mixture(counts / counts.sum(), means, covariances)
    return MixtureEstimate(mixture, bits_per_dimension(matrix, mixture), "moments", True, 0)


def estimate_by_em(
    features: FloatArray,
    groups: int | Sequence[int] = (1, 2, 3, 4, 5, 6),
    *,
    seed: int = 0,
    starts: int = 3,
    tolerance: float = 1e-5,
) -> MixtureEstimate:
    """EM with full covariances; among several numbers of groups the one with the least BIC is taken.

    Where a group shrinks onto repeated rows its likelihood has no bound, so that number of groups is declined (a single
    number: refused): some direction of the group is narrower than COLLAPSED times that of all data.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    matrix = check_matrix(features, "features")
    asked = [groups] if isinstance(groups, int) else list(groups)
    numbers = [check_count(entry, "the number of groups") for entry in asked]
    if len(matrix) < 2 * max(numbers):
        raise InputError(f"at least {2 * max(numbers)} rows", len(matrix), "give more data or fewer groups")
    best, criterion = None, {}
    declined: dict[int, str] = {}
    overall = np.atleast_2d(np.cov(matrix.T))
    for number in numbers:
        limits = {"tol": tolerance, "max_iter": MOST_ITERATIONS}
        model = GaussianMixture(number, n_init=starts, random_state=seed, **limits)  # full covariances
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # reported as `converged` instead
            try:
                model.fit(matrix)
            except ValueError as error:
                expected = f"data that {number} Gaussian groups can fit"
                raise InputError(expected, str(error).split(".")[0], "use fewer groups or features") from None
        narrowest = _narrowest(model.covariances_, overall)
        if narrowest < COLLAPSED:
            declined[number] = f"a group shrank onto repeated rows: {narrowest:.1e} of the data's deviation"
            continue
        criterion[number] = float(model.bic(matrix))
        if best is None or criterion[number] < criterion[best.n_components]:
            best = model
    if best is None:
        number, reason = next(iter(declined.items()))
        raise InputError(f"data that {number} Gaussian groups can fit", reason, "use fewer groups or other features")
    covariances = (best.covariances_ + best.covariances_.transpose(0, 2, 1)) / 2
    mixture = Mixture(best.weights_ / best.weights_.sum(), best.means_, covariances)
    fit, how = bits_per_dimension(matrix, mixture), "expectation maximisation"
    return MixtureEstimate(mixture, fit, how, bool(best.converged_), int(best.n_iter_), criterion, declined)


def _narrowest(covariances: FloatArray, overall: FloatArray) -> float:
    """The smallest deviation of any group in any direction, over that of all data in the same direction."""
    from scipy.linalg import eigh

    least = min(float(eigh(covariance, overall, eigvals_only=True)[0]) for covariance in covariances)
    return float(np.sqrt(max(least, 0.0)))


def balanced_location(
    features: FloatArray, start: FloatArray, *, steps: int = 5000, tolerance: float = 1e-9
) -> FloatArray:
    """EM for theta in (1/2) N(theta, I) + (1/2) N(-theta, I): theta <- mean of x tanh(theta^T x).

    The model of the analyses that footnote 2 cites for too many groups: fitted to one Gaussian, theta tends to 0 as
    (d/n)^{1/4}. It stops when a step is shorter than `tolerance`.
    """
    theta = np.array(start, dtype=np.float64)
    for _ in range(steps):
        after = features.T @ np.tanh(features @ theta) / len(features)
        if float(np.linalg.norm(after - theta)) <= tolerance:
            return np.asarray(after)
        theta = after
    return theta


def _check_definite(covariances: FloatArray, names: Sequence[str]) -> None:
    for name, covariance in zip(names, covariances, strict=True):
        least, largest = np.linalg.eigvalsh(covariance)[[0, -1]]
        if least <= 1e-12 * largest:
            got = f"smallest eigenvalue {least:.2g}"
            raise InputError(f"a positive definite covariance in group {name}", got, "drop constant features")
