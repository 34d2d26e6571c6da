"""Angles and lengths of class vectors (rows): cosines within and between sets, distance from a simplex frame.

The K-simplex frame (Definition 1) has Gram matrix proportional to I - 11^T/K. The distance of rows A from it, free of
scale and rotation, is

    | A A^T/|A A^T|_F - (I - 11^T/K)/sqrt(K-1) |_F
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray, FloatArray, check_matrix


@dataclass(frozen=True)
class CosineSummary:
    """All pairwise cosines of a set of vectors and their summary; pairs with a zero vector have no angle."""

    values: FloatArray
    mean: float | None
    smallest: float | None
    largest: float | None
    undefined_pairs: int

    @property
    def degrees_spread(self) -> float | None:
        """Standard deviation of the angles in degrees."""
        return float(np.degrees(np.arccos(self.values)).std()) if self.values.size else None


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


def cosine_summary(
    vectors: ArrayLike, first: BoolArray | None = None, second: BoolArray | None = None
) -> CosineSummary:
    """Cosines of all pairs, of the pairs within `first`, or of the pairs between `first` and `second`."""
    matrix = cosines(vectors)
    classes = matrix.shape[0]
    for mask in (first, second):
        if mask is not None and mask.shape != (classes,):
            raise InputError(
                f"a mask over {classes} classes", f"shape {mask.shape}", "give one True or False per class"
            )
    if second is not None:
        if first is None or bool((first & second).any()):
            raise InputError("two sets of classes without a common one", "sets that overlap", "check the two masks")
        values = matrix[np.ix_(first, second)].ravel()
    else:
        chosen = np.ones(classes, dtype=bool) if first is None else first
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
        raise InputError("at least two vectors", classes, "one vector is no frame")
    largest = float(np.abs(rows).max())
    if largest == 0:
        raise InputError("vectors of which one at least is not zero", "zeros", "check the array")
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
