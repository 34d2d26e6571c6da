"""Sample complexity of one problem in two readings, for the claims of Fig 3 (d = 5, K = 3, equal fractions)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Figure
from lopsided.core.statistics import shape
from lopsided.engine.task import Row
from lopsided.papers.claim import Claim, Verdict, weigh
from lopsided.papers.gi.mixture_curves import described, over, seed_curve
from lopsided.papers.shared.alternatives import constant
from lopsided.papers.shared.shapes import Shape, shape_parts
from lopsided.worlds import mixture_lab as lab

DIMENSION, NEURONS = 5, 3
DISTANCE, SPREAD, STEP, STEPS = 0.5, 1e-4, 2.0, 10_000


def complexity_numbers(
    means: tuple[float, float], covariances: tuple[float, float], samples: int, seed: int
) -> dict[str, Any]:
    """Samples for |W - W*| = 0.5 at the critical point; and the steps until the authors' spread of 1e-4."""
    mixture = lab.two_groups(DIMENSION, (0.5, 0.5), means, covariances)
    problem = lab.drawn_teacher(mixture, NEURONS, seed)
    data, point = lab.solved(problem, samples, seed)
    if not point.found:
        return {"found": False, "samples_for_distance": None, "steps_needed": None, "spread_reached": 0.0}
    distance, relative = lab.matched_error(point.weights, problem)
    reach = 0.1 * float(np.linalg.norm(problem.weights))
    # A step of 2 is unstable where a group is wide; the authors' runs then bounce, and so the largest stable step is
    # used.
    step = min(STEP, 1.9 / point.largest_curvature)
    spread = lab.forecast_spread(data, point, step, STEPS, reach)
    return {
        "found": True,
        "samples_for_distance": samples * (distance / DISTANCE) ** 2,
        "relative_error": relative,
        "steps_needed": float(np.log(SPREAD / reach) / np.log(spread.rate)),
        "spread_reached": float(spread.spread <= SPREAD),
        "step": step,
    }


READINGS = {
    "critical point": "samples for |W - W*| = 0.5 at the minimiser nearest to W*",
    "authors": "steps of size 2 from W* + 0.1 |W*| until the spread is 1e-4; spread_reached counts those within 10,000",
}


RULE = (
    "each of these is a part: the samples for a given |W - W*| and the steps to the authors' spread {shape}, the 95 % "
    "interval of the paired difference over teachers beyond 0 ({sides}); partly if at least half of the parts hold. "
    "The paper names no size; a part that could not detect a factor of 1.5 is unresolved"
)


def complexity_claim(
    x: str,
    x_label: str,
    title: str,
    groups: Callable[[float], tuple[tuple[float, float], tuple[float, float]]],
    wanted: Shape,
    *,
    log: str = "",
    **stated: Any,
) -> Claim:
    """A claim on the shape of both readings over x; `groups` gives the means and covariances there, `stated` is what
    the claim says of itself."""
    return Claim(
        measure=lambda settings, seed: complexity_numbers(*groups(settings[x]), settings["n"], seed),
        judge=lambda rows: _judge(rows, x, wanted),
        plot=lambda rows: _plot(rows, x, x_label, title, log),
        readings=READINGS,
        readings_at_once=True,
        alternatives={f"no dependence on the {x}": constant(x)},
        quick_budget_seconds=40,
        **stated,
    )


def _judge(rows: Sequence[Row], x: str, wanted: Shape) -> Verdict:
    """The wanted shape over x in both readings, part by part."""
    samples = seed_curve(rows, x, "samples_for_distance").logarithmic()
    steps = seed_curve(rows, x, "steps_needed").logarithmic()
    words = {"critical point": shape(samples), "authors": shape(steps)}
    least = {
        name: float(line.x[np.argmin(line.mean)]) for name, line in (("critical point", samples), ("authors", steps))
    }
    numbers = {
        "shape": words,
        f"{x}_at_least": least,
        "log_samples_for_distance": described(samples),
        "log_steps_needed": described(steps),
        "spread_reached": described(seed_curve(rows, x, "spread_reached")),
    }
    found = (
        f"over {x}, samples for a given |W - W*|: {words['critical point']} (least at {least['critical point']:g}); "
        f"steps to the authors' spread: {words['authors']} (least at {least['authors']:g})"
    )
    parts = [
        *shape_parts("critical point: samples", samples, wanted),
        *shape_parts("authors: steps", steps, wanted),
    ]
    return weigh(parts, found, numbers)


def _plot(rows: Sequence[Row], x: str, x_label: str, title: str, log: str) -> Figure:
    """Samples and steps over x."""
    panels = [
        over(name, x_label, y_label, {"measured": seed_curve(rows, x, key).logarithmic()}, log=log)
        for name, y_label, key in (
            ("At the critical point", "log samples for |W - W*| = 0.5", "samples_for_distance"),
            ("Authors' reading", "log steps to a spread of 1e-4", "steps_needed"),
        )
    ]
    return Figure(title, panels, "Natural logarithms; bands are one standard error over teachers.")
