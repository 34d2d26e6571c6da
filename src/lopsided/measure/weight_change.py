"""How far and in how many directions a weight matrix moved (Li and Liang 2018, Sections 6 and 7).

    relative distance  |W - W0|_F / |W0|_F,  per neuron |w_r - w_r^(0)| / |w_r^(0)|
    spectra            singular values of W - W0 and of W, with the effective rank of each

The functions take plain matrices, so they work for any two checkpoints. The paper reads the rank off a plot; here it is
three numbers: the place of the largest ratio between neighbouring singular values, the entropy rank exp(-sum p log p),
p = s/sum s (Roy and Vetterli 2007), and the stable rank |.|_F^2/|.|_2^2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, check_count


@dataclass(frozen=True)
class RelativeDistance:
    """Distance from the start over the length of the start: whole matrix, and each row (NaN where a row began at 0)."""

    frobenius: float
    per_neuron: FloatArray  # (m,)


@dataclass(frozen=True)
class Spectrum:
    """Singular values in descending order, and measures of rank.

    `gap_at` is the r with the largest s_r / s_{r+1} among values above rounding, `gap` that ratio; 0 and 1 where there
    are fewer than two such values.
    """

    values: FloatArray
    gap_at: int
    gap: float
    entropy_rank: float
    stable_rank: float


@dataclass(frozen=True)
class LeadingValues:
    """The largest singular values, each with a bound on its distance to some singular value of the matrix."""

    values: FloatArray
    errors: FloatArray


def relative_distance(initial: ArrayLike, final: ArrayLike) -> RelativeDistance:
    """Compare two weight matrices, rows = neurons."""
    start, end = _matrix(initial), _matrix(final)
    if start.shape != end.shape:
        raise InputError(f"a final matrix of shape {start.shape}", end.shape)
    lengths = np.linalg.norm(start, axis=1).astype(np.float64)
    moved = np.linalg.norm(end - start, axis=1).astype(np.float64)
    return relative_distance_of_lengths(lengths, moved)


def relative_distance_of_lengths(initial: FloatArray, moved: FloatArray) -> RelativeDistance:
    """The same from the lengths of the initial rows and of their displacements."""
    whole = float(np.linalg.norm(initial))
    if whole == 0:
        raise InputError("initial weights other than 0", "0", "a relative distance needs a start to compare with")
    per_neuron = np.divide(moved, initial, out=np.full(len(moved), np.nan), where=initial > 0)
    return RelativeDistance(float(np.linalg.norm(moved)) / whole, per_neuron)


def squared_lengths_after(squared: FloatArray, displaced: ArrayLike, update: ArrayLike, gram: ArrayLike) -> FloatArray:
    """|u_r + sum_s c_{s,r} x_s|^2 = |u_r|^2 + 2 sum_s c_{s,r} <u_r, x_s> + c_r^T G c_r, for every neuron r.

    Follows |w_r - w_r^(0)|^2 through an SGD step without the weights: `displaced` holds <w_r - w_r^(0), x_s> before the
    step, (B, m), `update` the coefficients c of the step, (B, m), and `gram` the <x_s, x_u>, (B, B).
    """
    moves = np.asarray(update, dtype=np.float64)
    cross = np.einsum("sr,sr->r", moves, np.asarray(displaced, dtype=np.float64))
    own = np.einsum("sr,sr->r", moves, np.asarray(gram, dtype=np.float64) @ moves)
    return np.asarray(np.maximum(squared + 2 * cross + own, 0.0))  # rounding can take a zero length below 0


class Travelled:
    """|w_r - w_r^(0)| of every unit, updated step by step from the batches, without a pass over the weights."""

    def __init__(self, initial: ArrayLike) -> None:
        self._start = np.linalg.norm(np.asarray(initial), axis=1).astype(np.float64)
        self._squared = np.zeros(len(self._start))

    def follow(self, displaced: ArrayLike, update: ArrayLike, gram: ArrayLike) -> None:
        """Add a step, as `squared_lengths_after` describes it."""
        self._squared = squared_lengths_after(self._squared, displaced, update, gram)

    @property
    def distances(self) -> FloatArray:
        """(m,)."""
        return np.sqrt(self._squared)

    @property
    def relative(self) -> float:
        """|W - W0|_F / |W0|_F."""
        return relative_distance_of_lengths(self._start, self.distances).frobenius


def spectrum(matrix: ArrayLike) -> Spectrum:
    """Singular values and effective ranks of a matrix."""
    array = _matrix(matrix)
    values = np.linalg.svd(array, compute_uv=False).astype(np.float64)
    floor = values[0] * max(array.shape) * np.finfo(array.dtype).eps  # the usual rank tolerance: below it is rounding
    sound = values[values > floor]
    if not len(sound):
        return Spectrum(values, 0, 1.0, 0.0, 0.0)
    ratios = sound[:-1] / sound[1:]
    share = sound / sound.sum()
    return Spectrum(
        values=values,
        gap_at=int(ratios.argmax()) + 1 if len(ratios) else 0,
        gap=float(ratios.max()) if len(ratios) else 1.0,
        entropy_rank=float(np.exp(-(share * np.log(share)).sum())),
        stable_rank=float((sound**2).sum() / sound[0] ** 2),
    )


def leading_values(
    matrix: ArrayLike, count: int, rng: np.random.Generator, *, powers: int = 3, spare: int = 10
) -> LeadingValues:
    """The `count` largest singular values by subspace iteration, cheap enough to follow a run.

    Q spans (A A^T)^powers A G for a Gaussian G with `spare` extra columns; the values are those of Q^T A. With u_i = Q
    times its left vectors, |A^T u_i - s_i v_i| is 0 and |A v_i - s_i u_i| bounds the distance from s_i to a singular
    value of A (Weyl, for the symmetric matrix [[0, A], [A^T, 0]]).
    """
    array = _matrix(matrix)
    wanted = min(check_count(count, "the number of singular values"), *array.shape)
    basis = array @ rng.standard_normal((array.shape[1], min(wanted + spare, *array.shape))).astype(array.dtype)
    for _ in range(powers):
        basis = array @ (array.T @ np.linalg.qr(basis)[0])
    basis = np.linalg.qr(basis)[0]
    left, values, right = np.linalg.svd(basis.T @ array, full_matrices=False)
    left = basis @ left[:, :wanted]
    residuals = array @ right[:wanted].T - left * values[:wanted]
    return LeadingValues(values[:wanted].astype(np.float64), np.linalg.norm(residuals, axis=0).astype(np.float64))


def _matrix(value: ArrayLike) -> NDArray[Any]:
    array = np.asarray(value)
    if array.dtype.kind in "iub":
        array = array.astype(np.float64)
    if array.ndim != 2 or not array.size or array.dtype.kind != "f" or not np.isfinite(array).all():
        got = f"type {array.dtype}, shape {array.shape}"
        raise InputError("a matrix of finite weights, one row per neuron", got)
    return array
