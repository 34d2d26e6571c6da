"""Angles and lengths of class vectors (rows): cosines within and between sets, distance from a simplex frame.

The K-simplex frame (Definition 1) has Gram matrix proportional to I - 11^T/K. The distance of rows A from it, free of
scale and rotation, is

    | A A^T/|A A^T|_F - (I - 11^T/K)/sqrt(K-1) |_F

For a thousand classes, computing the K x K cosines costs more than everything that uses them, so the monitor computes
them once per set of vectors, as `PairwiseAngles`. With unit rows u_k and a set S of n defined rows,

    mean cosine in S = (|sum_S u|^2 - n) / (n (n - 1)),   between S and T = (sum_S u).(sum_T u) / (n_S n_T)

as sums over the matrix; the Gram matrix is A A^T = (l l^T) * cosines with the lengths l, which gives the distance from
a simplex frame and the cosines of the centred vectors without a second product. For more than a few hundred rows, the
products are in single precision: seven digits of a cosine in a third of the time.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray, FloatArray, check_matrix

DOUBLE = 256  # rows up to which products are in double precision
Cosines = NDArray[np.floating]


@dataclass(frozen=True)
class CosineSummary:
    """All pairwise cosines of a set of vectors and their summary; pairs with a zero vector have no angle."""

    values: FloatArray
    mean: float | None
    smallest: float | None
    largest: float | None
    undefined_pairs: int


def cosines(vectors: ArrayLike) -> FloatArray:
    """K x K cosines of the rows; nan where a row is zero."""
    units = unit_rows(check_matrix(vectors, "the vectors"))
    return np.clip(units @ units.T, -1.0, 1.0)


def unit_rows(rows: FloatArray) -> FloatArray:
    """Rows of length 1; nan where a row is zero."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows / np.where(largest > 0, largest, 1.0)  # lengths of 1e-200 or 1e200 do not under- or overflow
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(lengths > 0, lengths, np.nan))


def cosine_summary(vectors: ArrayLike, within: BoolArray | None = None) -> CosineSummary:
    """Cosines of all pairs, or of the pairs `within` a set of the rows."""
    matrix = cosines(vectors)
    classes = matrix.shape[0]
    chosen = np.ones(classes, dtype=bool) if within is None else within
    if chosen.shape != (classes,):
        raise InputError(f"a mask over {classes} classes", f"shape {chosen.shape}")
    inner = matrix[np.ix_(chosen, chosen)]
    values = inner[np.triu_indices(inner.shape[0], 1)]
    defined = values[~np.isnan(values)]
    missing = int(values.size - defined.size)
    if not defined.size:
        return CosineSummary(defined, None, None, None, missing)
    return CosineSummary(defined, float(defined.mean()), float(defined.min()), float(defined.max()), missing)


def frame_distance(vectors: ArrayLike) -> float:
    """Distance of the rows from a simplex frame, between 0 and 2, free of scale and rotation."""
    rows = check_matrix(vectors, "the vectors")
    classes = rows.shape[0]
    if classes < 2:
        raise InputError("at least two vectors", classes)
    largest = float(np.abs(rows).max())
    if largest == 0:
        raise InputError("vectors that are not all zero", "zeros")
    gram = (rows / largest) @ (rows / largest).T
    frame = np.eye(classes) - 1.0 / classes
    return float(np.linalg.norm(gram / np.linalg.norm(gram) - frame / math.sqrt(classes - 1)))


def norm_variation(vectors: ArrayLike) -> float:
    """Standard deviation of the lengths over their mean (Table 1)."""
    rows = check_matrix(vectors, "the vectors")
    largest = float(np.abs(rows).max())
    lengths = np.linalg.norm(rows / largest if largest > 0 else rows, axis=1)
    mean = float(lengths.mean())
    return float(lengths.std() / mean) if mean > 0 else 0.0


