"""The critical point of f_n for growing prefixes of one sample: all n of a sample-complexity figure at once.

With the sample cut into blocks, f_n over the first b blocks is a mean of block losses, so gradients and Hessians add
up. From the largest prefix down, the minimiser of the next smaller one is near: its Hessian at the old point is the sum
without the last blocks (known already), which gives one exact Newton step; chord steps with the same matrix follow,
each at the cost of a gradient. One new Hessian per prefix, at its minimiser, certifies it and is used for the next. If
a chord step stalls, the Hessian is computed again; if that fails too, damped Newton restarts from `start`.

The cost is that of the Hessians: K(K+1)/2 weighted products of 2 d^2 operations per example, once per prefix.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray
from lopsided.learners.teacher_student import TrainingSet, check_weights, local_model, loss_and_gradient
from lopsided.learners.teacher_student_newton import CriticalPoint, NewtonOutcome, newton

CHORD_STEPS = 12  # chord steps with one matrix; each must shrink the gradient at least by SHRINK
SHRINK = 0.5
RENEWALS = 6
LARGEST = 10.0  # larger entries, relative to the largest of the start, mean that the data are separable by some neuron
SINGULAR = 1e-6  # below this share of the largest a curvature is rounding of float32 products
RESTART_STEPS = 25  # found minima took at most 15


@dataclass(frozen=True)
class PathPoint:
    """The critical point over the first `count` examples, with the eigensystem of its Hessian (rows as in
    `LocalModel`)."""

    count: int
    point: CriticalPoint
    curvatures: FloatArray
    directions: FloatArray


def critical_path(
    blocks: Sequence[TrainingSet], start: ArrayLike, lengths: Sequence[int], *, tolerance: float = 1e-8
) -> list[PathPoint]:
    """The minimiser near `start` over the first `b` blocks for every b in `lengths`, in the order given."""
    if not blocks or not lengths or min(lengths) < 1 or max(lengths) > len(blocks):
        raise InputError(f"prefixes of 1 to {len(blocks)} blocks", list(lengths), "count blocks")
    origin = check_weights(start, blocks[0])
    at_origin = _Place(origin, _slopes(blocks[: max(lengths)], origin), _hessians(blocks[: max(lengths)], origin))
    found: dict[int, PathPoint] = {}
    place = at_origin
    for length in sorted(set(lengths), reverse=True):
        prefix = blocks[:length]
        reached = _chords(prefix, place, tolerance) or _restart(prefix, origin, tolerance)
        values, vectors = np.linalg.eigh(_mean(prefix, reached.place.hessians))
        outcome = reached.outcome
        if outcome is NewtonOutcome.MINIMUM and values[0] <= SINGULAR * values[-1]:
            outcome = NewtonOutcome.FLAT
        ends = float(values[0]), float(values[-1])
        point = CriticalPoint(reached.place.weights, reached.loss, reached.slope, *ends, reached.steps, outcome)
        found[length] = PathPoint(sum(block.count for block in prefix), point, values, vectors)
        # A smaller prefix continues from here, or from the start if nothing was found.
        place = reached.place if point.found else at_origin
    return [found[length] for length in lengths]


_Slope = tuple[float, FloatArray]  # a block's loss and gradient


@dataclass(frozen=True)
class _Place:
    """Weights, and every block's loss, gradient and Hessian there."""

    weights: FloatArray
    slopes: list[_Slope]
    hessians: list[FloatArray]


@dataclass(frozen=True)
class _Reached:
    """Where a search ended, with loss and gradient norm over the prefix."""

    place: _Place
    loss: float
    slope: float
    steps: int
    outcome: NewtonOutcome


def _restart(prefix: Sequence[TrainingSet], origin: FloatArray, tolerance: float) -> _Reached:
    """Damped Newton from the start; weights LARGEST times those of the start count as divergence."""
    limit = LARGEST * float(np.max(np.abs(origin)))
    features, signs = [block.features for block in prefix], [block.signs for block in prefix]
    joined = replace(
        prefix[0], features=np.ascontiguousarray(np.concatenate(features, axis=1)), signs=np.concatenate(signs)
    )
    point = newton(joined, origin, tolerance=tolerance, steps=RESTART_STEPS, limit=limit, single=True)
    place = _Place(point.weights, _slopes(prefix, point.weights), _hessians(prefix, point.weights))
    return _Reached(place, point.loss, point.gradient_norm, point.steps, point.outcome)


def _chords(prefix: Sequence[TrainingSet], place: _Place, tolerance: float) -> _Reached | None:
    """Newton and chord steps from a point computed with more blocks than the prefix has; None if they stall."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    steps = 0
    weights, slopes, hessians = place.weights, place.slopes[: len(prefix)], place.hessians[: len(prefix)]
    loss, slope = _mean_slope(prefix, slopes)
    size = float(np.linalg.norm(slope))
    for _ in range(RENEWALS):
        try:
            factor = cho_factor(_mean(prefix, hessians), check_finite=False)
        except LinAlgError:
            return None
        before = steps
        for _ in range(CHORD_STEPS):
            if size <= tolerance:
                break
            move = -cho_solve(factor, slope.T.ravel(), check_finite=False).reshape(weights.shape[::-1]).T
            candidate = weights + move
            slopes_after = _slopes(prefix, candidate)
            loss_after, slope_after = _mean_slope(prefix, slopes_after)
            size_after = float(np.linalg.norm(slope_after))
            if not size_after <= SHRINK * size or not np.isfinite(loss_after):
                break
            weights, slopes, loss, slope, size = candidate, slopes_after, loss_after, slope_after, size_after
            steps += 1
        if size <= tolerance:
            reached = _Place(weights, slopes, _hessians(prefix, weights))
            return _Reached(reached, loss, size, steps, NewtonOutcome.MINIMUM)
        if steps == before:  # not even one step of this matrix helped, and it was taken where it is used or near it
            return None
        hessians = _hessians(prefix, weights)
    return None


def _slopes(prefix: Sequence[TrainingSet], weights: FloatArray) -> list[_Slope]:
    return [loss_and_gradient(weights, block) for block in prefix]


def _mean_slope(prefix: Sequence[TrainingSet], slopes: Sequence[_Slope]) -> _Slope:
    total = sum(block.count for block in prefix)
    loss, slope = 0.0, np.zeros_like(slopes[0][1])
    for block, (value, gradient) in zip(prefix, slopes, strict=True):
        loss += value * (block.count / total)
        slope += gradient * (block.count / total)
    return loss, slope


def _hessians(prefix: Sequence[TrainingSet], weights: FloatArray) -> list[FloatArray]:
    return [local_model(weights, block).hessian(single=True) for block in prefix]


def _mean(prefix: Sequence[TrainingSet], parts: Sequence[FloatArray]) -> FloatArray:
    total = sum(block.count for block in prefix)
    return np.asarray(sum(part * (block.count / total) for part, block in zip(parts, prefix, strict=True)))
