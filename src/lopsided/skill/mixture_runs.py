"""The measurements of the family on random mixtures: the mean excess risk of every group on the population, over many
samples at the old and at the new fraction, and the estimates from one sample of the first size."""

from typing import Any

import numpy as np

from lopsided.core.mixture_spec import Mixture, mixture_of, problem_of
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray
from lopsided.data.mixture import draw_sample, draw_tests, random_mixture
from lopsided.data.mixture_estimate import estimate_by_moments
from lopsided.engine.task import Numbers, Settings
from lopsided.learners.teacher_student import training_set
from lopsided.learners.teacher_student_newton import newton
from lopsided.measure.mixture_errors import population_risk

REPEATS = 200


def world_of(settings: Settings) -> Any:
    """The mixture and teacher of a task."""
    random = generator(settings["index"], "skill", "world")
    size = settings["dimension"]
    mixture = random_mixture(settings["groups"], size, random)
    means, covariances = mixture.means.copy(), mixture.covariances.copy()
    chosen = settings["group"]
    if settings["kind"] == "narrow":
        covariances[chosen] = covariances[chosen] * random.uniform(0.02, 0.3)
    if settings["kind"] == "wide":
        covariances[chosen] = covariances[chosen] * random.uniform(3.0, 30.0)
    if settings["kind"] == "far":
        means[chosen] = means[chosen] * random.uniform(2.0, 5.0)
    changed = mixture_of(mixture.fractions, list(means), list(covariances), size)
    return problem_of(changed, random.standard_normal((size, settings["neurons"])))


def described(mixture: Mixture, weights: FloatArray) -> dict[str, Any]:
    """Mixture and network in plain numbers."""
    return {
        "fractions": mixture.fractions.tolist(),
        "means": mixture.means.tolist(),
        "covariances": mixture.covariances.tolist(),
        "weights": weights.tolist(),
    }


def new_fraction(fraction: float, factor: float) -> float:
    """The larger fraction in question."""
    return min(0.95, fraction * factor, 0.5 * (1.0 + fraction))


def measure(settings: Settings, seed: int) -> Numbers:
    """Excess of every group at both fractions, with standard errors; and one sample's estimates."""
    problem = world_of(settings)
    mixture, count, chosen = problem.mixture, settings["samples"], settings["group"]
    new = new_fraction(float(mixture.fractions[chosen]), settings["factor"])
    worlds = {"now": problem, "later": problem_of(mixture.with_fraction(chosen, new), problem.weights)}
    excess: dict[str, list[list[float]]] = {word: [] for word in worlds}
    lost = 0
    for word, world in worlds.items():
        tests = draw_tests(world.mixture, seed)
        for repeat in range(REPEATS):
            sample = draw_sample(world, count, generator(seed, "sample", word, repeat))
            point = newton(training_set(sample.features, sample.labels), problem.weights)
            if not point.found:
                lost += 1
                continue
            excess[word].append(population_risk(point.weights, world, tests).excess)
    one = draw_sample(problem, count, generator(seed, "seen"))
    data = training_set(one.features, one.labels)
    # Newton from several random starts: a forecaster does not know the teacher
    starts = [generator(seed, "seen start", k).standard_normal(problem.weights.shape) for k in range(6)]
    points = [point for start in starts if (point := newton(data, start, limit=50.0)).found]
    seen: dict[str, Any] = {"fitted": None}
    if points:
        best = min(points, key=lambda point: point.loss)
        estimate = estimate_by_moments(one.features, one.groups).mixture
        seen["fitted"] = described(estimate, best.weights)
    truth: dict[str, Any] = {"lost": lost}
    for word, rows in excess.items():
        array = np.array(rows).reshape(len(rows), mixture.groups)
        enough = len(rows) >= REPEATS // 2
        truth[word] = array.mean(axis=0).tolist() if enough else None
        truth[f"{word}_error"] = (array.std(axis=0, ddof=1) / np.sqrt(len(rows))).tolist() if enough else None
    return {"seen": seen, "truth": truth}
