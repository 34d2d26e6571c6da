"""Decompose a small symmetric tensor, T = sum_j x_j (x) x_j (x) x_j, into linearly independent, not orthogonal,
vectors.

The paper employs the KCL algorithm (joint diagonalisation of random contractions). The same idea for two contractions
is Jennrich's: T(., ., a) T(., ., b)^{-1} has the x_j as eigenvectors. Its answers start a least-squares polish, and
the best of several contractions is kept; the tensor is K x K x K with K a handful, so this costs nothing.
"""

from dataclasses import dataclass

import numpy as np

from lopsided.core.validation import FloatArray


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
    target = tensor / scale
    best, least = np.zeros((size, size)), np.inf
    for attempt in range(tries):
        start = _jennrich(target, randomness) if attempt % 2 == 0 else randomness.standard_normal((size, size)) * 0.6
        fit = least_squares(
            lambda flat: _residual(flat, target), start.ravel(), jac=lambda flat: _jacobian(flat, size), method="lm"
        )
        if 2.0 * fit.cost < least:
            best, least = fit.x.reshape(size, size), 2.0 * fit.cost
        if least < 1e-24:
            break
    return Decomposition(best * np.cbrt(scale), float(np.sqrt(least)))


def _cubes(vectors: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ar,br,cr->abc", vectors, vectors, vectors))


def _residual(flat: FloatArray, target: FloatArray) -> FloatArray:
    return (_cubes(flat.reshape(target.shape[0], -1)) - target).ravel()


def _jacobian(flat: FloatArray, size: int) -> FloatArray:
    vectors = flat.reshape(size, -1)
    unit = np.eye(size)
    part = np.einsum("ai,br,cr->abcir", unit, vectors, vectors)
    total = part + part.transpose(1, 0, 2, 3, 4) + part.transpose(1, 2, 0, 3, 4)
    return np.asarray(total.reshape(size**3, -1))


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
