"""Softmax-based losses (eq 14) in the Layer-Peeled Model (eq 7): L(z, k) = g1(S(z)_k) + sum_{j != k} g2(S(z)_j).

g1 is convex and not increasing, g2 convex and not decreasing; g1 = -log, g2 = 0 is cross entropy. Theorem 4: with equal
class sizes the simplex frame is a global minimiser if

    sqrt(E_H E_W) > (K-1)/K log(K^2 sqrt(E_H E_W) + (2K-1)(K-1))                              (`energy_condition`)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lopsided.core.validation import FloatArray, check_count, check_positive
from lopsided.theory.layer_peeled.nonconvex.multistart import Blocks, MultiStart, Sphere, minimise

Function = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class SoftmaxLoss:
    """g1, g2 and their derivatives on (0, 1)."""

    name: str
    own: Function
    own_slope: Function
    other: Function
    other_slope: Function


def cross_entropy() -> SoftmaxLoss:
    """g1 = -log x, g2 = 0."""
    return SoftmaxLoss("cross entropy", lambda x: -np.log(x), lambda x: -1.0 / x, np.zeros_like, np.zeros_like)


def power_loss(q: float) -> SoftmaxLoss:
    """g1 = (1-x)^q, g2 = x^q, q > 1: the paper's other example."""
    return SoftmaxLoss(
        f"power {q:g}",
        lambda x: (1 - x) ** q,
        lambda x: -q * (1 - x) ** (q - 1),
        lambda x: x**q,
        lambda x: q * x ** (q - 1),
    )


def energy_condition(classes: int, feature_energy: float, weight_energy: float) -> tuple[bool, float]:
    """Whether Theorem 4 applies, and the slack sqrt(E_H E_W) - its bound."""
    root = math.sqrt(feature_energy * weight_energy)
    bound = (classes - 1) / classes * math.log(classes**2 * root + (2 * classes - 1) * (classes - 1))
    return root > bound, root - bound


@dataclass(frozen=True)
class SoftmaxFamilySolution:
    """Classifiers W, class means H, and whether the theorem speaks about this setting."""

    classifiers: FloatArray
    features: FloatArray
    search: MultiStart
    frame_value: float
    condition_holds: bool
    condition_slack: float


def loss_and_slope(loss: SoftmaxLoss, logits: FloatArray, weights: FloatArray) -> tuple[float, FloatArray]:
    """sum_k f_k L(z_k, k) and its gradient with respect to the K x K logits (column k belongs to class k)."""
    shifted = np.exp(logits - logits.max(axis=0))
    softmax = shifted / shifted.sum(axis=0)
    softmax = np.clip(softmax, 1e-300, None)
    own = np.diag(softmax)
    others = loss.other(softmax)
    np.fill_diagonal(others, 0.0)
    value = float(weights @ (loss.own(own) + others.sum(axis=0)))
    slope = loss.other_slope(softmax)
    np.fill_diagonal(slope, loss.own_slope(own))
    return value, weights * softmax * (slope - (softmax * slope).sum(axis=0))


def simplex_frame(classes: int, dimension: int) -> FloatArray:
    """The K-simplex frame of Definition 1, columns of unit length in R^p, p >= K."""
    frame = np.zeros((dimension, classes))
    frame[:classes] = math.sqrt(classes / (classes - 1)) * (np.eye(classes) - 1.0 / classes)
    return frame


def solve_softmax_family(
    weights: FloatArray,
    feature_energy: float,
    weight_energy: float,
    loss: SoftmaxLoss,
    *,
    dimension: int | None = None,
    starts: int = 8,
    seed: int = 0,
) -> SoftmaxFamilySolution:
    """Minimise the loss over (W, H); `weights` are the class shares n_k/N."""
    classes = weights.shape[0]
    width = classes if dimension is None else check_count(dimension, "the feature dimension")
    check_positive(feature_energy, "the feature energy")
    check_positive(weight_energy, "the weight energy")

    def function(blocks: Blocks) -> tuple[float, Blocks]:
        w, h = blocks
        value, slope = loss_and_slope(loss, w @ h, weights)
        return value, (slope @ h.T, w.T @ slope)

    spheres = (
        Sphere((classes, width), math.sqrt(classes * weight_energy)),
        Sphere((width, classes), math.sqrt(classes * feature_energy)),
    )
    search = minimise(function, spheres, starts=starts, seed=seed)
    gram = np.eye(classes) * classes / (classes - 1) - 1.0 / (classes - 1)
    frame_value, _ = loss_and_slope(loss, math.sqrt(feature_energy * weight_energy) * gram, weights)
    holds, slack = energy_condition(classes, feature_energy, weight_energy)
    w, h = search.blocks
    return SoftmaxFamilySolution(w, h, search, frame_value, holds, slack)
