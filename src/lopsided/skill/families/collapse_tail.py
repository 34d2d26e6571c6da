"""Which classes of a long tail does a network lose, and which pairs of classifiers turn together?

Sets, classes, networks, training and profiles are random. With a ratio of R, sizes fall from the largest to 1/R of it,
geometrically or as a power of the rank. Each task trains the same network at three ratios with two seeds; the truth is
the mean cosine over the seeds. A forecaster sees the settings, the class means of the pictures, and pilots with a third
seed: ratio 10, ratio 40, and 2 % of the steps.
"""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

import numpy as np

from lopsided.core.validation import FloatArray
from lopsided.engine.task import Settings
from lopsided.skill.collapse_recipes import (
    RECIPES,
    PairSource,
    another_run,
    lost_by,
    lost_question,
    questions_by_kind,
    values_by,
)
from lopsided.skill.collapse_runs import PILOT, asked, counts_at, measure
from lopsided.skill.family import Amount, Choice, Family, Forecaster, drawn_tasks

TASKS = 60
TAIL_RECIPES = {name: recipe for name, recipe in RECIPES.items() if "tail pilot" not in name}


@drawn_tasks("skill-collapse-tail", TASKS)
def tasks(random: np.random.Generator, _: int) -> Settings:
    """Settings of one task."""
    from lopsided.skill.small_networks import random_training

    settings = random_training(random)
    return {**settings, "profile": str(random.choice(["geometric", "power"], p=[0.6, 0.4]))}


def _pairs(settings: Settings, cosines: FloatArray) -> FloatArray:
    found: FloatArray = cosines[np.triu_indices(len(settings["classes"]), 1)]
    return found


def _nearest(settings: Settings, cosines: FloatArray) -> FloatArray:
    """The largest cosine of every class with another class."""
    others = cosines - 2.0 * np.eye(cosines.shape[0])
    found: FloatArray = others.max(axis=1)
    return found


def _lost(source: PairSource, tie: float) -> Forecaster[Choice]:
    return lost_by(source, asked, _nearest, lambda settings, lost: lost, tie)


def _cosines(source: PairSource, kind: str, recipe: bool) -> Forecaster[Amount]:
    return values_by(source, asked, _pairs, kind, attrgetter("pairs") if recipe else None)


def _constant(value: Callable[[int], float]) -> Forecaster[Amount]:
    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Amount]:
        classes = len(settings["classes"])
        return [Amount(value(classes))] * (len(asked(settings)) * (classes * (classes - 1) // 2))

    return answer


def _as_in_pilot(settings: Settings, seen: Mapping[str, Any]) -> list[Amount]:
    values = _pairs(settings, another_run(settings, seen)(PILOT).cosines)
    return [Amount(float(value)) for _ in asked(settings) for value in values]


def _below(share: float) -> Forecaster[Choice]:
    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
        profiles = [np.array(counts_at(settings, ratio)) for ratio in asked(settings)]
        return [Choice("lost" if n < share * counts.sum() else "kept") for counts in profiles for n in counts]

    return answer


FAMILY = Family(
    id="skill-collapse-tail",
    title="Classes lost: long tails",
    tasks=tasks,
    measure=measure,
    needs=("mnist", "fashion-mnist", "cifar-10"),
    packages=("torch",),
    version=2,
    question=lost_question(
        "does this class merge with another",
        _lost,
        TAIL_RECIPES,
        {"never": _below(0.0), "under 1 % of the examples": _below(0.01), "under 0.3 %": _below(0.003)},
    ),
    numbers=questions_by_kind(
        "pair cosine",
        _cosines,
        TAIL_RECIPES,
        {
            "as if balanced": _constant(lambda classes: -1.0 / (classes - 1)),
            "constant 0": _constant(lambda classes: 0.0),
            "as in the pilot": _as_in_pilot,
        },
    ),
)
