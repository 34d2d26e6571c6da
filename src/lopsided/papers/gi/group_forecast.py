"""The forecast of the large-n law of the mixture papers for two groups of pictures, from their sample alone.

Pixels are centred and projected on their leading principal components (divided by one number, so that noise stays
round); each group is a Gaussian by its moments, and the teacher a network of two neurons fitted to the labels. So the
forecast does not use the deep network that is then trained. The law is for binary labels, so it applies only to two
classes. If no fit is found, there is no forecast (None).
"""

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.mixture_spec import MixtureProblem, problem_of
from lopsided.core.seeds import generator
from lopsided.data.image_set import Images
from lopsided.data.images import VARIABLE
from lopsided.data.mixture_estimate import estimate_by_moments
from lopsided.learners.teacher_student import training_set
from lopsided.learners.teacher_student_newton import newton
from lopsided.papers.gi.group_pictures import group_sample, picture_numbers
from lopsided.remedies.augmentation import forecast_noise
from lopsided.theory.fisher_law import FisherLaw

COMPONENTS, NEURONS, STARTS = 3, 2, 4
STEEPEST = 50.0  # weights beyond this, for points of unit deviation, mean labels that are separable
MOST_EXAMPLES = 4000  # enough for moments of three components and two neurons


@dataclass(frozen=True)
class GroupModel:
    """The groups as a mixture problem; `unit` is what one pixel value of white is divided by."""

    problem: MixtureProblem
    unit: float


_MODELS: dict[tuple[Any, ...], GroupModel | None] = {}  # levels under one seed share sample and model
_SHAPING = ("images", "classes", "shrink", "read", "minority", "majority_size", "minority_size")


def model_of(settings: Mapping[str, Any], seed: int) -> GroupModel | None:
    """The model of the plain sample that the settings draw, kept for the next level."""
    key = (os.environ.get(VARIABLE), seed, *(settings.get(name) for name in _SHAPING))
    if key not in _MODELS:
        if len(_MODELS) > 256:
            _MODELS.clear()
        _MODELS[key] = group_model(group_sample(settings, seed)[0], seed) if settings["classes"] == 2 else None
    return _MODELS[key]


def group_model(sample: Images, seed: int) -> GroupModel | None:
    """Moments of the groups and a fitted teacher; None where Newton finds no minimum."""
    assert sample.groups is not None
    kept = generator(seed, "forecast").permutation(sample.size)[:MOST_EXAMPLES]
    rows = sample.take(kept).rows()
    rows -= rows.mean(axis=0)
    variances, turn = np.linalg.eigh(rows.T @ rows / len(rows))
    unit = float(np.sqrt(variances[-1]))
    points = rows @ turn[:, -COMPONENTS:] / unit
    try:
        mixture = estimate_by_moments(points, sample.groups[kept]).mixture
    except InputError:
        return None
    data = training_set(points, sample.labels[kept].astype(float))
    source = generator(seed, "teachers")
    starts = [source.standard_normal((COMPONENTS, NEURONS)) for _ in range(STARTS)]
    tries = [newton(data, start, tolerance=1e-8, limit=STEEPEST) for start in starts]
    found = [point for point in tries if point.found and np.abs(point.weights).max() < STEEPEST]
    if not found:
        return None
    return GroupModel(problem_of(mixture, min(found, key=lambda point: point.loss).weights), unit)


def noise_numbers(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Measured accuracies, and the forecast excess (nats) of the minority and on average at this noise level."""

    def forecast(model: GroupModel, minority: int) -> tuple[float, float]:
        copies, own = settings["copies"], settings["minority_size"]
        total = settings["majority_size"] + own + copies
        mixture = model.problem.mixture.with_fraction(minority, (own + copies) / total)
        problem, level = problem_of(mixture, model.problem.weights), [(settings["noise"] / model.unit) ** 2]
        law = forecast_noise(problem, minority, level, samples=total, share=copies / (own + copies))
        return float(law.group_excess[0]), float(law.average_excess[0])

    return _with_forecast(picture_numbers(settings, seed), model_of(settings, seed), forecast)


def fraction_numbers(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Measured accuracies at one minority share of a fixed total, and the forecast excess of the minority.

    The mixture is estimated at the largest share, where the minority has examples enough.
    """
    total, share = settings["total"], settings["share"]
    few = round(share * total)

    def forecast(model: GroupModel, minority: int) -> tuple[float, float]:
        fractions = np.full(2, 1.0 - share)
        fractions[minority] = share
        law = FisherLaw(model.problem).forecast(total, fractions)
        return law.groups[minority].excess_risk, law.average_excess_risk

    numbers = picture_numbers({**settings, "minority_size": few, "majority_size": total - few}, seed)
    half = {**settings, "minority_size": total // 2, "majority_size": total // 2}
    return _with_forecast(numbers, model_of(half, seed), forecast)


def _with_forecast(
    numbers: dict[str, Any], model: GroupModel | None, forecast: Callable[[GroupModel, int], tuple[float, float]]
) -> dict[str, Any]:
    """The numbers with the forecast excess of the minority and on average; None where the model or the law declines."""
    found: tuple[float | None, float | None] = (None, None)
    if model is not None:
        with contextlib.suppress(InputError):  # the labels do not identify such a teacher
            found = forecast(model, numbers["minority_code"])
    return {**numbers, "forecast_minority": found[0], "forecast_average": found[1]}
