"""Damped Newton to a critical point of f_n, the reference for descent.

Each step solves (Hess + mu I) delta = -grad with the smallest mu that makes the matrix positive definite and lets the
loss fall (Levenberg). Near a strict minimum mu is 0 and convergence is quadratic.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.validation import FloatArray
from lopsided.learners.teacher_student import LocalModel, TrainingSet, check_weights, local_model

# f_n is a mean of n logarithms of order one, so differences below this are rounding, not progress.
LOSS_ROUNDING = 1e-13


class NewtonOutcome(Enum):
    """How a run ended."""

    MINIMUM = "a critical point with a positive definite Hessian"
    FLAT = "a critical point whose Hessian is not positive definite to rounding"
    STALLED = "no step lowers the loss any more"
    STEPS = "ran out of steps"
    RUNAWAY = "the weights grow without bound: the data are separable by some neuron"


@dataclass(frozen=True)
class CriticalPoint:
    """A critical point with its certificate: gradient norm and the Hessian's extreme eigenvalues."""

    weights: FloatArray
    loss: float
    gradient_norm: float
    least_curvature: float
    largest_curvature: float
    steps: int
    outcome: NewtonOutcome

    @property
    def found(self) -> bool:
        """Whether this is a strict local minimum."""
        return self.outcome is NewtonOutcome.MINIMUM


def newton(
    data: TrainingSet,
    start: ArrayLike,
    *,
    tolerance: float = 1e-11,
    steps: int = 100,
    limit: float = 1e4,
    single: bool = False,
) -> CriticalPoint:
    """Minimise f_n from `start` until the gradient's length is at most `tolerance`; `limit` bounds the weights.

    `single` takes Hessians in float32 products: steps and reported curvatures are then good to 1e-7 of the largest.
    """
    weights = check_weights(start, data)
    model = local_model(weights, data)
    hessian = model.hessian(single=single)
    damping = 0.0
    outcome, taken = NewtonOutcome.STEPS, 0
    for taken in range(steps + 1):
        if float(np.linalg.norm(model.gradient)) <= tolerance:
            outcome = NewtonOutcome.MINIMUM
            break
        if taken == steps:
            break
        if float(np.max(np.abs(weights))) > limit:
            outcome = NewtonOutcome.RUNAWAY
            break
        moved = _step(data, weights, model, hessian, damping)
        if moved is None:
            outcome = NewtonOutcome.STALLED
            break
        weights, model, damping = moved
        hessian = model.hessian(single=single)
    curvatures = np.linalg.eigvalsh(hessian)
    least, largest = float(curvatures[0]), float(curvatures[-1])
    length = float(np.linalg.norm(model.gradient))
    if outcome is NewtonOutcome.STALLED and length <= 1e3 * tolerance:
        outcome = NewtonOutcome.MINIMUM  # rounding in the loss hides the last digits of the gradient
    if outcome is NewtonOutcome.MINIMUM and least <= (1e-6 if single else 1e-12) * largest:
        outcome = NewtonOutcome.FLAT
    return CriticalPoint(weights, model.loss, length, least, largest, taken, outcome)


def _step(
    data: TrainingSet, weights: FloatArray, model: LocalModel, hessian: FloatArray, damping: float
) -> tuple[FloatArray, LocalModel, float] | None:
    """The next weights, f_n there, and the damping to try first at the next step; None if no damping lowers the
    loss."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    scale = float(np.trace(hessian)) / len(hessian)
    scale = scale if scale > 0 else float(np.max(np.abs(hessian))) or 1.0
    slope = model.gradient.T.ravel()
    length = float(np.linalg.norm(slope))
    for _ in range(40):
        try:
            factor = cho_factor(hessian + damping * np.eye(len(hessian)), check_finite=False)
        except LinAlgError:
            damping = max(10.0 * damping, 1e-6 * scale)
            continue
        move = -cho_solve(factor, slope, check_finite=False)
        candidate = weights + move.reshape(weights.shape[::-1]).T
        after = local_model(candidate, data)
        fell = after.loss <= model.loss + 1e-4 * float(slope @ move)
        # Below rounding error the loss shows nothing; a shorter gradient is then the criterion.
        level = abs(after.loss - model.loss) <= LOSS_ROUNDING and float(np.linalg.norm(after.gradient)) < length
        if np.isfinite(after.loss) and (fell or level):
            return candidate, after, 0.0 if damping < 1e-6 * scale else damping / 10.0
        damping = max(10.0 * damping, 1e-4 * scale)
    return None
