"""The one-hidden-layer network of the mixture papers: loss, gradient and Hessian in closed form.

H(W, x) = (1/K) sum_j phi(w_j^T x) is P(y = 1 | x) (eq 1); the loss is the mean cross entropy f_n (eq 2-3). W is (d, K).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.activation import Activation, check_activation, log_value
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, check_finite, check_matrix

FEW_FEATURES = 24  # up to here compiled sums beat matrix products on weighted copies of the features
HESSIAN_BLOCK = 2048  # samples whose weighted copy stays in the second-level cache
_CODES: dict[Activation, int] = {"sigmoid": 0, "tanh": 1, "erf": 2}


@dataclass(frozen=True)
class TrainingSet:
    """Features transposed (d, n) and signs 2y - 1, checked once so that the loops need not."""

    features: FloatArray
    signs: FloatArray
    code: int
    activation: Activation

    @property
    def count(self) -> int:
        """n."""
        return int(self.signs.shape[0])

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.features.shape[0])


def training_set(features: ArrayLike, labels: ArrayLike, activation: object = "sigmoid") -> TrainingSet:
    """Check features (n, d) and labels 0 or 1 (n,)."""
    matrix = check_matrix(features, "features")
    answers = np.asarray(labels, dtype=np.float64)
    if answers.shape != (matrix.shape[0],):
        raise InputError(f"{matrix.shape[0]} labels", f"shape {answers.shape}")
    if not np.all((answers == 0) | (answers == 1)):
        raise InputError("labels 0 or 1", "other values", "code the two classes as 0 and 1")
    kind = check_activation(activation)
    return TrainingSet(np.ascontiguousarray(matrix.T), 2.0 * answers - 1.0, _CODES[kind], kind)


def check_weights(weights: ArrayLike, data: TrainingSet) -> FloatArray:
    """A finite (d, K) matrix, contiguous and safe to change."""
    matrix = check_matrix(weights, "weights", rows=data.dimension)
    return np.array(matrix, dtype=np.float64, order="C")


def loss(weights: ArrayLike, data: TrainingSet) -> float:
    """f_n(W)."""
    return loss_and_gradient(weights, data)[0]


def loss_and_gradient(weights: ArrayLike, data: TrainingSet) -> tuple[float, FloatArray]:
    """f_n(W) and its gradient (d, K)."""
    from lopsided.learners.teacher_student_kernels import loss_terms

    matrix = check_weights(weights, data)
    first = np.empty((matrix.shape[1], data.count))
    value = loss_terms(data.features, data.signs, matrix, data.code, first, first, False)
    return float(value), data.features @ first.T / data.count


@dataclass(frozen=True)
class LocalModel:
    """f_n at one W: loss, gradient (d, K), and the Hessian, which is computed only on demand."""

    loss: float
    gradient: FloatArray
    first: FloatArray
    second: FloatArray
    data: TrainingSet

    def hessian(self, *, single: bool = False) -> FloatArray:
        """(K d, K d); row j d + a belongs to W[a, j].

        `single` multiplies in float32 where there are many features, which is twice as fast; sums over blocks stay in
        float64, and the relative error of the matrix is about 1e-7.
        """
        neurons, dimension = self.first.shape[0], self.data.dimension
        pairs = [(j, k) for j in range(neurons) for k in range(j + 1)]
        total = np.zeros((len(pairs), dimension, dimension))
        if dimension <= FEW_FEATURES:
            from lopsided.learners.teacher_student_kernels import add_hessian

            add_hessian(self.data.features, self.first, self.second, total)
            total += np.tril(total, -1).transpose(0, 2, 1)
        else:
            for start in range(0, self.data.count, HESSIAN_BLOCK):
                block = slice(start, start + HESSIAN_BLOCK)
                rows: Any = self.data.features[:, block].astype(np.float32 if single else np.float64, copy=False)
                for index, (j, k) in enumerate(pairs):
                    curvature = self.first[j, block] * self.first[k, block]
                    if j == k:
                        curvature -= self.second[j, block]
                    total[index] += (rows * curvature.astype(rows.dtype, copy=False)) @ rows.T
        blocks = total / self.data.count
        hessian = np.empty((neurons, dimension, neurons, dimension))
        for (j, k), block_values in zip(pairs, blocks, strict=True):
            hessian[j, :, k, :] = block_values
            hessian[k, :, j, :] = block_values.T
        return hessian.reshape(neurons * dimension, neurons * dimension)


def local_model(weights: ArrayLike, data: TrainingSet) -> LocalModel:
    """One pass over the data."""
    from lopsided.learners.teacher_student_kernels import loss_terms

    matrix = check_weights(weights, data)
    first, second = np.empty((matrix.shape[1], data.count)), np.empty((matrix.shape[1], data.count))
    value = loss_terms(data.features, data.signs, matrix, data.code, first, second, True)
    return LocalModel(float(value), data.features @ first.T / data.count, first, second, data)


def loss_gradient_hessian(weights: ArrayLike, data: TrainingSet) -> tuple[float, FloatArray, FloatArray]:
    """f_n(W), gradient (d, K) and Hessian (K d, K d)."""
    model = local_model(weights, data)
    return model.loss, model.gradient, model.hessian()


def probability(weights: FloatArray, features: FloatArray, activation: Activation = "sigmoid") -> FloatArray:
    """P(y = 1 | x) for every row of features, from logarithms so that tails keep their digits."""
    from scipy.special import logsumexp

    logs = log_value(features @ weights, activation)
    return np.asarray(np.exp(logsumexp(logs, axis=1) - np.log(weights.shape[1])))


def paper_step(fractions: FloatArray, mean_lengths: FloatArray, spreads: FloatArray, factor: float = 1.0) -> float:
    """eta_0 = c / sum_l lambda_l (|mu_l| + |Sigma_l|^{1/2})^2 (Algorithm 1; c is the constant its O(.) hides)."""
    scale = float(np.sum(fractions * np.square(mean_lengths + spreads)))
    check_finite(np.array([scale]), "the scale of the mixture")
    return factor / scale
