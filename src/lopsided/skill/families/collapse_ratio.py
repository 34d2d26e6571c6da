"""At which ratio of two class sizes does a network lose its minority classes, and how far do they turn together?

Sets, classes, networks, training and numbers of minority classes are random. Each task trains the same network over a
grid of ratios with two seeds (draw of the examples, start, order), because near the threshold two seeds can differ by
half the range. The truth is the mean cosine over the seeds. A forecaster sees the settings, class means and scatter of
the pictures, and pilots with a third seed: a run at ratio 10, one at ratio 40, one whose minority classes have all
sizes, and 2 % of the steps of the first. "Lost" means that the mean cosine between minority classifiers (centred over
classes) is above 1/2; R50 is the ratio at which it crosses 1/2, by linear interpolation in log R.
"""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import numpy as np

from lopsided.core.validation import FloatArray
from lopsided.engine.task import Settings
from lopsided.skill.collapse_recipes import (
    LOST,
    RECIPES,
    PairSource,
    kind_of,
    lost_by,
    lost_question,
    questions_by_kind,
    values_by,
)
from lopsided.skill.collapse_runs import LATE_PILOT, PILOT, asked, exact_counts, measure
from lopsided.skill.family import Amount, Choice, Family, Forecaster, constant, drawn_tasks

TASKS = 84
GRID = np.geomspace(2.0, 1000.0, 30)  # ratios at which the R50 of a recipe is searched


@drawn_tasks("skill-collapse-ratio", TASKS)
def tasks(random: np.random.Generator, _: int) -> Settings:
    """Settings of one task."""
    from lopsided.skill.small_networks import random_training

    settings = random_training(random)
    classes = len(settings["classes"])
    share = float(random.choice([0.3, 0.5, 0.7]))
    majority = int(np.clip(round(share * classes), 1, classes - 2))
    return {**settings, "majority": majority}


def _ratios(settings: Settings) -> list[int]:
    return [ratio for ratio in asked(settings) if ratio not in (PILOT, LATE_PILOT)]


def minority_mean(settings: Settings, cosines: FloatArray) -> FloatArray:
    """The mean cosine between minority classes, as the only value."""
    block = cosines[settings["majority"] :, settings["majority"] :]
    size = block.shape[0]
    return np.array([(block.sum() - np.trace(block)) / (size * (size - 1))])


def crossing(ratios: FloatArray, values: FloatArray) -> float | None:
    """The ratio at which the cosine first crosses 1/2; None if that is not within the grid."""
    above = np.flatnonzero(values > LOST)
    if above.size == 0 or above[0] == 0:
        return None
    place = int(above[0])
    low, high = values[place - 1], values[place]
    share = (LOST - low) / (high - low)
    return float(ratios[place - 1] * (ratios[place] / ratios[place - 1]) ** share)


def _threshold(source: PairSource, kind: str, recipe: bool) -> Forecaster[Amount]:
    """R50: for runs, from the measured ratios; for recipes, on a fine grid and with their interval."""

    def answer(settings: Settings, given: Mapping[str, Any]) -> list[Amount]:
        law = source(settings, given) if kind_of(settings) == kind else None
        if law is None:
            return [Amount(None)]
        ratios = GRID if recipe else np.array(asked(settings), dtype=float)
        found = [law(ratio if recipe else int(ratio)) for ratio in ratios]
        value = crossing(ratios, np.array([minority_mean(settings, one.cosines)[0] for one in found]))
        own = found[0].threshold_factor
        return [Amount(value) if value is None or own is None else Amount(value, value / own, value * own)]

    return answer


def _past(ratio: float) -> Forecaster[Choice]:
    return lambda settings, seen: [Choice("lost" if asked > ratio else "kept") for asked in _ratios(settings)]


def _by_ratio(settings: Settings, seen: Mapping[str, Any]) -> list[Amount]:
    """Linear in log R, from 0 at ratio 5 to 1 at ratio 300, for every network."""
    values = [np.log(ratio / 5) / np.log(300 / 5) for ratio in _ratios(settings)]
    return [Amount(float(value)) for value in values]


def _lost(source: PairSource, tie: float) -> Forecaster[Choice]:
    # all minority classes have the same size, so one of them shows whether they are lost
    return lost_by(source, _ratios, minority_mean, lambda settings, lost: lost[settings["majority"] :][:1], tie)


def _cosines(source: PairSource, kind: str, recipe: bool) -> Forecaster[Amount]:
    return values_by(source, _ratios, minority_mean, kind, attrgetter("means") if recipe else None)


FAMILY = Family(
    id="skill-collapse-ratio",
    title="Classes lost: two class sizes",
    tasks=tasks,
    measure=measure,
    needs=("mnist", "fashion-mnist", "cifar-10"),
    packages=("torch",),
    version=3,
    question=lost_question(
        "are the minority classes lost at this ratio",
        _lost,
        RECIPES,
        {"never": _past(np.inf), "past ratio 100": _past(100), "past ratio 30": _past(30)},
    ),
    numbers=(
        *questions_by_kind(
            "R50",
            _threshold,
            RECIPES,
            {f"always {guess}": constant(Amount(float(guess))) for guess in (30, 50, 100)},
            "ratio",
            exact_counts,
        ),
        *questions_by_kind(
            "minority cosine",
            _cosines,
            RECIPES,
            {
                "constant 0": constant(Amount(0.0), lambda settings: len(_ratios(settings))),
                "constant 1/2": constant(Amount(0.5), lambda settings: len(_ratios(settings))),
                "by the ratio alone": _by_ratio,
            },
        ),
    ),
)
