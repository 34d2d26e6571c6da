"""Count, mean and scatter S_k = sum_i (x_i - mean_k)(x_i - mean_k)^T of every class, from blocks of any size.

Blocks are centred on their own mean and merged by the update of Chan, Golub and LeVeque,

    S = S_a + S_b + (n_a n_b / (n_a + n_b)) delta delta^T,   delta = mean_b - mean_a,

so nothing cancels, float32 input is accumulated in float64, examples can be added at any time, and moments from several
machines can be merged.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray, FloatArray, IntArray, check_finite

Convention = Literal["n", "n-1"]
Block = tuple[NDArray[np.floating], IntArray]  # rows (b x d) and their class codes (b)
MOST_BYTES = 1_500_000_000
LARGEST_FEATURE, SMALLEST_FEATURE = 1e60, 1e-60  # sums of fourth powers stay finite for any data that fit on a disk


@dataclass
class ClassMoments:
    """Moments of K classes in d dimensions; `add` takes more examples."""

    counts: IntArray  # K
    means: FloatArray  # K x d
    scatters: FloatArray  # K x d x d

    @property
    def classes(self) -> int:
        """K."""
        return int(self.counts.shape[0])

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.means.shape[1])

    def add(self, rows: NDArray[np.floating], codes: IntArray) -> None:
        """Add more examples; float32 and integers are converted block by block."""
        check_block(rows, codes, self.classes, self.dimension)
        for k, members in split_by_class(codes):
            own = rows_at(rows, members).astype(np.float64, copy=False)
            mean = own.mean(axis=0)
            own -= mean
            self._merge(k, len(members), mean, own.T @ own)

    def merge(self, other: "ClassMoments") -> None:
        """Add the moments of other examples of the same classes."""
        if other.means.shape != self.means.shape:
            expected = f"moments of shape {self.means.shape}"
            raise InputError(expected, other.means.shape)
        for k in range(self.classes):
            if other.counts[k]:
                self._merge(k, int(other.counts[k]), other.means[k], other.scatters[k])

    def _merge(self, k: int, count: int, mean: FloatArray, scatter: FloatArray) -> None:
        before = int(self.counts[k])
        total = before + count
        delta = mean - self.means[k]
        self.scatters[k] += scatter
        if before:
            self.scatters[k] += np.outer(delta * (before * count / total), delta)
        self.means[k] += delta * (count / total)
        self.counts[k] = total


def empty_moments(classes: int, dimension: int) -> ClassMoments:
    """Moments of no examples yet; K d^2 numbers must fit into `MOST_BYTES`."""
    needed = 8 * classes * dimension * dimension
    if needed > MOST_BYTES:
        raise InputError(
            f"covariance matrices of at most {MOST_BYTES / 1e9:.1f} GB",
            f"{classes} classes x {dimension} columns squared, {needed / 1e9:.1f} GB",
            "reduce the columns first, or leave out what compares the covariances of classes (the noise matrix)",
        )
    return ClassMoments(
        np.zeros(classes, dtype=np.int64), np.zeros((classes, dimension)), np.zeros((classes, dimension, dimension))
    )


def moments_of_blocks(blocks: Iterable[Block], classes: int, dimension: int) -> ClassMoments:
    """One pass over blocks of examples."""
    moments = empty_moments(classes, dimension)
    for rows, codes in blocks:
        moments.add(rows, codes)
    return moments


def split_by_class(codes: IntArray) -> Iterator[tuple[int, IntArray]]:
    """(class, positions of its members in order) for every class that occurs."""
    if not codes.size:
        return
    short = codes.astype(np.int16) if codes.max() < 1 << 15 else codes  # NumPy sorts 16 bits by counting
    order = np.argsort(short, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    for members in np.split(order, starts):
        yield int(codes[members[0]]), members


def rows_at(rows: NDArray[np.floating], index: IntArray | BoolArray) -> NDArray[np.floating]:
    """A copy of some rows, columns whole in memory if they were so."""
    return rows.T[:, index].T if rows.flags.f_contiguous else rows[index]


def flat_rows(features: ArrayLike) -> NDArray[np.floating]:
    """n x d from n x anything: images are flattened."""
    array = np.asarray(features)
    if array.dtype.kind not in "biuf" or array.ndim < 2 or array.size == 0:
        expected = "a non-empty array of numbers, one row per example"
        got = f"shape {array.shape} of type {array.dtype}"
        raise InputError(expected, got, "give features as n x d, or images as n x height x width")
    return np.reshape(array, (array.shape[0], -1))


def check_convention(convention: Convention) -> None:
    """Covariances divided by n or by n-1."""
    if convention not in ("n", "n-1"):
        raise InputError("the covariance convention n or n-1", repr(convention))


def check_block(rows: NDArray[np.floating], codes: IntArray, classes: int, dimension: int) -> None:
    """Shapes that belong together, codes in range, finite numbers."""
    if rows.ndim != 2 or rows.shape[1] != dimension or codes.shape != rows.shape[:1]:
        expected = f"examples of {dimension} columns and one class code each"
        got = f"shapes {rows.shape} and {codes.shape}"
        raise InputError(expected, got)
    if codes.size and (codes.min() < 0 or codes.max() >= classes):
        raise InputError(f"class codes from 0 to {classes - 1}", f"{codes.min()} to {codes.max()}")
    if rows.dtype.kind == "f" and rows.size:
        largest = float(max(rows.max(), -rows.min()))  # NaN where one is
        if not largest < np.inf:
            check_finite(rows.astype(np.float64), "the features")
        if largest > LARGEST_FEATURE or 0 < largest < SMALLEST_FEATURE:
            expected = f"features between {SMALLEST_FEATURE:g} and {LARGEST_FEATURE:g} in size (fourth powers must fit)"
            raise InputError(expected, f"{largest:g} at most", "rescale them")
