"""All cosines of K vectors, taken once and read in several ways.

For a thousand classes the K x K cosines cost more than everything read from them, so the monitor takes them once per
set of vectors. With unit rows u_k and a set S of n defined rows,

    mean cosine in S = (|sum_S u|^2 - n) / (n (n - 1)),   between S and T = (sum_S u).(sum_T u) / (n_S n_T)

as sums over the matrix; the Gram matrix is A A^T = (l l^T) * cosines with the lengths l, which gives the distance from
a simplex frame (`measure.angles.frame_distance`) without a second product.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.validation import BoolArray, FloatArray, check_matrix
from lopsided.measure.angles import cosines


@dataclass(frozen=True)
class PairwiseAngles:
    """Cosines of all pairs of rows, nan where a row is 0, and the lengths of the rows."""

    cosines: FloatArray  # K x K
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
    def of_pairs(self) -> FloatArray:
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
        total = float(a @ (self._known @ b.astype(np.float64)))
        return (total - (float(a @ np.diagonal(self._known)) if second is None else 0.0)) / pairs

    def frame_distance(self) -> float | None:
        """| A A^T/|A A^T|_F - (I - 11^T/K)/sqrt(K-1) |_F; None when every row is 0 or there is one only."""
        classes = len(self.lengths)
        scale = float(self.lengths.max())
        if classes < 2 or scale == 0:
            return None
        scaled = self.lengths / scale
        gram = self._known * scaled[:, None] * scaled
        gram /= np.linalg.norm(gram)
        gram += 1 / (classes * math.sqrt(classes - 1))
        gram[np.diag_indices(classes)] -= 1 / math.sqrt(classes - 1)
        return float(np.linalg.norm(gram))

    def take(self, rows: BoolArray) -> "PairwiseAngles":
        """Those of some of the rows."""
        return self if rows.all() else PairwiseAngles(self.cosines[np.ix_(rows, rows)], self.lengths[rows])

    @cached_property
    def _defined(self) -> BoolArray:
        return np.asarray(~np.isnan(np.diagonal(self.cosines)))

    @cached_property
    def _known(self) -> FloatArray:
        return self.cosines if self._defined.all() else np.nan_to_num(self.cosines, nan=0.0)


def pairwise_angles(vectors: ArrayLike) -> PairwiseAngles:
    """Angles of the rows of a matrix."""
    rows = check_matrix(vectors, "the vectors")
    return PairwiseAngles(cosines(rows), np.linalg.norm(rows, axis=1))
