"""Which classes will end with a recall below 0.2, before any training? The networks are those of `recall_early`."""

import numpy as np

from lopsided.core.validation import FloatArray
from lopsided.engine.task import Settings
from lopsided.skill.families import recall_early
from lopsided.skill.family import Family
from lopsided.skill.recall_questions import Seen, array, before, lost_below, lost_question, recall_question, shares

DEFAULT = "recall before training"


def _linear(settings: Settings, seen: Seen) -> FloatArray:
    return np.nan_to_num(array(seen["before"]["linear"]))


def _counts(settings: Settings, seen: Seen) -> FloatArray:
    return array(seen["before"]["counts"])


FAMILY = Family(
    id="skill-recall-before",
    title="Recall of classes, before training",
    tasks=recall_early.FAMILY.tasks,
    measure=recall_early.FAMILY.measure,
    measured_as=recall_early.FAMILY.id,
    needs=recall_early.FAMILY.needs,
    packages=recall_early.FAMILY.packages,
    question=lost_question(
        "is this class lost, before training",
        {DEFAULT: before},
        DEFAULT,
        {
            "share below 1 %": lost_below(shares, 0.01),
            "fewer than 20 examples": lost_below(_counts, 20),
            "linear rule's recall below 0.2": lost_below(_linear, 0.2),
            "never": lost_below(shares, 0.0),
        },
    ),
    numbers=[
        recall_question("recall of every class", {DEFAULT: before}, DEFAULT, {"recall of a linear rule": _linear})
    ],
)
