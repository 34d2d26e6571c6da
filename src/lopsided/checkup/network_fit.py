"""Fits the network of the mixture papers to features and labels 0 or 1: components, origin, weights.

Features are scaled to unit deviation and reduced to their leading principal components (Li et al. 2024, Appendix G: a
few carry nearly all of the accuracy). The network (1/K) sum_j phi(w_j^T x) has no intercept, so at the mean of the
features it says 1/2, whatever the share of the rarer class. Its origin is therefore put where a logistic regression
with intercept says 1/2: with logit w^T x + b, x becomes x + (b / |w|^2) w. One neuron is then that regression, and no
fit need be worse than the base rate. One that still is gets rejected (`check_entropy`).
"""

from dataclasses import dataclass

import numpy as np

from lopsided.checkup.inputs.feature_space import principal_directions
from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray
from lopsided.learners.teacher_student import TrainingSet, loss, training_set
from lopsided.learners.teacher_student_descent import descend
from lopsided.learners.teacher_student_newton import newton

COMPONENTS, NEURONS = 5, 2
WIDE = 1024  # columns beyond which only the leading directions are found
NEGLIGIBLE = 1e-6  # of the largest deviation: directions below it are copies and sums of other columns
# Weights beyond this, in units of features with unit deviation, mean that labels are separable and no finite W fits
# best.
LARGEST_WEIGHT = 50.0
FARTHEST = 30.0  # deviations from the mean to the origin, where features say nearly nothing about the labels


@dataclass(frozen=True)
class NetworkFit:
    """Features seen from the network's origin, its weights (d, K), how they were found, and the loss in nats."""

    points: FloatArray
    weights: FloatArray
    how: str
    loss: float


def standardised_components(features: FloatArray, components: int) -> tuple[FloatArray, float, int]:
    """Standardised features in their leading principal components, the share of variance kept, and how many directions
    were left out because they hardly vary: constant columns, copies and sums of others."""
    largest = np.abs(features).max(axis=0)
    unit = features / np.where(largest > 0, largest, 1.0)  # squares of very large or small numbers leave the doubles
    deviation = unit.std(axis=0)
    kept = deviation > 1e-12
    if not kept.any():
        raise InputError("features that vary", "constant columns only")
    scaled = (unit[:, kept] - unit[:, kept].mean(axis=0)) / deviation[kept]
    width = scaled.shape[1]
    directions, energy = principal_directions(scaled, width if width <= WIDE else components, 0)
    rank = int((energy > NEGLIGIBLE**2 * energy[0]).sum())
    dropped = features.shape[1] - (rank if width <= WIDE else width)
    if dropped == 0 and rank <= components:
        return scaled, 1.0, 0
    use = min(components, rank)
    leading = directions[:, :use]
    # A direction and its opposite are one; the largest entry is made positive, so that the order of rows says nothing.
    leading = leading * np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(use)])
    return np.asarray(scaled @ leading), float(energy[:use].sum() / width), dropped


def fit_network(features: FloatArray, answers: FloatArray, width: int, seed: int) -> NetworkFit:
    """The best of several Newton runs; where labels are separable, descent stopped early.

    Starts come in pairs W and -W or follow the regression, so that which class counts as 1 does not matter.
    """
    slope, offset = _regression(features, answers)
    length = float(np.linalg.norm(slope)) or 1e-300
    points = features + np.clip(offset / length, -FARTHEST, FARTHEST) * slope / length
    data = training_set(points, answers)
    source = generator(seed, "starts")
    shape = (features.shape[1], width)
    drawn = [source.standard_normal(shape) for _ in range(4)]
    starts = [sign * start for start in drawn[:2] for sign in (1.0, -1.0)]
    starts += [slope[:, None] * (1.0 + 0.3 * spread) for spread in drawn[2:]]
    runs = [newton(data, start, tolerance=1e-9, limit=LARGEST_WEIGHT) for start in starts]
    found = [run for run in runs if run.found and float(np.max(np.abs(run.weights))) < LARGEST_WEIGHT]
    if found:
        best = min(found, key=lambda run: run.loss)
        return NetworkFit(points, best.weights, f"Newton, {len(found)} of {len(starts)} starts converged", best.loss)
    run = descend(data, starts[-1] / max(1.0, length), 4.0 / features.shape[1], 500)
    how = "descent, stopped after 500 steps: no Newton run found a minimum (separable labels, or too many neurons)"
    return NetworkFit(points, run.weights, how, loss(run.weights, data))


def _regression(features: FloatArray, answers: FloatArray) -> tuple[FloatArray, float]:
    """Slope and offset of a logistic regression: the network with one neuron and a constant column."""
    data: TrainingSet = training_set(np.column_stack([features, np.ones(len(features))]), answers)
    weights = newton(data, np.zeros((features.shape[1] + 1, 1)), tolerance=1e-9, limit=LARGEST_WEIGHT).weights[:, 0]
    return np.asarray(weights[:-1]), float(weights[-1])


def check_entropy(entropy: float, answers: FloatArray) -> None:
    """Reject a network that predicts the labels worse than their base rate."""
    share = float(answers.mean())
    base = -share * np.log(share) - (1 - share) * np.log1p(-share)
    if entropy > base:
        raise InputError(
            f"a network that predicts the labels better than their base rate ({base:.3g} nats)",
            f"a label entropy of {entropy:.3g} nats",
            "these features carry too little information about the class, or are far from Gaussian; use other features",
        )
