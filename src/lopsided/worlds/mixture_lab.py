"""Runs on a Gaussian mixture, for claims, commands and pages: draw, train in a stated reading, measure. This module
combines data, learners, theory and measure.

Readings. "critical point": damped Newton from W* finds the minimiser of f_n nearest to it, so only the sample matters.
"few steps": descent with the paper's step and a stated number of steps, so the speed of descent matters too. "authors":
the fixed steps and starts of the authors' scripts, W* + 0.1 |W*|_F in a random direction.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np

from lopsided.core.mixture_spec import Mixture, MixtureProblem, mixture_of, problem_of
from lopsided.core.seeds import generator
from lopsided.core.statistics import standard_error
from lopsided.core.validation import FloatArray
from lopsided.data.mixture import MixtureSample, draw_sample, draw_tests
from lopsided.learners.critical_path import PathPoint, critical_path
from lopsided.learners.neuron_matching import match_neurons
from lopsided.learners.teacher_student import TrainingSet, loss_gradient_hessian, paper_step, training_set
from lopsided.learners.teacher_student_descent import DescentOutcome, descend
from lopsided.learners.teacher_student_newton import CriticalPoint, newton
from lopsided.measure.mixture_errors import PopulationRisk, population_risk


def two_groups(
    dimension: int, fractions: tuple[float, float], means: tuple[Any, Any], covariances: tuple[Any, Any]
) -> Mixture:
    """The papers' mixtures have two groups."""
    return mixture_of(fractions, means, covariances, dimension)


def drawn_teacher(mixture: Mixture, neurons: int, seed: int, *, scale: float = 1.0) -> MixtureProblem:
    """W* with standard normal entries (Li et al. 2024, Section V), the same for all settings of one seed and size."""
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


def solved(problem: MixtureProblem, count: int, seed: int) -> tuple[TrainingSet, CriticalPoint]:
    """A training set of n points and the minimiser nearest to W* on it."""
    data, _ = drawn_data(problem, count, seed)
    return data, nearest_critical_point(problem, data)


def mixture_step(mixture: Mixture, factor: float) -> float:
    """The paper's step for a mixture, with the factor c."""
    return paper_step(mixture.fractions, mixture.mean_lengths, mixture.spread, factor)


def critical_points(
    world: MixtureProblem, samples: int, repeats: int, seed: int, *stream: Any
) -> Iterator[CriticalPoint]:
    """The minimiser nearest to W* on each of `repeats` fresh samples, drawn from the stream of that name."""
    for repeat in range(repeats):
        sample = draw_sample(world, samples, generator(seed, *stream, repeat))
        yield newton(training_set(sample.features, sample.labels, world.activation), world.weights)


@dataclass(frozen=True)
class SimulatedExcess:
    """Mean excess of every group over samples and its standard error; None if fewer than two runs succeeded."""

    mean: list[float] | None
    error: list[float] | None
    runs: int


def simulated_excess(
    world: MixtureProblem,
    samples: int,
    repeats: int,
    seed: int,
    *stream: Any,
    progress: Callable[[], None] | None = None,
) -> SimulatedExcess:
    """The mean excess risk on every group of networks trained on fresh samples; `progress` is called after each one."""
    tests = draw_tests(world.mixture, seed)
    values = []
    for point in critical_points(world, samples, repeats, seed, *stream):
        if point.found:
            values.append(population_risk(point.weights, world, tests).excess)
        if progress is not None:
            progress()
    if len(values) < 2:
        return SimulatedExcess(None, None, len(values))
    return SimulatedExcess(np.mean(values, axis=0).tolist(), standard_error(values).tolist(), len(values))


def risk_at(problem: MixtureProblem, weights: FloatArray, seed: int) -> PopulationRisk:
    """Entropy and excess of every group and of the mixture, on the test points of the seed."""
    return population_risk(weights, problem, draw_tests(problem.mixture, seed))


@dataclass(frozen=True)
class SpreadForecast:
    """Where descent from random starts stands after T steps, from the curvature at the critical point: the root mean
    square distance of the ends from their mean, and the slowest direction's factor a step."""

    spread: float
    stable: bool
    rate: float


def forecast_spread(data: TrainingSet, point: CriticalPoint, step: float, steps: int, reach: float) -> SpreadForecast:
    """Near the critical point W_T - W_hat = (I - step Hess)^T (W_0 - W_hat), so for starts at distance `reach` in
    random directions the spread is reach sqrt(mean_i (1 - step curvature_i)^{2T})."""
    curvatures = np.linalg.eigvalsh(loss_gradient_hessian(point.weights, data)[2])
    factors = np.abs(1.0 - step * curvatures)
    with np.errstate(over="ignore"):
        spread = reach * float(np.sqrt(np.mean(factors ** (2.0 * steps))))
    return SpreadForecast(min(spread, 1e300), bool(factors.max() < 1.0), float(factors.max()))


