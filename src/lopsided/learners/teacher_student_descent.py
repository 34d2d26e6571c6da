"""Gradient descent with the paper's constant step and bounded gradient noise (Algorithm 1, eq 6)."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, check_count, check_in_range, check_positive
from lopsided.learners.teacher_student import TrainingSet, check_weights


class DescentOutcome(Enum):
    """How a run ended."""

    ALL_STEPS = "took all its steps"
    CONVERGED = "the gradient became as small as asked"
    DIVERGED = "the weights overflowed: the step is too large"


@dataclass(frozen=True)
class Descent:
    """Where descent ended and how it went; `trajectory[i]` is W after `recorded[i]` steps."""

    weights: FloatArray
    gradient_norm: float
    steps: int
    outcome: DescentOutcome
    step: float
    trajectory: FloatArray | None = None
    recorded: tuple[int, ...] = ()


def descend(
    data: TrainingSet,
    start: ArrayLike,
    step: float,
    steps: int,
    *,
    noise: FloatArray | None = None,
    record_every: int = 0,
    tolerance: float = 0.0,
) -> Descent:
    """W_{t+1} = W_t - step (grad f_n(W_t) + nu_t), with nu_t = (1/n) sum_i nu_i drawn by `mean_noise` or absent.

    `noise` has shape (steps, d, K), or (1, d, K) for noise that stays the same at every step.
    """
    from lopsided.learners.teacher_student_kernels import descend as run

    first = check_weights(start, data)
    rate = check_positive(step, "the step")
    many = check_count(steps, "the number of steps")
    shape = (0, *first.shape) if noise is None else noise.shape
    if shape[1:] != first.shape or shape[0] not in (0, 1, many):
        expected = f"noise of shape ({many}, {first.shape[0]}, {first.shape[1]})"
        raise InputError(expected, shape, "draw it with mean_noise")
    added = np.empty(shape) if noise is None else np.ascontiguousarray(noise, dtype=np.float64)
    kept = many // record_every + 1 if record_every else 0
    trajectory = np.full((kept, *first.shape), np.nan)
    weights, gradient, done = run(
        data.features, data.signs, first, rate, many, data.code, added, record_every, trajectory, tolerance
    )
    length = float(np.linalg.norm(gradient))
    if not np.isfinite(length) or not np.isfinite(weights).all():
        outcome = DescentOutcome.DIVERGED
    elif done < many or length <= tolerance:
        outcome = DescentOutcome.CONVERGED
    else:
        outcome = DescentOutcome.ALL_STEPS
    recorded = tuple(range(0, done + 1, record_every)) if record_every else ()
    return Descent(
        weights, length, done, outcome, rate, trajectory[: len(recorded)] if record_every else None, recorded
    )


def mean_noise(
    size: float, count: int, steps: int, shape: tuple[int, int], randomness: np.random.Generator
) -> FloatArray:
    """(1/n) sum_i nu_i for every step, entries of nu_i uniform on [-xi, xi] (the bounded noise of eq 6).

    The mean of n >= 100 uniform numbers is drawn as a normal one with the same variance xi^2 / (3 n); below that the
    numbers themselves are drawn.
    """
    bound = check_in_range(size, "the gradient noise", 0.0, 1e6)
    if count >= 100:
        return np.asarray(bound / np.sqrt(3.0 * count) * randomness.standard_normal((steps, *shape)))
    return np.asarray(randomness.uniform(-bound, bound, (steps, count, *shape)).mean(axis=1))
