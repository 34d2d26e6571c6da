"""The figure of `lopsided mixture --plot`: one group's fraction, covariance scale and mean shift are swept.

Excess risk and label entropy are apart, and the large-n law stands beside simulation (Newton from W* on fresh samples).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Line, Mark, Panel, Points
from lopsided.core.mixture_spec import Mixture, MixtureProblem, problem_of
from lopsided.core.seeds import generator
from lopsided.papers.gi import mixture_lab as lab
from lopsided.theory.fisher_law import FisherLaw

THEORY_POINTS, SIMULATED_POINTS, REPEATS = 9, 3, 6
MOST_SIMULATED = 20_000  # beyond this n the excess at a smaller n is rescaled by 1/n, as the law has it


def sweep_figure(problem: MixtureProblem, samples: int, group: int, *, seed: int = 0) -> Figure:
    """Three sweeps of one group, excess above and entropy below."""
    share = float(problem.mixture.fractions[group])
    sweeps: list[tuple[str, Any, Callable[[Mixture, float], Mixture], float]] = [
        ("covariance of the group, times", np.geomspace(0.1, 10, THEORY_POINTS), _scaled(group), 1.0),
        ("mean shift of the group, in its own deviations", np.linspace(0, 3, THEORY_POINTS), _shifted(group), 0.0),
    ]
    if problem.mixture.groups > 1:
        fractions = np.unique(np.append(np.linspace(0.02, 0.98, 2 * THEORY_POINTS), share))
        sweeps.insert(0, ("fraction of the group", fractions, lambda mix, x: mix.with_fraction(group, x), share))
    upper, lower = [], []
    for label, places, change, here in sweeps:
        excess, entropy = _panels(problem, samples, group, label, places, change, here, seed)
        upper.append(excess)
        lower.append(entropy)
    panels = [panel for pair in zip(upper, lower, strict=True) for panel in pair]
    return Figure(
        f"What n = {samples:,} samples teach about group {group}",
        panels,
        "Lines: large-n law. Points: simulation, mean and two standard errors. The test loss is entropy plus excess.",
    )


def _scaled(group: int) -> Callable[[Mixture, float], Mixture]:
    return lambda mixture, x: mixture.with_group(group, covariance=x * mixture.covariances[group])


def _shifted(group: int) -> Callable[[Mixture, float], Mixture]:
    def shift(mixture: Mixture, x: float) -> Mixture:
        mean = mixture.means[group]
        length = float(np.linalg.norm(mean))
        direction = mean / length if length > 0 else np.full(mixture.dimension, mixture.dimension**-0.5)
        return mixture.with_group(group, mean=mean + x * float(mixture.spread[group]) * direction)

    return shift


def _panels(
    problem: MixtureProblem,
    samples: int,
    group: int,
    label: str,
    places: Any,
    change: Callable[[Mixture, float], Mixture],
    here: float,
    seed: int,
) -> tuple[Panel, Panel]:
    only_fraction = label.startswith("fraction")
    base = FisherLaw(problem) if only_fraction else None
    own, average, entropy, entropy_average = [], [], [], []
    for x in places:
        world = problem_of(change(problem.mixture, float(x)), problem.weights, problem.activation)
        law = base.forecast(samples, world.mixture.fractions) if base else FisherLaw(world).forecast(samples)
        own.append(law.groups[group].excess_risk)
        average.append(law.average_excess_risk)
        entropy.append(law.groups[group].label_entropy)
        entropy_average.append(law.average_entropy)
    chosen = [float(places[int(index)]) for index in np.linspace(0, len(places) - 1, SIMULATED_POINTS + 2)]
    means, errors = zip(*[_simulated(problem, samples, group, change, x, seed) for x in chosen], strict=True)
    marks = [Mark(here, "as specified")]
    x_log = label.startswith("covariance")
    return (
        Panel(
            "Excess risk",
            label,
            "excess risk (nats)",
            [
                Line(list(places), own, "this group, law"),
                Line(list(places), average, "average, law", dashed=True),
                Points(
                    chosen,
                    means,
                    "this group, simulated",
                    [None if m is None else max(m - 2 * e, m / 10) for m, e in zip(means, errors, strict=True)],
                    [None if m is None else m + 2 * e for m, e in zip(means, errors, strict=True)],
                ),
            ],
            marks,
            x_log=x_log,
            y_log=True,
        ),
        Panel(
            "Label entropy",
            label,
            "entropy (nats)",
            [Line(list(places), entropy, "this group"), Line(list(places), entropy_average, "average", dashed=True)],
            marks,
            x_log=x_log,
        ),
    )


def _simulated(
    problem: MixtureProblem,
    samples: int,
    group: int,
    change: Callable[[Mixture, float], Mixture],
    x: float,
    seed: int,
) -> tuple[float | None, float]:
    """Mean excess of the group over repeated samples, and its standard error; None where no run found a minimum."""
    from lopsided.data.mixture import draw_sample
    from lopsided.learners.teacher_student import training_set

    count = min(samples, MOST_SIMULATED)
    world = problem_of(change(problem.mixture, x), problem.weights, problem.activation)
    values = []
    for repeat in range(REPEATS):
        sample = draw_sample(world, count, generator(seed, "sweep", repeat))
        point = lab.nearest_critical_point(world, training_set(sample.features, sample.labels, world.activation))
        if point.found:
            values.append(lab.population_risks(world, point.weights, seed)["excess"][group] * count / samples)
    if len(values) < 2:
        return None, 0.0
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))
