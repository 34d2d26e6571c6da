"""Recovery up to a permutation of neurons: the best column order by the Hungarian method (|W P - W*|_F, eq 10)."""

from dataclasses import dataclass

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray


@dataclass(frozen=True)
class Match:
    """The weights with their columns put in the teacher's order, and what is left."""

    weights: FloatArray
    order: tuple[int, ...]
    distance: float
    relative: float


def match_neurons(weights: FloatArray, teacher: FloatArray) -> Match:
    """Order the columns of `weights` to be nearest to `teacher` in Frobenius norm."""
    from scipy.optimize import linear_sum_assignment

    if weights.shape != teacher.shape:
        raise InputError(f"weights of shape {teacher.shape}", f"shape {weights.shape}")
    cost = np.square(weights[:, :, None] - teacher[:, None, :]).sum(axis=0)
    rows, columns = linear_sum_assignment(cost)
    order = tuple(int(row) for row in rows[np.argsort(columns)])
    ordered = weights[:, order]
    distance = float(np.linalg.norm(ordered - teacher))
    length = float(np.linalg.norm(teacher))
    return Match(ordered, order, distance, distance / length if length > 0 else float("nan"))
