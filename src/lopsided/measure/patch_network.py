"""Measure the quantities of Definition 1 and Lemmas 3 to 7 of Xu and Chen 2025 on a trained two-patch network.

Definition 1, for an example (u_y, xi) with R = {r : <w_{y,r}, xi> > 0}:

    L = <sum_{r in R} w_{y,r}, xi> / |A_y^T sum_{r in R} w_{y,r}|_2

The paper writes the condition up to a constant, Omega(L ...); here the constant is 1, so L is a number of each example.
An example that activates no neuron has L = 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lopsided.core.factored import FactoredMatrix
from lopsided.core.validation import FloatArray, IntArray


def long_tail_levels(
    weights: FloatArray, noise: FloatArray, labels: IntArray, matrices: Sequence[FactoredMatrix]
) -> FloatArray:
    """L of Definition 1 for every example; weights K x m x d."""
    levels = np.zeros(labels.shape[0])
    for k, A in enumerate(matrices):
        members = np.flatnonzero(labels == k)
        if members.size == 0:
            continue
        activations = noise[members] @ weights[k].T
        summed = (activations > 0).astype(np.float64) @ weights[k]
        length = np.linalg.norm(A.apply_transposed(summed), axis=1)
        reached = np.maximum(activations, 0.0).sum(axis=1)
        levels[members] = np.divide(reached, length, out=np.zeros(members.size), where=length > 0)
    return levels


def activated_share(weights: FloatArray, noise: FloatArray, labels: IntArray) -> FloatArray:
    """Lemma 4: the share of the m neurons of its own class that each noise patch activates."""
    share = np.zeros(labels.shape[0])
    for k in range(weights.shape[0]):
        members = np.flatnonzero(labels == k)
        share[members] = (noise[members] @ weights[k].T > 0).mean(axis=1)
    return share


@dataclass(frozen=True)
class WeightSpectrum:
    """Lemma 3 for every class: rank of W_j A_j, its largest singular value, and the one at min{m, d, rank A_j} - n."""

    rank: IntArray
    largest: FloatArray
    tail: FloatArray | None  # None if min{m, d, rank} <= n: the lemma then does not apply


def weight_spectra(weights: FloatArray, matrices: Sequence[FactoredMatrix], examples: int) -> WeightSpectrum:
    """Singular values of W_j A_j (m x d)."""
    K, m, d = weights.shape
    rank, largest, tail = np.zeros(K, dtype=np.int64), np.zeros(K), np.zeros(K)
    position = m
    for k, A in enumerate(matrices):
        values = np.linalg.svd(A.apply_transposed(weights[k]), compute_uv=False)
        rank[k] = int((values > values[0] * max(m, d) * np.finfo(np.float64).eps).sum())
        largest[k] = values[0]
        inside, outside = A.singular_values()
        alive = int((inside > 1e-10 * inside.max()).sum()) + outside
        position = min(m, d, alive) - examples
        tail[k] = values[position - 1] if position >= 1 else np.nan
    return WeightSpectrum(rank, largest, tail if position >= 1 else None)


def own_noise_preference(weights: FloatArray, noise: FloatArray, labels: IntArray) -> FloatArray:
    """Lemma 5: K x K, the mean over training noise patches of class l of sum_r relu(<w_{j,r}, xi>), row j, column l."""
    K = weights.shape[0]
    table = np.zeros((K, K))
    for j in range(K):
        reached = np.maximum(noise @ weights[j].T, 0.0).sum(axis=1)
        table[j] = np.bincount(labels, weights=reached, minlength=K) / np.maximum(np.bincount(labels, minlength=K), 1)
    return table
