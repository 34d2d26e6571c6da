"""The 2-Layer-Peeled Model (Section 6): z = W2 relu(W1 h) with (|W1|^2 + |W2|^2)/K <= E_W and mean_k |h_k|^2 <= E_H.

The paper writes it down and leaves its patterns open; here it is minimised by descent from many starts.
"""

import math
from dataclasses import dataclass

import numpy as np

from lopsided.core.validation import FloatArray, check_count, check_positive
from lopsided.theory.layer_peeled.nonconvex.lq_features import cross_entropy
from lopsided.theory.layer_peeled.nonconvex.multistart import Blocks, MultiStart, Sphere, minimise


@dataclass(frozen=True)
class TwoLayerSolution:
    """Top layer W2 (K x d), hidden layer W1 (d x p), peeled features H (p x K), activations relu(W1 H) (d x K)."""

    top: FloatArray
    hidden: FloatArray
    features: FloatArray
    activations: FloatArray
    search: MultiStart


def solve_two_layers(
    weights: FloatArray,
    feature_energy: float,
    weight_energy: float,
    *,
    width: int | None = None,
    dimension: int | None = None,
    starts: int = 12,
    seed: int = 0,
) -> TwoLayerSolution:
    """Minimise cross entropy over (W2, W1, H); `weights` are class shares n_k/N."""
    classes = weights.shape[0]
    d = 2 * classes if width is None else check_count(width, "the width")
    p = classes if dimension is None else check_count(dimension, "the feature dimension")
    check_positive(feature_energy, "the feature energy")
    check_positive(weight_energy, "the weight energy")

    def unpack(stacked: FloatArray) -> tuple[FloatArray, FloatArray]:
        flat = stacked.ravel()
        return flat[: classes * d].reshape(classes, d), flat[classes * d :].reshape(d, p)

    def function(blocks: Blocks) -> tuple[float, Blocks]:
        (top, hidden), h = unpack(blocks[0]), blocks[1]
        before = hidden @ h
        active = np.maximum(before, 0.0)
        value, slope = cross_entropy(top @ active, weights)
        back = (top.T @ slope) * (before > 0)
        both = np.concatenate([(slope @ active.T).ravel(), (back @ h.T).ravel()])
        return value, (both[None, :], hidden.T @ back)

    spheres = (
        Sphere((1, classes * d + d * p), math.sqrt(classes * weight_energy)),
        Sphere((p, classes), math.sqrt(classes * feature_energy)),
    )
    search = minimise(function, spheres, starts=starts, seed=seed)
    top, hidden = unpack(search.blocks[0])
    h = search.blocks[1]
    return TwoLayerSolution(top, hidden, h, np.maximum(hidden @ h, 0.0), search)
