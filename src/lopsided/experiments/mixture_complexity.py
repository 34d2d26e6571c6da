"""Sample complexity of one problem in two readings, for the claims of Fig 3 (d = 5, K = 3, equal fractions)."""

from typing import Any

import numpy as np

from lopsided.experiments import mixture_lab as lab

DIMENSION, NEURONS = 5, 3
DISTANCE, SPREAD, STEP, STEPS = 0.5, 1e-4, 2.0, 10_000


def complexity_numbers(
    means: tuple[float, float], covariances: tuple[float, float], samples: int, seed: int
) -> dict[str, Any]:
    """Samples for |W - W*| = 0.5 at the critical point; and the steps until the authors' spread of 1e-4."""
    mixture = lab.two_groups(DIMENSION, (0.5, 0.5), means, covariances)
    problem = lab.drawn_teacher(mixture, NEURONS, seed)
    data, _ = lab.drawn_data(problem, samples, seed)
    point = lab.nearest_critical_point(problem, data)
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
