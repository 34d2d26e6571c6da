"""The supervised contrastive loss in the Layer-Peeled Model (eq 11-12), for features that have met their class mean.

Balanced (eq 12): with h_{k,i} = h_k and n examples per class the loss is

    sum_k (1/K) [ -|h_k|^2/T + log sum_j exp(h_k . h_j/T) ] + log n

Class-size form: every example of a class weighs alike in the sum and in the denominator,

    sum_k (n_k/N) [ -|h_k|^2/T + log sum_j n_j exp(h_k . h_j/T) ]

T is the temperature (tau in the paper, which is taken here). Theorem 3: balanced, the minimiser is the simplex frame
of length sqrt(E_H). The class-size form is ours; the mean energy is mean_k |h_k|^2 <= E_H.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, softmax

from lopsided.core.validation import FloatArray, check_count, check_positive
from lopsided.theory.layer_peeled.nonconvex.multistart import Blocks, MultiStart, Sphere, minimise


@dataclass(frozen=True)
class ContrastiveSolution:
    """Class means H (p x K), the search, and the value at the simplex frame for comparison."""

    features: FloatArray
    search: MultiStart
    frame_value: float


def contrastive_loss(features: FloatArray, counts: FloatArray, temperature: float) -> tuple[float, FloatArray]:
    """The class-size form and its gradient with respect to H (p x K); equal counts give the balanced form."""
    weights = counts / counts.sum()
    similar = features.T @ features / temperature
    scores = similar + np.log(counts)[None, :]
    value = float(weights @ (logsumexp(scores, axis=1) - np.diag(similar)))
    masses = softmax(scores, axis=1) - np.eye(counts.shape[0])
    slope = weights[:, None] * masses
    gradient: FloatArray = features @ (slope + slope.T) / temperature
    return value, gradient


def solve_contrastive(
    counts: FloatArray,
    feature_energy: float,
    temperature: float = 1.0,
    *,
    dimension: int | None = None,
    starts: int = 8,
    seed: int = 0,
) -> ContrastiveSolution:
    """Minimise the contrastive loss over class means of mean squared length `feature_energy`."""
    classes = counts.shape[0]
    width = classes if dimension is None else check_count(dimension, "the feature dimension")
    check_positive(feature_energy, "the feature energy")
    check_positive(temperature, "the temperature")

    def function(blocks: Blocks) -> tuple[float, Blocks]:
        value, gradient = contrastive_loss(blocks[0], counts, temperature)
        return value, (gradient,)

    sphere = Sphere((width, classes), math.sqrt(classes * feature_energy))
    search = minimise(function, (sphere,), starts=starts, seed=seed)
    cosines = np.eye(classes) * classes / (classes - 1) - 1.0 / (classes - 1)
    eigenvalues, vectors = np.linalg.eigh(feature_energy * cosines)
    frame = (vectors * np.sqrt(np.clip(eigenvalues, 0, None))).T
    frame_value, _ = contrastive_loss(frame, counts, temperature)
    return ContrastiveSolution(search.blocks[0], search, frame_value)
