"""Why is a class lost: merged, prior, memorised or never learnt? Asked of classes planted with a known cause.

The monitor is not told which classes were planted: a planted class that it does not call lost has no answer.
"""

from lopsided.engine.task import Settings
from lopsided.skill.family import Choice, Family, Question, constant
from lopsided.skill.planted_causes import CAUSES, measure, tasks
from lopsided.skill.recall_questions import Seen
from lopsided.theory.class_evidence import ClassEvidence

DEFAULT = "cause of the monitor"


def _planted(settings: Settings) -> list[int]:
    """Codes of the planted classes, which come after the frequent one and three easy ones."""
    return [4, 5] if settings["cause"] == "merged" else [4]


def _truth(settings: Settings, truth: Seen) -> list[Choice]:
    return [Choice(settings["cause"]) for _ in _planted(settings)]


def _told(settings: Settings, seen: Seen) -> list[Choice]:
    from lopsided.torch.monitor import recall_outlook

    recorded = dict(seen["evidence"])
    evidence = ClassEvidence.of(recorded, seen=recorded.pop("seen"))
    found = recall_outlook.run_outlook(evidence, seen["merged"]).classes
    return [Choice(found[k].cause) for k in _planted(settings)]


FAMILY = Family(
    id="skill-recall-cause",
    title="Why a class is lost",
    tasks=tasks,
    measure=measure,
    packages=("torch",),
    question=Question(
        "why is this class lost",
        _truth,
        {DEFAULT: _told},
        DEFAULT,
        {f"always {cause}": constant(Choice(cause), lambda settings: len(_planted(settings))) for cause in CAUSES},
    ),
)
