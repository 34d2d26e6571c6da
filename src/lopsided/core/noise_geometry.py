"""What Theorem 1 and Condition 1 of Xu and Chen 2025 need to know of the noise matrices A_1 ... A_K, no more."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lopsided.core.factored import FactoredMatrix, product_norms
from lopsided.core.validation import FloatArray, IntArray

# A singular value below this share of the largest is zero for rank and lambda_min^+.
_ZERO = 1e-10


@dataclass(frozen=True)
class NoiseGeometry:
    """Norms of the products A_i^T A_j (K x K) and the spectra of the A_k (K each)."""

    squared_frobenius: FloatArray
    operator: FloatArray
    trace: FloatArray  # Tr(A_k^T A_k)
    largest: FloatArray  # lambda_max^+(A_k)
    smallest: FloatArray  # lambda_min^+(A_k)
    rank: IntArray
    dimension: int

    @property
    def classes(self) -> int:
        """K."""
        return int(self.trace.shape[0])

    def ratios(self, sizes: FloatArray) -> FloatArray:
        """Gamma_{k,j} = |S_k| |A_k^T A_k|_F^2 / (|S_j| |A_k^T A_j|_F^2) of Theorem 1.2(b); 1 on the diagonal."""
        own = sizes * np.diag(self.squared_frobenius)
        return np.asarray(own[:, None] / (sizes[None, :] * self.squared_frobenius))


def weakest(ratios: FloatArray) -> FloatArray:
    """min_{j != k} of every row k: against the class that disturbs it most."""
    others = ratios.copy()
    np.fill_diagonal(others, np.inf)
    return np.asarray(others.min(axis=1))


def noise_geometry(matrices: Sequence[FactoredMatrix]) -> NoiseGeometry:
    """Measure the noise matrices, factored as they are."""
    K = len(matrices)
    squared, operator = np.zeros((K, K)), np.zeros((K, K))
    for i in range(K):
        for j in range(i, K):
            squared[i, j], operator[i, j] = product_norms(matrices[i], matrices[j])
            # |A_j^T A_i| is the transpose's norm: the same number.
            squared[j, i], operator[j, i] = squared[i, j], operator[i, j]
    trace, largest, smallest, rank = np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K, dtype=np.int64)
    for k, A in enumerate(matrices):
        values, outside = A.singular_values()
        if outside:
            values = np.append(values, abs(A.scale))
        repeats = np.append(np.ones(values.size - 1), outside) if outside else np.ones(values.size)
        alive = values > _ZERO * values.max()
        trace[k] = float(np.sum(repeats * values**2))
        largest[k], smallest[k] = values.max(), values[alive].min() if alive.any() else 0.0
        rank[k] = int(repeats[alive].sum())
    return NoiseGeometry(squared, operator, trace, largest, smallest, rank, matrices[0].dimension)
