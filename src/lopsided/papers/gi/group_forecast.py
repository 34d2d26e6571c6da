"""What the large-n law of the mixture papers says about two groups of pictures, from their sample alone.

Pixels are centred and projected on their leading principal components (divided by one number, so that noise stays
round); each group is a Gaussian by its moments, and the teacher a network of two neurons fitted to the labels. So the
forecast knows nothing of the deep network that is then trained. Two classes only: the law is for binary labels. Where
no fit is found there is no forecast (None).
"""

import os
from collections.abc import Mapping
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
    numbers = picture_numbers(settings, seed)
    forecast: dict[str, float | None] = {"forecast_minority": None, "forecast_average": None}
    model = model_of(settings, seed)
    if model is not None:
        minority, copies, own = numbers["minority_code"], settings["copies"], settings["minority_size"]
        total = settings["majority_size"] + own + copies
        mixture = model.problem.mixture.with_fraction(minority, (own + copies) / total)
        problem = problem_of(mixture, model.problem.weights)
        level = [(settings["noise"] / model.unit) ** 2]
        try:
            law = forecast_noise(problem, minority, level, samples=total, share=copies / (own + copies))
        except InputError:  # the labels do not identify such a teacher
            return numbers | forecast
        forecast = {
            "forecast_minority": float(law.group_excess[0]),
            "forecast_average": float(law.average_excess[0]),
        }
    return numbers | forecast


def fraction_numbers(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Measured accuracies at one minority share of a fixed total, and the forecast excess of the minority.

    The mixture is estimated at the largest share, where the minority has examples enough.
    """
    total, share = settings["total"], settings["share"]
    few = round(share * total)
    sized = {**settings, "minority_size": few, "majority_size": total - few}
    numbers = picture_numbers(sized, seed)
    forecast: dict[str, float | None] = {"forecast_minority": None, "forecast_average": None}
    half = {**settings, "minority_size": total // 2, "majority_size": total // 2}
    model = model_of(half, seed)
    if model is not None:
        minority = numbers["minority_code"]
        fractions = np.array([1.0 - share, 1.0 - share])
        fractions[minority] = share
        try:
            law = FisherLaw(model.problem).forecast(total, fractions)
        except InputError:
            return numbers | forecast
        forecast = {
            "forecast_minority": law.groups[minority].excess_risk,
            "forecast_average": law.average_excess_risk,
        }
    return numbers | forecast
