"""Square matrices A = a P + L R^T: a scalar times the projector P = I - Q Q^T, plus low rank, never formed.

Q (d x q) holds orthonormal directions that A never reaches (Q^T A = 0), L and R (d x r) are thin. Products, traces,
Frobenius and operator norms cost O(d r^2), so d = 10,000 is no trouble. With V an orthonormal basis of the span of Q,
L and R, the matrix acts as V (V^T A V) V^T inside the span and as a times the identity outside it; everything below
follows from that split, and two matrices with the same Q share it on the joint span.
"""

from dataclasses import dataclass

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray

# Q^T L of computed orthonormal bases is of the order of d times machine precision; far above it, far below any signal.
_ORTHOGONALITY = 1e-9


@dataclass(frozen=True)
class FactoredMatrix:
    """A = scale * (I - avoided avoided^T) + left right^T, with avoided^T A = 0."""

    scale: float
    avoided: FloatArray
    left: FloatArray
    right: FloatArray

    def __post_init__(self) -> None:
        d = self.avoided.shape[0]
        if self.left.shape != self.right.shape or self.left.shape[0] != d:
            expected = f"left and right factors of {d} rows and one width"
            got = f"shapes {self.left.shape} and {self.right.shape}"
            raise InputError(expected, got)
        size = float(np.abs(self.left).max(initial=0.0))
        if size and float(np.abs(self.avoided.T @ self.left).max(initial=0.0)) > _ORTHOGONALITY * size * np.sqrt(d):
            expected = "a noise matrix with u_k^T A = 0 for every feature u_k"
            raise InputError(expected, "a left factor that meets a feature", "project it off the features first")

    @property
    def dimension(self) -> int:
        """d, the number of rows and columns."""
        return int(self.avoided.shape[0])

    def apply(self, rows: FloatArray) -> FloatArray:
        """A x for every row x of `rows` (n x d)."""
        result = self.scale * (rows - (rows @ self.avoided) @ self.avoided.T)
        return result + (rows @ self.right) @ self.left.T

    def apply_transposed(self, rows: FloatArray) -> FloatArray:
        """A^T x for every row x of `rows` (n x d)."""
        result = self.scale * (rows - (rows @ self.avoided) @ self.avoided.T)
        return result + (rows @ self.left) @ self.right.T

    def dense(self) -> FloatArray:
        """A as a full d x d matrix; for small d and for tests."""
        return self.apply_transposed(np.eye(self.dimension))

    def singular_values(self) -> tuple[FloatArray, int]:
        """Singular values inside the span, and how many more equal |scale| outside it."""
        basis = joint_span(self)
        inside = np.linalg.svd(basis.T @ self.apply(basis.T).T, compute_uv=False)
        return np.asarray(inside, dtype=np.float64), self.dimension - basis.shape[1]


def joint_span(*matrices: FactoredMatrix) -> FloatArray:
    """An orthonormal basis of everything the matrices treat differently from the identity."""
    stacked = np.hstack([matrices[0].avoided, *[block for A in matrices for block in (A.left, A.right)]])
    left, values, _ = np.linalg.svd(stacked, full_matrices=False)
    return np.asarray(left[:, values > 1e-12 * values[0]] if values.size and values[0] > 0 else left[:, :0])


def product_norms(first: FactoredMatrix, second: FactoredMatrix) -> tuple[float, float]:
    """(|A^T B|_F^2, |A^T B|_op); the first is tr(A A^T B B^T), the second the largest singular value."""
    basis = joint_span(first, second)
    inside = first.apply(basis.T) @ second.apply(basis.T).T  # V^T A^T B V, row i = A v_i against B v_j
    outside = first.scale * second.scale
    rest = first.dimension - basis.shape[1]
    frobenius = float(np.square(inside).sum()) + rest * outside**2
    operator = float(np.linalg.norm(inside, 2)) if inside.size else 0.0
    return frobenius, max(operator, abs(outside) if rest else 0.0)