def linear_spread(found: PathPoint, starts: Sequence[FloatArray], step: float, steps: int) -> SpreadForecast:
    """The same for given starts, along the directions of curvature."""
    gaps = np.array([(start - found.point.weights).T.ravel() for start in starts]) @ found.directions
    factors = 1.0 - step * found.curvatures
    rate = float(np.abs(factors).max())
    with np.errstate(over="ignore", invalid="ignore"):
        ends = gaps * factors ** float(steps)
        spread = float(np.sqrt(np.square(ends - ends.mean(axis=0)).sum(axis=1).mean()))
    return SpreadForecast(spread, rate < 1.0, rate)


def measured_spread(
    problem: MixtureProblem, data: TrainingSet, step: float, steps: int, starts: int, seed: int
) -> float:
    """V_W: root mean square distance of the end points of `starts` runs from their mean (Li et al. 2024, Section V)."""
    ends = np.array([descend(data, start_near(problem, seed, index), step, steps).weights for index in range(starts)])
    return float(np.sqrt(np.square(ends - ends.mean(axis=0)).sum(axis=(1, 2)).mean()))


def drawn_blocks(problem: MixtureProblem, counts: Sequence[int], seed: int) -> tuple[list[TrainingSet], list[int]]:
    """A sample in blocks, and how many of them make up each count; a smaller count is a prefix of a larger one."""
    size = gcd(*counts)
    blocks = []
    for index in range(max(counts) // size):
        sample = draw_sample(problem, size, generator(seed, "block", size, index))
        blocks.append(training_set(sample.features, sample.labels, problem.activation))
    return blocks, [count // size for count in counts]


def path_of_counts(problem: MixtureProblem, counts: Sequence[int], seed: int) -> list[PathPoint]:
    """The critical point nearest to W* for every n."""
    blocks, lengths = drawn_blocks(problem, counts, seed)
    return critical_path(blocks, problem.weights, lengths)


def descended_spread(
    problem: MixtureProblem, counts: Sequence[int], seed: int, starts: int, step: float, steps: int
) -> float:
    """The quantity that `linear_spread` predicts, measured by descent itself, for the smallest n."""
    blocks, lengths = drawn_blocks(problem, counts, seed)
    prefix = blocks[: min(lengths)]
    data = TrainingSet(
        np.ascontiguousarray(np.concatenate([block.features for block in prefix], axis=1)),
        np.concatenate([block.signs for block in prefix]),
        prefix[0].code,
        prefix[0].activation,
    )
    return measured_spread(problem, data, step, steps, starts, seed)


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
        "kept": slope_kept(time, height),
        "first": float(distances[0]),
        "last": float(distances[-1]),
        "steps": list(run.recorded[:: max(1, len(run.recorded) // 40)]),
        "distances": [float(value) for value in distances[:: max(1, len(run.recorded) // 40)]],
    }


def slope_kept(time: FloatArray, height: FloatArray) -> float:
    """Slope of the later half of a curve over that of the earlier half: 1 for a straight line; for the logarithm of 1/t
    over the second half of a run log(4/3)/log(3/2) = 0.71. R^2 hardly distinguishes the two."""
    middle = len(time) // 2
    early, late = (
        float(np.polyfit(time[part], height[part], 1)[0]) for part in (slice(middle + 1), slice(middle, None))
    )
    return late / early if early < 0 else 0.0


KEPT = 0.85  # between the 0.71 of 1/t and the 1 of linear convergence
SETTLED = 1e-3  # of the first distance: runs that end farther away are too short to decide


def settled_run(
    problem: MixtureProblem, data: TrainingSet, point: CriticalPoint, most: int, seed: int
) -> dict[str, Any]:
    """`convergence` with the step 1 / largest curvature, long enough for twelve e-foldings of the slowest direction, or
    `most` steps; `linear` says whether the end is linear, None if the run did not converge."""
    condition = point.largest_curvature / max(point.least_curvature, 1e-300)
    steps = int(min(most, max(200.0, 12.0 * condition)))
    run = convergence(problem, data, point, 1.0 / point.largest_curvature, steps, seed)
    settled = run["rate"] is not None and run["last"] <= SETTLED * run["first"]
    return {**run, "linear": bool(run["kept"] >= KEPT) if settled else None, "shrunk_to": run["last"] / run["first"]}


def linear_share(runs: Sequence[Any]) -> tuple[float, int]:
    """Share of the converged runs (dictionaries of `settled_run`) that end linearly, and how many converged."""
    known = [bool(run["linear"]) for run in runs if run["linear"] is not None]
    return (float(np.mean(known)) if known else 0.0), len(known)


def matched_error(weights: FloatArray, problem: MixtureProblem) -> tuple[float, float]:
    """|W P - W*|_F and the same over |W*|_F."""
    match = match_neurons(weights, problem.weights)
    return match.distance, match.relative