@dataclass(frozen=True)
class PairwiseAngles:
    """Cosines of all pairs of rows, nan where a row is 0, and the lengths of the rows."""

    cosines: Cosines  # K x K
    lengths: FloatArray  # K

    @cached_property
    def closest(self) -> tuple[int, int] | None:
        """The pair with the largest cosine, the smaller index first; None where no pair has an angle."""
        classes = len(self.lengths)
        known = np.where(np.isnan(self.cosines), -np.inf, self.cosines)
        known[np.diag_indices(classes)] = -np.inf
        first, second = divmod(int(known.argmax()), classes)
        return None if known[first, second] == -np.inf else (min(first, second), max(first, second))

    @property
    def largest(self) -> float | None:
        """The cosine of the closest pair."""
        return None if self.closest is None else float(self.cosines[self.closest])

    @property
    def of_pairs(self) -> Cosines:
        """Every defined cosine of two different rows, once."""
        values = self.cosines[np.triu(np.ones(self.cosines.shape, dtype=bool), 1)]
        return values[~np.isnan(values)]

    def mean(self, first: BoolArray, second: BoolArray | None = None) -> float | None:
        """Mean over the pairs within `first`, or between `first` and `second`; None without such a pair."""
        a = first & self._defined
        b = a if second is None else second & self._defined
        pairs = int(a.sum()) * int(b.sum()) - (int(a.sum()) if second is None else 0)
        if pairs <= 0:
            return None
        # The products with 0 and 1 are exact; the sum over rows is in double.
        total = float(a.astype(np.float64) @ (self._known @ b.astype(self.cosines.dtype)).astype(np.float64))
        own = float(a @ np.diagonal(self._known).astype(np.float64)) if second is None else 0.0
        return (total - own) / pairs

    def frame_distance(self) -> float | None:
        """| A A^T/|A A^T|_F - (I - 11^T/K)/sqrt(K-1) |_F; None if every row is 0 or there is only one row."""
        classes = len(self.lengths)
        if classes < 2 or not self.lengths.any():
            return None
        gram = self._gram()
        gram /= np.linalg.norm(gram)
        gram += 1 / (classes * math.sqrt(classes - 1))
        gram[np.diag_indices(classes)] -= 1 / math.sqrt(classes - 1)
        return float(np.linalg.norm(gram))

    def centred(self, vectors: FloatArray) -> Cosines:
        """K x K cosines of the vectors minus their mean; `vectors` are those whose angles these are.

        Computed from the Gram matrix G as G_ij - g_i - g_j + g with the means g of its rows, or by a new product if a
        large common part would leave too few digits.
        """
        gram = self._gram()
        rows = gram.mean(axis=0)
        gram -= rows
        gram -= (rows - rows.mean())[:, None]
        squared = np.diagonal(gram).copy()
        if squared.min() < 1e4 * np.finfo(gram.dtype).eps:
            return pairwise_angles(vectors - vectors.mean(axis=0)).cosines
        lengths = np.sqrt(squared)
        gram /= lengths
        gram /= lengths[:, None]
        return np.clip(gram, -1.0, 1.0, out=gram)

    def take(self, rows: BoolArray) -> "PairwiseAngles":
        """Those of some of the rows."""
        return self if rows.all() else PairwiseAngles(self.cosines[np.ix_(rows, rows)], self.lengths[rows])

    def _gram(self) -> Cosines:
        """A A^T, scaled so that the longest row has length 1."""
        scaled = (self.lengths / (float(self.lengths.max()) or 1.0)).astype(self.cosines.dtype)
        return np.asarray(self._known * scaled[:, None] * scaled)

    @cached_property
    def _defined(self) -> BoolArray:
        return np.asarray(~np.isnan(np.diagonal(self.cosines)))

    @cached_property
    def _known(self) -> Cosines:
        return self.cosines if self._defined.all() else np.nan_to_num(self.cosines, nan=0.0)


def pairwise_angles(vectors: ArrayLike) -> PairwiseAngles:
    """Angles of the rows of a matrix."""
    rows = check_matrix(vectors, "the vectors")
    units: Cosines = unit_rows(rows)
    if len(rows) > DOUBLE:
        units = units.astype(np.float32)
    return PairwiseAngles(np.clip(units @ units.T, -1.0, 1.0), np.linalg.norm(rows, axis=1))
