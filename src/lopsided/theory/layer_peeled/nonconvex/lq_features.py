"""Features held by an l_q energy, mean_k |h_k|_q^q <= E_H (eq 20). Proposition 2: for q != 2 and K >= 3 the simplex
frame is not optimal; q = 2 is the Layer-Peeled Model, whose certified optimum tells how good the descent is."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, softmax

from lopsided.core.validation import FloatArray, check_count, check_positive
from lopsided.theory.layer_peeled.nonconvex.multistart import Blocks, MultiStart, Sphere, minimise


@dataclass(frozen=True)
class LqSolution:
    """Classifiers W (K x p), class means H (p x K) and the search."""

    classifiers: FloatArray
    features: FloatArray
    search: MultiStart


def cross_entropy(logits: FloatArray, weights: FloatArray) -> tuple[float, FloatArray]:
    """sum_k f_k CE(z_k, k) and its gradient; column k belongs to class k."""
    value = -float(weights @ np.diag(log_softmax(logits, axis=0)))
    slope: FloatArray = weights * (softmax(logits, axis=0) - np.eye(weights.shape[0]))
    return value, slope


def solve_lq(
    weights: FloatArray,
    feature_energy: float,
    weight_energy: float,
    q: float,
    *,
    dimension: int | None = None,
    starts: int = 12,
    seed: int = 0,
) -> LqSolution:
    """Minimise cross entropy over (W, H) with an l_q energy on features; `weights` are class shares."""
    classes = weights.shape[0]
    width = classes if dimension is None else check_count(dimension, "the feature dimension")
    check_positive(q, "the exponent q")
    check_positive(feature_energy, "the feature energy")
    check_positive(weight_energy, "the weight energy")

    def function(blocks: Blocks) -> tuple[float, Blocks]:
        w, h = blocks
        value, slope = cross_entropy(w @ h, weights)
        return value, (slope @ h.T, w.T @ slope)

    spheres = (
        Sphere((classes, width), math.sqrt(classes * weight_energy)),
        Sphere((width, classes), (classes * feature_energy) ** (1.0 / q), q),
    )
    search = minimise(function, spheres, starts=starts, seed=seed)
    w, h = search.blocks
    return LqSolution(w, h, search)
