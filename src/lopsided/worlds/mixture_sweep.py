"""The figure of `lopsided mixture --plot`: one group's fraction, covariance scale and mean shift are swept.

Excess risk and label entropy are shown separately, and the large-n law next to simulation (Newton from W* on fresh
samples).
"""

from collections.abc import Callable

import numpy as np

from lopsided.core.figure import Figure, Line, Mark, Panel, Points
from lopsided.core.mixture_spec import Mixture, MixtureProblem, problem_of
from lopsided.core.validation import FloatArray
from lopsided.theory.fisher_law import FisherLaw
from lopsided.worlds.mixture_lab import simulated_excess

THEORY_POINTS, SIMULATED_POINTS, REPEATS = 9, 3, 6
MOST_SIMULATED = 20_000  # beyond this n the excess at a smaller n is rescaled by 1/n, as the law has it
Change = Callable[[Mixture, float], Mixture]


def sweep_figure(problem: MixtureProblem, samples: int, group: int, *, seed: int = 0) -> Figure:
    """Three sweeps of one group, excess above and entropy below."""
    share = float(problem.mixture.fractions[group])

    def scaled(mixture: Mixture, x: float) -> Mixture:
        return mixture.with_group(group, covariance=x * mixture.covariances[group])

    def shifted(mixture: Mixture, x: float) -> Mixture:
        mean = mixture.means[group]
        length = float(np.linalg.norm(mean))
        direction = mean / length if length > 0 else np.full(mixture.dimension, mixture.dimension**-0.5)
        return mixture.with_group(group, mean=mean + x * float(mixture.spread[group]) * direction)

    sweeps: list[tuple[str, FloatArray, Change, float]] = [
        ("covariance of the group, times", np.geomspace(0.1, 10, THEORY_POINTS), scaled, 1.0),
        ("mean shift of the group, in its own deviations", np.linspace(0, 3, THEORY_POINTS), shifted, 0.0),
    ]
    if problem.mixture.groups > 1:
        fractions = np.unique(np.append(np.linspace(0.02, 0.98, 2 * THEORY_POINTS), share))
        sweeps.insert(0, ("fraction of the group", fractions, lambda mix, x: mix.with_fraction(group, x), share))
    return Figure(
        f"What n = {samples:,} samples teach about group {group}",
        [panel for sweep in sweeps for panel in _panels(problem, samples, group, *sweep, seed)],
        "Lines: large-n law. Points: simulation, mean and two standard errors. The test loss is entropy plus excess.",
    )


def _panels(
    problem: MixtureProblem,
    samples: int,
    group: int,
    label: str,
    places: FloatArray,
    change: Change,
    here: float,
    seed: int,
) -> tuple[Panel, Panel]:
    def world(x: float) -> MixtureProblem:
        return problem_of(change(problem.mixture, x), problem.weights, problem.activation)

    x = [float(place) for place in places]
    if label.startswith("fraction"):  # the information of the groups stays the same
        laws = FisherLaw(problem).over_fractions(samples, group, x)
    else:
        laws = [FisherLaw(world(place)).forecast(samples) for place in x]
    chosen = [x[int(index)] for index in np.linspace(0, len(x) - 1, SIMULATED_POINTS + 2)]
    count = min(samples, MOST_SIMULATED)
    runs = [simulated_excess(world(place), count, REPEATS, seed, "sweep") for place in chosen]
    scale = count / samples
    means = [None if run.mean is None else scale * run.mean[group] for run in runs]
    errors = [0.0 if run.error is None else scale * run.error[group] for run in runs]
    simulated = Points(
        chosen,
        means,
        "this group, simulated",
        [None if m is None else max(m - 2 * e, m / 10) for m, e in zip(means, errors, strict=True)],
        [None if m is None else m + 2 * e for m, e in zip(means, errors, strict=True)],
    )
    excess: list[Line | Points] = [
        Line(x, [law.groups[group].excess_risk for law in laws], "this group, law"),
        Line(x, [law.average_excess_risk for law in laws], "average, law", dashed=True),
        simulated,
    ]
    entropy = [
        Line(x, [law.groups[group].label_entropy for law in laws], "this group"),
        Line(x, [law.average_entropy for law in laws], "average", dashed=True),
    ]
    marks, x_log = [Mark(here, "as specified")], label.startswith("covariance")
    return (
        Panel("Excess risk", label, "excess risk (nats)", excess, marks, x_log=x_log, y_log=True),
        Panel("Label entropy", label, "entropy (nats)", entropy, marks, x_log=x_log),
    )
