"""Errors of what was learned from a mixture: the risk of a network per group, and the errors of estimated groups.

The population risk is reported as label entropy and excess separately:

    test cross entropy = E[entropy of H(W*, x)] + E[KL(H(W*, x) | H(W, x))].

The excess is averaged directly, never as a difference of two risks, so its error is relative to itself. Estimated
groups are matched to the true ones; extra components are assigned to the nearest true group.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lopsided.core.activation import Activation, log_value
from lopsided.core.mixture_spec import Mixture, MixtureProblem
from lopsided.core.validation import FloatArray


@dataclass(frozen=True)
class GroupRisk:
    """Means over a group's test points, in nats; their sum is the test loss that the paper's figures plot."""

    entropy: float
    excess: float


@dataclass(frozen=True)
class PopulationRisk:
    """Entropy and excess of every group, and of the mixture, in nats."""

    entropy: list[float]
    excess: list[float]
    average_entropy: float
    average_excess: float


def population_risk(weights: FloatArray, problem: MixtureProblem, tests: Sequence[FloatArray]) -> PopulationRisk:
    """Risk of `weights` on test points of every group."""
    rows = [group_risk(weights, problem.weights, points, problem.activation) for points in tests]
    entropy, excess, share = [row.entropy for row in rows], [row.excess for row in rows], problem.mixture.fractions
    return PopulationRisk(entropy, excess, float(share @ entropy), float(share @ excess))


def group_risk(
    weights: FloatArray, teacher: FloatArray, features: FloatArray, activation: Activation = "sigmoid"
) -> GroupRisk:
    """Risk of `weights` on points of one group whose labels follow `teacher`."""
    true_yes, true_no = _log_chances(teacher, features, activation)
    yes, no = _log_chances(weights, features, activation)
    entropy = -(np.exp(true_yes) * true_yes + np.exp(true_no) * true_no)
    excess = np.exp(true_yes) * (true_yes - yes) + np.exp(true_no) * (true_no - no)
    return GroupRisk(float(entropy.mean()), float(excess.mean()))


def _log_chances(weights: FloatArray, features: FloatArray, activation: Activation) -> tuple[FloatArray, FloatArray]:
    from scipy.special import logsumexp

    z, shift = features @ weights, np.log(weights.shape[1])
    return (
        np.asarray(logsumexp(log_value(z, activation), axis=1) - shift),
        np.asarray(logsumexp(log_value(-z, activation), axis=1) - shift),
    )


@dataclass(frozen=True)
class MixtureDistance:
    """Euclidean errors of fractions, means and covariances, each the root of the summed squares over true groups."""

    fractions: float
    means: float
    covariances: float


def mixture_distance(estimate: Mixture, truth: Mixture) -> MixtureDistance:
    """Match estimated to true groups (Hungarian when as many, nearest mean otherwise) and measure.

    With too many components `means` and `covariances` are weighted by the estimated fractions (a Wasserstein distance
    between mixing measures, to which the n^{-1/4} rate refers).
    """
    from scipy.optimize import linear_sum_assignment

    gap = np.linalg.norm(estimate.means[:, None] - truth.means[None], axis=2)
    if estimate.groups == truth.groups:
        rows, columns = linear_sum_assignment(gap)
        order = rows[np.argsort(columns)]
        parts = ("fractions", "means", "covariances")
        gaps = [getattr(estimate, part)[order] - getattr(truth, part) for part in parts]
        return MixtureDistance(*(float(np.linalg.norm(gap)) for gap in gaps))
    nearest = gap.argmin(axis=1)
    shares = np.bincount(nearest, weights=estimate.fractions, minlength=truth.groups)
    squared = np.square(estimate.covariances - truth.covariances[nearest]).sum(axis=(1, 2))
    return MixtureDistance(
        float(np.linalg.norm(shares - truth.fractions)),
        float(np.sqrt(estimate.fractions @ np.square(gap.min(axis=1)))),
        float(np.sqrt(estimate.fractions @ squared)),
    )
