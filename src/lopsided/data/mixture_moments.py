"""A mixture of round Gaussian groups from its first three moments, without labels and without a start (Hsu and Kakade
2013, Theorems 1 and 2).

With s^2 = sum_l lambda_l s_l^2 the least eigenvalue of the covariance, v its eigenvector and m the mean,

    M1 = E[x (v^T (x - m))^2]                            = sum_l lambda_l s_l^2 mu_l
    M2 = E[x x^T] - s^2 I                                = sum_l lambda_l mu_l mu_l^T
    M3 = E[x x x] - sum_i (M1 e_i e_i + e_i M1 e_i + e_i e_i M1) = sum_l lambda_l mu_l mu_l mu_l

M2 whitens, one slice of the whitened M3 has the means as eigenvectors, and fractions and variances follow by least
squares. The means must be linearly independent, so it cannot recover two groups at mu and -mu, and a group needs the
same variance in every direction.
"""

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.mixture_spec import Mixture
from lopsided.core.validation import FloatArray, check_count, check_matrix

_DIRECTIONS = 10  # random slices of M3; the one whose eigenvalues lie farthest apart is used
_LEAST = 1e-6  # of the overall variance and of one: what an estimated variance or fraction is lifted to


def spectral_mixture(features: FloatArray, groups: int, randomness: np.random.Generator) -> Mixture:
    """The mixture of `groups` round groups whose first three moments are those of `features` (n, d)."""
    x = check_matrix(features, "the features")
    count, size = x.shape
    wanted = check_count(groups, "the number of groups", at_least=2)
    if size <= wanted:
        raise InputError(f"more than {wanted} columns", size, "the method needs a direction without means")
    mean = x.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(x.T, bias=True))
    noise = float(values[0])
    first = np.asarray(x.T @ np.square((x - mean) @ vectors[:, 0]) / count)
    lengths, directions = np.linalg.eigh(x.T @ x / count - noise * np.eye(size))
    lengths, directions = np.maximum(lengths[-wanted:], 1e-12 * values[-1]), directions[:, -wanted:]
    whitening = directions / np.sqrt(lengths)
    seen = x @ whitening
    third = np.einsum("na,nb,nc->abc", seen, seen, seen, optimize=True) / count
    plane, inner = whitening.T @ first, whitening.T @ whitening
    third -= np.einsum("a,bc->abc", plane, inner) + np.einsum("b,ac->abc", plane, inner)
    third -= np.einsum("c,ab->abc", plane, inner)
    scales, frame = _orthogonal_parts(third, randomness)
    means = (directions * np.sqrt(lengths)) @ frame * scales  # columns
    shares = np.linalg.lstsq(means, mean, rcond=None)[0]
    spreads = np.linalg.lstsq(means * shares, first, rcond=None)[0]
    shares = np.maximum(shares, _LEAST)
    spreads = np.maximum(spreads, _LEAST * float(values.mean()))
    return Mixture(shares / shares.sum(), means.T, spreads[:, None, None] * np.eye(size))


def _orthogonal_parts(third: FloatArray, randomness: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """(scales, columns) with third = sum_l scale_l v_l v_l v_l and orthonormal v_l, from the best of several slices."""
    best: tuple[float, FloatArray, FloatArray] | None = None
    for _ in range(_DIRECTIONS):
        direction = randomness.standard_normal(len(third))
        direction /= np.linalg.norm(direction)
        found, frame = np.linalg.eigh(third @ direction)
        apart = float(np.diff(np.sort(found)).min())
        if best is None or apart > best[0]:
            best = apart, frame, direction
    assert best is not None
    frame = best[1]
    scales = np.einsum("abc,al,bl,cl->l", third, frame, frame, frame)
    return np.asarray(scales), np.asarray(frame)
