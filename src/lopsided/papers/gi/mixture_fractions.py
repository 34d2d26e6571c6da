"""Excess risk of every group of a mixture against one group's fraction: the large-n law, and simulation beside it.

The law is that of `theory.fisher_law` at fixed n; the simulation draws fresh samples and takes the critical point
nearest to the teacher, as the claims do.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lopsided.core.mixture_spec import MixtureProblem, problem_of
from lopsided.core.seeds import generator
from lopsided.data.mixture import draw_sample
from lopsided.learners.teacher_student import training_set
from lopsided.papers.gi import mixture_lab as lab
from lopsided.theory.fisher_law import FisherLaw


@dataclass(frozen=True)
class FractionLaw:
    """Per fraction, one value for every group: excess risk and label entropy in nats."""

    fractions: list[float]
    excess: list[list[float]]
    entropy: list[list[float]]


@dataclass(frozen=True)
class SimulatedExcess:
    """Mean excess of every group over samples and its standard error; None where fewer than two runs ended well."""

    fraction: float
    mean: list[float] | None
    error: list[float] | None
    runs: int


def fraction_law(problem: MixtureProblem, samples: int, group: int, fractions: Sequence[float]) -> FractionLaw:
    """The law where `group` has each of the fractions and the others share the rest in proportion."""
    law = FisherLaw(problem)
    found = [law.forecast(samples, problem.mixture.with_fraction(group, part).fractions) for part in fractions]
    return FractionLaw(
        [float(part) for part in fractions],
        [[entry.excess_risk for entry in forecast.groups] for forecast in found],
        [[entry.label_entropy for entry in forecast.groups] for forecast in found],
    )


def simulated_excess(
    problem: MixtureProblem,
    samples: int,
    group: int,
    fraction: float,
    *,
    repeats: int,
    seed: int,
    progress: Callable[[], None] | None = None,
) -> SimulatedExcess:
    """Networks trained on `repeats` samples, `group` having this fraction; told after each one.

    Samples are drawn afresh for every fraction: common ones would move a whole curve of points together, off the law.
    """
    world = problem_of(problem.mixture.with_fraction(group, fraction), problem.weights, problem.activation)
    tests = lab.drawn_tests(world, seed)
    values = []
    for repeat in range(repeats):
        sample = draw_sample(world, samples, generator(seed, "fractions", repr(float(fraction)), repeat))
        point = lab.nearest_critical_point(world, training_set(sample.features, sample.labels, world.activation))
        if point.found:
            values.append(lab.population_risks(world, point.weights, seed, tests)["excess"])
        if progress is not None:
            progress()
    if len(values) < 2:
        return SimulatedExcess(float(fraction), None, None, len(values))
    array = np.array(values)
    error = array.std(axis=0, ddof=1) / np.sqrt(len(array))
    return SimulatedExcess(float(fraction), array.mean(axis=0).tolist(), error.tolist(), len(values))
