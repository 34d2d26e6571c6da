"""What the mixture claims share: draw, train in a stated reading, measure. Here data, learners, theory and measure
meet.

Readings. "critical point": damped Newton from W* finds the minimiser of f_n nearest to it, so only the sample speaks.
"few steps": descent with the paper's step and a stated number of steps, so the speed of descent speaks too.
"authors": the fixed steps and starts of the authors' scripts, W* + 0.1 |W*|_F in a random direction.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.core.mixture_spec import Mixture, MixtureProblem, mixture_of, problem_of
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray
from lopsided.data.mixture import MixtureSample, draw_group, draw_sample
from lopsided.learners.neuron_matching import match_neurons
from lopsided.learners.teacher_student import TrainingSet, loss_gradient_hessian, paper_step, training_set
from lopsided.learners.teacher_student_descent import DescentOutcome, descend
from lopsided.learners.teacher_student_newton import CriticalPoint, newton
from lopsided.measure.group_risk import group_risk

TEST_POINTS = 4000


def two_groups(
    dimension: int, fractions: tuple[float, float], means: tuple[Any, Any], covariances: tuple[Any, Any]
) -> Mixture:
    """The papers' mixtures have two groups."""
    return mixture_of(fractions, means, covariances, dimension)


def drawn_teacher(mixture: Mixture, neurons: int, seed: int, *, scale: float = 1.0) -> MixtureProblem:
    """W* with standard normal entries (000 Section V), the same for every setting under one seed and size."""
    size = mixture.dimension
    weights = generator(seed, "teacher", size, neurons).standard_normal((size, neurons))
    return problem_of(mixture, scale * weights)


def drawn_data(problem: MixtureProblem, count: int, seed: int) -> tuple[TrainingSet, MixtureSample]:
    """A training set of n points; the same random numbers for every setting under one seed and size."""
    sample = draw_sample(problem, count, generator(seed, "sample", count))
    return training_set(sample.features, sample.labels, problem.activation), sample


def start_near(problem: MixtureProblem, seed: int, index: int = 0, share: float = 0.1) -> FloatArray:
    """W* + share |W*|_F in a random direction (the authors' starts)."""
    step = generator(seed, "start", index).standard_normal(problem.weights.shape)
    distance = share * np.linalg.norm(problem.weights)
    return np.asarray(problem.weights + distance * step / np.linalg.norm(step))


def nearest_critical_point(problem: MixtureProblem, data: TrainingSet) -> CriticalPoint:
    """The minimiser of f_n that Newton reaches from W*."""
    return newton(data, problem.weights)


def mixture_step(mixture: Mixture, factor: float) -> float:
    """The paper's step for a mixture, with the factor c."""
    return paper_step(mixture.fractions, mixture.mean_lengths, mixture.spread, factor)


def drawn_tests(problem: MixtureProblem, seed: int) -> list[FloatArray]:
    """Test points of every group, the same for every setting under one seed."""
    return [
        draw_group(problem.mixture, group, TEST_POINTS, generator(seed, "test", group))
        for group in range(problem.mixture.groups)
    ]


def population_risks(
    problem: MixtureProblem, weights: FloatArray, seed: int, tests: list[FloatArray] | None = None
) -> dict[str, Any]:
    """Entropy and excess of every group and of the mixture, on `drawn_tests`; `tests` saves drawing them again."""
    given = drawn_tests(problem, seed) if tests is None else tests
    rows = [group_risk(weights, problem.weights, points, problem.activation) for points in given]
    share = problem.mixture.fractions
    return {
        "entropy": [row.entropy for row in rows],
        "excess": [row.excess for row in rows],
        "average_entropy": float(share @ [row.entropy for row in rows]),
        "average_excess": float(share @ [row.excess for row in rows]),
    }


@dataclass(frozen=True)
class SpreadForecast:
    """Where descent from random starts stands after T steps, from the curvature at the critical point.

    Near it W_T - W_hat = (I - step Hess)^T (W_0 - W_hat), so for starts at distance `reach` in random directions the
    root
    mean square spread is reach sqrt(mean_i (1 - step curvature_i)^{2T}).
    """

    spread: float
    stable: bool
    rate: float


def forecast_spread(data: TrainingSet, point: CriticalPoint, step: float, steps: int, reach: float) -> SpreadForecast:
    """The linearised spread; compared with real runs in the tests."""
    curvatures = np.linalg.eigvalsh(loss_gradient_hessian(point.weights, data)[2])
    factors = np.abs(1.0 - step * curvatures)
    with np.errstate(over="ignore"):
        spread = reach * float(np.sqrt(np.mean(factors ** (2.0 * steps))))
    return SpreadForecast(min(spread, 1e300), bool(factors.max() < 1.0), float(factors.max()))


def measured_spread(
    problem: MixtureProblem, data: TrainingSet, step: float, steps: int, starts: int, seed: int
) -> float:
    """V_W: root mean square distance of the end points of `starts` runs from their mean (000 Section V)."""
    ends = np.array([descend(data, start_near(problem, seed, index), step, steps).weights for index in range(starts)])
    return float(np.sqrt(np.square(ends - ends.mean(axis=0)).sum(axis=(1, 2)).mean()))


def convergence(
    problem: MixtureProblem, data: TrainingSet, point: CriticalPoint, step: float, steps: int, seed: int
) -> dict[str, Any]:
    """One run of descent towards the critical point: the tail's rate per step and how straight the logarithm is."""
    every = max(1, steps // 200)
    run = descend(data, start_near(problem, seed), step, steps, record_every=every)
    assert run.trajectory is not None
    distances = np.linalg.norm(run.trajectory - point.weights, axis=(1, 2))
    floor = 1e-9 * max(distances[0], 1e-300)
    usable = np.flatnonzero(distances > floor)
    tail = usable[len(usable) // 2 :]
    ended = run.outcome is not DescentOutcome.DIVERGED and distances[-1] < distances[0]
    if not ended or len(tail) < 3:
        return {"rate": None, "straightness": None, "first": float(distances[0]), "last": float(distances[-1])}
    time, height = np.array(run.recorded)[tail], np.log(distances[tail])
    slope, _ = np.polyfit(time, height, 1)
    # a distance that no longer changes has no correlation, and no linear convergence either
    straight = float(np.corrcoef(time, height)[0, 1] ** 2) if np.ptp(height) > 0 else 0.0
    return {
        "rate": float(np.exp(slope)),
        "straightness": straight,
        "first": float(distances[0]),
        "last": float(distances[-1]),
        "steps": list(run.recorded[:: max(1, len(run.recorded) // 40)]),
        "distances": [float(value) for value in distances[:: max(1, len(run.recorded) // 40)]],
    }


def matched_error(weights: FloatArray, problem: MixtureProblem) -> tuple[float, float]:
    """|W P - W*|_F and the same over |W*|_F."""
    match = match_neurons(weights, problem.weights)
    return match.distance, match.relative
