"""How much of its initial activation patterns a ReLU layer keeps (Li and Liang 2018, Sections 5 and 7).

    pattern of (unit r, example x) = 1_{<w_r, x> >= 0}

We interpret "the fraction of hidden units whose activation pattern changed" (Section 7) per (unit, example) pair,
because with 1000 examples nearly every unit changes on some example. Both versions are returned. All functions take
plain arrays, so they work for checkpoints of any network: weights as (units, inputs), inputs of the layer as (examples,
inputs), and preactivations as (examples, units).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray

_CHUNK = 1024  # examples at a time, so that a wide layer over many examples fits in memory


@dataclass(frozen=True)
class PatternChange:
    """Shares that changed: (unit, example) pairs; units with a change on some example; and the share of each unit."""

    pairs: float
    units: float
    per_unit: FloatArray  # (m,)
    examples: int


def pattern_change(before: ArrayLike, after: ArrayLike) -> PatternChange:
    """Compare two sets of preactivations, (n, m) each, of the same examples and units."""
    first, second = _pair(before, after, "preactivations")
    return _summary(np.count_nonzero((first >= 0) != (second >= 0), axis=0), len(first))


def pattern_change_of_weights(initial: ArrayLike, final: ArrayLike, points: ArrayLike) -> PatternChange:
    """The same for two weight matrices (m, d) over `points` (n, d), a chunk of examples at a time."""
    first, second = _pair(initial, final, "weights")
    inputs = np.asarray(points)
    if inputs.ndim != 2 or inputs.shape[1] != first.shape[1] or not len(inputs):
        got = f"shape {inputs.shape}"
        raise InputError(f"inputs with {first.shape[1]} columns", got)
    changed = np.zeros(len(first), dtype=np.int64)
    for start in range(0, len(inputs), _CHUNK):
        chunk = inputs[start : start + _CHUNK]
        changed += np.count_nonzero((chunk @ first.T >= 0) != (chunk @ second.T >= 0), axis=0)
    return _summary(changed, len(inputs))


def coupled_fraction(initial: ArrayLike, now: ArrayLike) -> float:
    """Fraction of units whose true gradient equals the pseudo gradient on these examples (Lemma 5.1).

    The two differ by sum_s c_s (1_now - 1_initial) x_s, so equal patterns on every example suffice; they are also
    necessary when the x_s are linearly independent and no error signal c_s vanishes.
    """
    return 1 - pattern_change(initial, now).units


def certified_coupled_fraction(initial: ArrayLike, unit_distances: ArrayLike, lengths: ArrayLike) -> float:
    """Fraction of units that cannot have changed: |<w_r^(0), x_s>| > |w_r - w_r^(0)| |x_s| for every s.

    The step from distance to pattern in the proof of Lemma A.1, with measured distances; never above
    `coupled_fraction`. `initial` (n, m), `unit_distances` (m,), `lengths` (n,).
    """
    values = np.abs(np.asarray(initial))
    reach = np.outer(np.asarray(lengths, dtype=np.float64), np.asarray(unit_distances, dtype=np.float64))
    if values.shape != reach.shape:
        expected = f"initial preactivations of shape {reach.shape}"
        raise InputError(expected, values.shape)
    return float((values > reach).all(axis=0).mean())


def trajectory_gap(true: ArrayLike, pseudo: ArrayLike, start: ArrayLike) -> float:
    """|W - W'|_F / |W - W0|_F: the distance between two runs from one start, relative to the distance from the
    start."""
    first, second = _pair(true, pseudo, "weights")
    origin, _ = _pair(start, first, "weights")
    way = float(np.linalg.norm(first - origin))
    gap = float(np.linalg.norm(first - second))
    return 0.0 if gap == 0 else gap / way if way else float("inf")


def _summary(changed: NDArray[np.int64], examples: int) -> PatternChange:
    per_unit = changed / examples
    return PatternChange(float(per_unit.mean()), float((changed > 0).mean()), per_unit, examples)


def _pair(first: ArrayLike, second: ArrayLike, what: str) -> tuple[NDArray[Any], NDArray[Any]]:
    one, other = np.asarray(first), np.asarray(second)
    if one.ndim != 2 or one.shape != other.shape or not one.size:
        got = f"{one.shape} and {other.shape}"
        raise InputError(f"two matrices of {what} of one shape", got)
    for array in (one, other):
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise InputError(f"finite numbers in the {what}", f"type {array.dtype} or NaN, infinity")
    return one, other
