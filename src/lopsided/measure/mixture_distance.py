"""How far an estimated mixture is from the true one, groups matched; components too many are charged to the nearest
truth."""

from dataclasses import dataclass

import numpy as np

from lopsided.core.mixture_spec import Mixture


@dataclass(frozen=True)
class MixtureDistance:
    """Euclidean errors of fractions, means and covariances, each the root of the summed squares over true groups."""

    fractions: float
    means: float
    covariances: float
    worst_mean: float


def mixture_distance(estimate: Mixture, truth: Mixture) -> MixtureDistance:
    """Match estimated to true groups (Hungarian when as many, nearest mean otherwise) and measure.

    With too many components `means` and `covariances` are weighted by the estimated fractions (a Wasserstein distance
    between mixing measures, which is what the n^{-1/4} rate speaks of); `worst_mean` is the largest unweighted error.
    """
    from scipy.optimize import linear_sum_assignment

    gap = np.linalg.norm(estimate.means[:, None] - truth.means[None], axis=2)
    if estimate.groups == truth.groups:
        rows, columns = linear_sum_assignment(gap)
        order = rows[np.argsort(columns)]
        return MixtureDistance(
            float(np.linalg.norm(estimate.fractions[order] - truth.fractions)),
            float(np.linalg.norm(estimate.means[order] - truth.means)),
            float(np.linalg.norm(estimate.covariances[order] - truth.covariances)),
            float(gap[order, np.arange(truth.groups)].max()),
        )
    nearest = gap.argmin(axis=1)
    shares = np.bincount(nearest, weights=estimate.fractions, minlength=truth.groups)
    squared = np.square(estimate.covariances - truth.covariances[nearest]).sum(axis=(1, 2))
    closest = gap.min(axis=1)
    return MixtureDistance(
        float(np.linalg.norm(shares - truth.fractions)),
        float(np.sqrt(estimate.fractions @ np.square(closest))),
        float(np.sqrt(estimate.fractions @ squared)),
        float(closest.max()),
    )
