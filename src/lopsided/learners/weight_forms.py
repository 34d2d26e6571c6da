"""Two exact forms of the learned weights: dense W, or coefficients C with W = W0 + C^T X.

Every gradient of eq (1) is a sum over examples of coefficient times example, so the weights never leave W0 + span(X).
The coefficient form keeps <w_r^(0), x_s> and the Gram matrix <x_s, x_u> of the n examples in use and never touches W:
one step costs 2 m n B operations instead of 4 m d B, and the initial preactivations, the patterns at the start and the
distance from the start need no extra work. The dense form is cheaper if n > 2 d (MNIST).

Points that are watched during a run (`ProbePoints`) are brought up to date when asked for. After updates w_r += sum_s
c_{s,r} x_s the preactivations of probe points x move by <x, x_s> c_{s,r}: P n m operations for n updated examples,
against P d m for a new product with the weights. So updates are stored as long as that is cheaper; after that, the
product is computed.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import dgemm, sgemm

from lopsided.core.validation import IntArray
from lopsided.learners.wide_relu import Array


class ProbePoints:
    """Points (P, d) with their initial preactivations, (P, m), and the present ones on demand."""

    def __init__(self, points: Array, hidden: Array) -> None:
        self._points = points
        self.initial: Array = points @ hidden.T
        self._now = self.initial.copy()
        self._owed: list[tuple[Array, Array]] | None = []  # None: too many to replay

    def owe(self, examples: Array, coefficients: Array) -> None:
        """Remember the update w_r += sum_s coefficients[s, r] examples[s]."""
        if self._owed is None or not len(examples):
            return
        self._owed.append((examples, coefficients))
        if sum(len(rows) for rows, _ in self._owed) > self._points.shape[1]:
            self._owed = None

    def catch_up(self, weights: Callable[[], Array]) -> Array:
        """The present preactivations; `weights` is called only if there are too many pending updates."""
        if self._owed is None:
            self._now = self._points @ weights().T
        else:
            for examples, coefficients in self._owed:
                self._now += (self._points @ examples.T) @ coefficients
        self._owed = []
        return self._now


class DenseWeights:
    """W itself, updated in place by one matrix product per block of steps."""

    def __init__(self, hidden: Array, points: Array) -> None:
        self._initial, self._points = hidden, points
        self._weights = hidden.copy()
        self._multiply = sgemm if hidden.dtype == np.float32 else dgemm

    def preactivations(self, examples: IntArray) -> Array:
        """X_s W^T."""
        return np.asarray(self._points[examples] @ self._weights.T)

    def initial_preactivations(self, examples: IntArray) -> Array:
        """X_s W0^T, computed afresh: the dense form does not keep it."""
        return np.asarray(self._points[examples] @ self._initial.T)

    def gram(self, rows: IntArray, columns: IntArray) -> Array:
        """X_s X_u^T."""
        return np.asarray(self._points[rows] @ self._points[columns].T)

    def add(self, examples: IntArray, coefficients: Array) -> None:
        """W^T += X_s^T C in place; transposes are views, so BLAS gets columns without a copy."""
        self._multiply(1.0, self._points[examples].T, coefficients.T, 1.0, self._weights.T, trans_b=1, overwrite_c=1)

    def dense(self) -> Array:
        """A copy."""
        return self._weights.copy()


class CoefficientWeights:
    """C, (n, m), with the initial preactivations and the Gram matrix; rows in the order of first use.

    Rows beyond the last example used so far are zero and stay out of the products, which halves a single pass.
    """

    def __init__(self, hidden: Array, points: Array) -> None:
        self._hidden, self._points = hidden, points
        self._initial: Array = points @ hidden.T
        self._gram: Array = points @ points.T
        self._coefficients = np.zeros_like(self._initial)
        self._used = 0

    def preactivations(self, examples: IntArray) -> Array:
        """Z0_s + K_{s,used} C_used."""
        values = self._initial[examples]
        if self._used:
            values += self._gram[examples, : self._used] @ self._coefficients[: self._used]
        return np.asarray(values)

    def initial_preactivations(self, examples: IntArray) -> Array:
        """Z0_s."""
        return np.asarray(self._initial[examples])

    def gram(self, rows: IntArray, columns: IntArray) -> Array:
        """K_{s,u}."""
        return np.asarray(self._gram[np.ix_(rows, columns)])

    def add(self, examples: IntArray, coefficients: Array) -> None:
        """C_s += coefficients."""
        for example, row in zip(examples, coefficients, strict=True):  # a block may meet an example twice
            self._coefficients[example] += row
        self._used = max(self._used, int(examples.max()) + 1)

    def dense(self) -> Array:
        """W0 + C^T X."""
        return np.asarray(self._hidden + self._coefficients[: self._used].T @ self._points[: self._used])


# The interface that a descent needs from the weights. Examples are given by their position in the order of first use,
# and one may occur more than once in an update.
WeightForm = DenseWeights | CoefficientWeights
