"""What a planned remedy is forecast to gain, from a pilot's held-out predictions; None with the reason where nothing
says so.

Used twice: on all training rows for the plan, and by the trial on the training rows of each fold, so that a forecast
never saw the examples it is judged on.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lopsided.checkup.inputs.training_set import TrainingSet
from lopsided.checkup.plan.learning_curve import FURTHEST, LEAST_EXAMPLES, learning_curve
from lopsided.checkup.plan.pilot import Pilot
from lopsided.checkup.plan.result import GainForecast
from lopsided.core.validation import FloatArray
from lopsided.measure.paired_scores import METRICS
from lopsided.remedies.offset_search import best_offsets

PRIOR_SHIFT = "a pilot's held-out probabilities under the changed prior (Elkan 2001; Fang et al. 2021, Proposition 1)"
ADJUSTED = "a pilot's held-out probabilities, adjusted (Menon et al. 2021)"
MOVED = "a pilot's held-out probabilities, offsets tuned on its other folds"
CURVE = "a pilot's learning curve continued as a power law"

SILENT = {
    "noise": "no theory here gives the gain of noise in accuracy",
    "group DRO": "its weights are known only after training",
    "group standardising": "the mixture theory speaks of how fast a network learns, not of its accuracy",
}

Forecast = tuple[GainForecast | None, str]


def forecast_gain(kind: str, parameters: Mapping[str, Any], pilot: Pilot, metric: str, seed: int) -> Forecast:
    """The forecast of a remedy that can be applied to the data as they are, and the reason where there is none."""
    names = pilot.training.classes.names
    if kind in SILENT:
        return None, f"No forecast: {SILENT[kind]}."
    if kind == "threshold":
        return pilot.forecast(METRICS[metric], _moved(pilot, metric), MOVED), ""
    if kind == "group weights":
        if not pilot.sees_groups or pilot.training.groups is None:
            return None, "No forecast: classes times groups are too many for the pilot to model together."
        weights = np.array([parameters["group_weights"].get(name, 1.0) for name in pilot.training.groups.names])
        return pilot.forecast(METRICS[metric], np.asarray(pilot.probabilities @ weights), PRIOR_SHIFT), ""
    key, missing = {
        "oversample": ("rates", 1.0),
        "reweight": ("class_weights", 1.0),
        "logit adjustment": ("offsets", 0.0),
    }[kind]
    values = np.array([float(parameters[key].get(name, missing)) for name in names])
    factors = np.exp(values - values.max()) if kind == "logit adjustment" else values
    ground = ADJUSTED if kind == "logit adjustment" else PRIOR_SHIFT
    return pilot.forecast(METRICS[metric], pilot.plain() * factors, ground), ""


def forecast_collection(
    pilot_set: TrainingSet, axis: str, code: int, *, have: int, ratio: float, seed: int
) -> Forecast:
    """The gain in the subject's own accuracy when its `have` examples grow `ratio` times."""
    partition = pilot_set.classes if axis == "class" else pilot_set.groups
    assert partition is not None
    name, size = partition.names[code], int(partition.counts[code])
    if size < LEAST_EXAMPLES:
        return None, f"No forecast: a learning curve needs {LEAST_EXAMPLES} examples."
    if ratio > FURTHEST:
        return None, f"No forecast: {ratio:.1f} times as many is further than the learning curve reaches."
    curve = learning_curve(pilot_set, axis, code, seed, ratio=ratio)
    value, low, high = curve.gain(since=have / size)
    metric = f"recall of {name}" if axis == "class" else f"accuracy on {name}"
    learned = curve.learned(since=have / size)
    return GainForecast(metric, value, low, high, f"{CURVE} with exponent {curve.exponent:.2f}", learned), ""


def _moved(pilot: Pilot, metric: str) -> FloatArray:
    """Class scores in which every fold is moved by offsets tuned on the other folds."""
    codes, groups, moved = pilot.training.classes.codes, pilot.training.group_codes, pilot.plain()
    for repeat in range(moved.shape[0]):
        plain = moved[repeat].copy()
        for number in np.unique(pilot.fold[repeat]):
            others = pilot.fold[repeat] != number
            offsets = best_offsets(plain[others], codes[others], groups[others], metric)
            moved[repeat][~others] *= np.exp(offsets - offsets.max())
    return moved
