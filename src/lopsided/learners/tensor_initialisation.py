"""Tensor initialisation (Li et al. 2022, Subroutine 1): W_0 near W* from the mixture's score tensors, no descent.

    Q_m = E[y S_m(x)]:   Q_1 = (1/K) sum_j E[phi'] w_j,   Q_2 = (1/K) sum_j E[phi''] w_j w_j^T,
    Q_3 = (1/K) sum_j E[phi'''] w_j (x) w_j (x) w_j

Three disjoint parts of the data give the subspace of the neurons, their directions inside it (from Q_3(U, U, U)), and
signs and lengths (from Q_1). Deviations from the text, each for a reason:

* labels enter as y - mean(y): E[S_m] = 0, so the expectation stays and the variance falls;
* eigenvectors are taken by the size of the eigenvalue, not its value: E[phi''] and E[phi'''] are mostly negative;
* subspace "improved" spans Q_1 and, orthogonal to it, the leading eigenvectors of Q_3(I, I, Q_1). Q_1 is by far the
  best estimated tensor, and contracting along it weights the neurons by what is known about them; "paper" uses Q_2, or
  Q_3(I, I, alpha) with a random alpha if the mixture is symmetric and Q_2 = 0;
* eq 17 fits Q_1 with the directions alone, which gives alpha_j = |w_j| E[phi'(w_j^T x)] / K and not |w_j|; the length
  solves r E[phi'(r w^T x)] / K = alpha_j on its rising branch, and is capped where that saturates.

Everything is computed on two halves of each part: their mean is the estimate, and half their distance its error.

The small symmetric tensor T = sum_j x_j (x) x_j (x) x_j is decomposed into linearly independent, not orthogonal,
vectors. The paper employs the KCL algorithm (joint diagonalisation of random contractions). The same idea for two
contractions is Jennrich's: T(., ., a) T(., ., b)^{-1} has the x_j as eigenvectors. Its answers start a least-squares
polish, and the best of several contractions is kept; the tensor is K x K x K with K a handful, so this costs nothing.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from lopsided.core.activation import Activation, slope
from lopsided.core.errors import InputError
from lopsided.core.mixture_density import ScoreMoments
from lopsided.core.mixture_spec import Mixture, is_symmetric
from lopsided.core.validation import FloatArray, check_count, check_matrix
from lopsided.learners.neuron_matching import match_neurons


@dataclass(frozen=True)
class Decomposition:
    """Columns x_j with T close to sum_j x_j^{(x)3}, and |T - that| / |T|."""

    vectors: FloatArray
    residual: float


def decompose(tensor: FloatArray, randomness: np.random.Generator, *, tries: int = 12) -> Decomposition:
    """The best rank-K symmetric decomposition found of a K x K x K tensor."""
    from scipy.optimize import least_squares

    size = tensor.shape[0]
    scale = float(np.linalg.norm(tensor))
    if scale == 0.0:
        return Decomposition(np.zeros((size, size)), float("nan"))
    target, unit = tensor / scale, np.eye(size)

    def residual(flat: FloatArray) -> FloatArray:
        vectors = flat.reshape(size, -1)
        return np.asarray(np.einsum("ar,br,cr->abc", vectors, vectors, vectors) - target).ravel()

    def jacobian(flat: FloatArray) -> FloatArray:
        vectors = flat.reshape(size, -1)
        part = np.einsum("ai,br,cr->abcir", unit, vectors, vectors)
        total = part + part.transpose(1, 0, 2, 3, 4) + part.transpose(1, 2, 0, 3, 4)
        return np.asarray(total.reshape(size**3, -1))

    best, least = np.zeros((size, size)), np.inf
    for attempt in range(tries):
        start = _jennrich(target, randomness) if attempt % 2 == 0 else randomness.standard_normal((size, size)) * 0.6
        fit = least_squares(residual, start.ravel(), jac=jacobian, method="lm")
        if 2.0 * fit.cost < least:
            best, least = fit.x.reshape(size, size), 2.0 * fit.cost
        if least < 1e-24:
            break
    return Decomposition(best * np.cbrt(scale), float(np.sqrt(least)))


def _jennrich(target: FloatArray, randomness: np.random.Generator) -> FloatArray:
    size = target.shape[0]
    first, second = (target @ randomness.standard_normal(size) for _ in range(2))
    _, directions = np.linalg.eig(first @ np.linalg.pinv(second))
    directions = np.real(directions)
    lengths = np.linalg.norm(directions, axis=0)
    directions = directions / np.where(lengths > 0, lengths, 1.0)
    cubes = np.einsum("ar,br,cr->abcr", directions, directions, directions).reshape(size**3, -1)
    strengths = np.linalg.lstsq(cubes, target.ravel(), rcond=None)[0]
    return np.asarray(directions * np.cbrt(strengths))


Subspace = Literal["improved", "paper"]
FORMED_UP_TO = 384  # beyond this dimension d x d matrices cost more than 12 products with a block of K + 4 vectors
CAP = 0.97  # lengths are sought where r E[phi'(r t)] is below this share of its maximum
UNSURE = 0.5  # a relative error beyond this means that the start says little about W*


@dataclass(frozen=True)
class TensorStart:
    """W_0, its estimate of |W_0 - W*| / |W*|, and diagnostics.

    `signal` is the smallest kept eigenvalue of the subspace matrix over its noise (a value near 1 or below: the data do
    not show K separate neurons); `saturated` lists neurons whose length is only known to be at least what is returned.
    """

    weights: FloatArray
    relative_error: float
    signal: float
    residual: float
    saturated: tuple[int, ...]
    symmetric: bool
    identifiable: bool
    warning: str | None


def tensor_start(
    features: FloatArray,
    labels: FloatArray,
    mixture: Mixture,
    neurons: int,
    randomness: np.random.Generator,
    *,
    subspace: Subspace = "improved",
    activation: Activation = "sigmoid",
) -> TensorStart:
    """Estimate W* (d, K) from data and a known or estimated mixture."""
    matrix = check_matrix(features, "features", columns=mixture.dimension)
    width = check_count(neurons, "the number of neurons")
    if width > mixture.dimension:
        raise InputError(f"at most {mixture.dimension} neurons (the dimension)", width)
    if len(matrix) < 12 * width:
        raise InputError(f"at least {12 * width} samples", len(matrix))
    centred = np.asarray(labels, dtype=np.float64) - np.mean(labels)
    order = randomness.permutation(len(matrix))
    pieces = [order[start::6] for start in range(6)]  # three parts in two halves each
    moments = [ScoreMoments(matrix[piece], centred[piece], mixture) for piece in pieces]
    halves = [tuple(moments[part + 3 * half] for part in range(3)) for half in range(2)]

    symmetric = is_symmetric(mixture)
    alpha = randomness.standard_normal(mixture.dimension)
    alpha /= np.linalg.norm(alpha)
    wanted = _Wanted(width, subspace, symmetric, alpha, activation, mixture)
    whole, signal = _estimate([halves[0], halves[1]], wanted, randomness)
    answers = [_estimate([half], wanted, randomness)[0] for half in halves]
    gap = match_neurons(answers[0].weights, answers[1].weights).distance / 2.0
    length = float(np.linalg.norm(whole.weights))
    relative = gap / length if length > 0 else float("inf")
    # If the halves agree with each other but not with the whole, their errors are correlated.
    apart = min(match_neurons(answer.weights, whole.weights).distance for answer in answers)
    relative = max(relative, apart / length / np.sqrt(2.0) if length > 0 else float("inf"))
    identifiable = relative <= UNSURE and signal > 2.0
    warning = None
    if not identifiable:
        warning = (
            f"the tensors do not identify {width} separate neurons (estimated relative error {relative:.2f}, signal "
            f"{signal:.2f} times the noise); use more samples, fewer neurons or another start"
        )
    return TensorStart(
        whole.weights, relative, signal, whole.residual, whole.saturated, symmetric, identifiable, warning
    )


@dataclass(frozen=True)
class _Wanted:
    neurons: int
    subspace: Subspace
    symmetric: bool
    alpha: FloatArray
    activation: Activation
    mixture: Mixture


@dataclass(frozen=True)
class _Answer:
    weights: FloatArray
    residual: float
    saturated: tuple[int, ...]


def _mean(values: list[FloatArray]) -> FloatArray:
    return np.asarray(np.mean(values, axis=0))


def _estimate(
    samples: list[tuple[ScoreMoments, ...]], wanted: _Wanted, randomness: np.random.Generator
) -> tuple[_Answer, float]:
    basis, signal = _subspace([parts[0] for parts in samples], wanted)
    tensor = _mean([parts[1].third_within(basis) for parts in samples])
    split = decompose(tensor, randomness)
    lengths = np.linalg.norm(split.vectors, axis=0)
    directions = split.vectors / np.where(lengths > 0, lengths, 1.0)
    gradient = basis.T @ _mean([parts[2].first() for parts in samples])
    strengths = np.linalg.lstsq(directions, gradient, rcond=None)[0]
    directions = directions * np.where(strengths < 0, -1.0, 1.0)  # alpha_j > 0 fixes the signs
    weights, saturated = np.empty((wanted.mixture.dimension, wanted.neurons)), []
    for j in range(wanted.neurons):
        unit = basis @ directions[:, j]
        size, capped = neuron_length(unit, abs(float(strengths[j])) * wanted.neurons, wanted.mixture, wanted.activation)
        weights[:, j] = size * unit
        if capped:
            saturated.append(j)
    return _Answer(weights, split.residual, tuple(saturated)), signal


def _subspace(samples: list[ScoreMoments], wanted: _Wanted) -> tuple[FloatArray, float]:
    """An orthonormal basis (d, K) and the smallest kept eigenvalue over the noise, seen as the first one left out."""
    count = wanted.neurons
    if wanted.subspace == "improved":
        gradient = _mean([sample.first() for sample in samples])
        lead = gradient / np.linalg.norm(gradient)
        vectors, signal = _leading(samples, lead, count - 1, avoid=lead)
        basis, _ = np.linalg.qr(np.column_stack([lead, vectors]))
        return np.asarray(basis), signal
    return _leading(samples, wanted.alpha if wanted.symmetric else None, count, avoid=None)


def _leading(
    samples: list[ScoreMoments], along: FloatArray | None, count: int, avoid: FloatArray | None
) -> tuple[FloatArray, float]:
    """Eigenvectors of Q_3(I, I, along), or of Q_2, with the largest absolute eigenvalues, orthogonal to `avoid`."""
    dimension = samples[0].mixture.dimension
    if count == 0:
        return np.empty((dimension, 0)), float("inf")

    def project(block: FloatArray) -> FloatArray:
        return block if avoid is None else block - np.outer(avoid, avoid @ block)

    if dimension <= FORMED_UP_TO:
        matrix = _mean([sample.second() if along is None else sample.third_along(along) for sample in samples])
        matrix = project(project(matrix).T)
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    else:
        block = np.linalg.qr(np.random.default_rng(0).standard_normal((dimension, count + 4)))[0]
        for _ in range(12):
            block = project(_products(samples, along, project(block)))
            block = np.linalg.qr(block)[0]
        small = block.T @ project(_products(samples, along, project(block)))
        values, inner = np.linalg.eigh((small + small.T) / 2)
        vectors = block @ inner
    order = np.argsort(-np.abs(values))
    noise = abs(values[order[count]]) if count < len(order) and (avoid is None or count < dimension - 1) else 0.0
    signal = abs(values[order[count - 1]]) / noise if noise > 0 else float("inf")
    return np.asarray(vectors[:, order[:count]]), float(signal)


def _products(samples: list[ScoreMoments], along: FloatArray | None, block: FloatArray) -> FloatArray:
    return _mean([s.second_times(block) if along is None else s.third_along_times(along, block) for s in samples])


def neuron_length(
    direction: FloatArray, strength: float, mixture: Mixture, activation: Activation = "sigmoid"
) -> tuple[float, bool]:
    """r with r E[phi'(r direction^T x)] = strength, on the rising branch; whether it was capped at saturation."""
    from scipy.optimize import brentq

    means = mixture.means @ direction
    deviations = np.sqrt(np.einsum("a,lab,b->l", direction, mixture.covariances, direction))

    def response(r: float) -> float:
        return _response(r, mixture.fractions, means, deviations, activation)

    scale = 1.0 / float(np.sqrt(mixture.fractions @ (np.square(means) + np.square(deviations))))
    lengths = scale * np.geomspace(1e-4, 1e3, 60)
    heights = np.array([response(r) for r in lengths])
    top = int(heights.argmax())
    ceiling = CAP * heights[top]
    capped = strength >= ceiling
    target = min(strength, ceiling)
    if target <= heights[0]:
        return float(lengths[0] * target / heights[0]), False  # response is linear in r near 0
    return float(brentq(lambda r: response(r) - target, lengths[0], lengths[top], rtol=1e-10)), capped


def _response(
    r: float, fractions: FloatArray, means: FloatArray, deviations: FloatArray, activation: Activation
) -> float:
    """r E[phi'(r t)], t a mixture of normals, by the trapezoid rule in the variable that keeps the integrand smooth."""
    total = 0.0
    for part, mean, deviation in zip(fractions, means, deviations, strict=True):
        if r * deviation < 1.0:
            z = np.linspace(-9.0, 9.0, 181)
            weight = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) * (z[1] - z[0])
            total += part * r * float(weight @ slope(r * (mean + deviation * z), activation))
        else:  # with v = r t:  integral of phi'(v) p(v / r) dv
            v = np.linspace(-42.0, 42.0, 841)
            density = np.exp(-0.5 * np.square((v / r - mean) / deviation)) / (deviation * np.sqrt(2.0 * np.pi))
            total += part * float(slope(v, activation) @ density) * (v[1] - v[0])
    return total
