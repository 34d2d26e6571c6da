"""Questions about the networks of `recall_runs`: is a class lost, what is its recall, how much does adjustment gain?

The answers are the outlooks that `lopsided.torch` gives: `run_outlook` at the end of an epoch and `planned_outlook`
before training.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lopsided.core.validation import FloatArray
from lopsided.engine.task import Settings
from lopsided.skill.family import Amount, Choice, Forecaster, Question
from lopsided.theory.class_evidence import ClassEvidence
from lopsided.theory.recall_law import LOST, PlannedTraining

if TYPE_CHECKING:  # PyTorch is needed to score, not to list the families
    from lopsided.torch.monitor.recall_outlook import RecallOutlook

Seen = Mapping[str, Any]
Law = Callable[[Settings, Seen], "RecallOutlook"]
Recalls = Callable[[Settings, Seen], FloatArray]
ANOTHER = "another run"
INPUTS = "inputs_"  # the rates of simple rules on the inputs that the monitor was shown


def evidence_at(
    settings: Settings, seen: Seen, mark: float, *, known: bool = True, given: bool = False
) -> ClassEvidence:
    """What the first run had shown at a mark, and the forecast before it; `known` is whether the planned length is.

    The forecast before training is that of the inputs that the monitor was shown until then, or, if the training data
    are `given` to it, that of all of them.
    """
    told, inputs = inputs_at(seen, mark)
    scores = before(settings, seen if given else inputs).scores
    return ClassEvidence.of(told | {"before_score": scores}, seen=mark if known else None)


def inputs_at(seen: Seen, mark: float) -> tuple[dict[str, Any], Seen]:
    """What a run had shown at a mark, apart from what its inputs had until then, in the form of `seen`."""
    told = {name: values for name, values in seen["marks"][str(mark)].items() if name != "posthoc"}
    rates = {name.removeprefix(INPUTS): told.pop(name) for name in list(told) if name.startswith(INPUTS)}
    return told, {"before": {**seen["before"], **rates}}


def before_of(settings: Settings, seen: Seen) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, PlannedTraining]:
    """The arguments of `recall_before_training`."""
    counts, means, neighbours, linear = (
        array(seen["before"][name]) for name in ("counts", "nearest_mean", "nearest_neighbour", "linear")
    )
    training = PlannedTraining(
        steps=settings["steps"],
        batch_size=settings["batch"],
        learning_rate=settings["rate"],
        adaptive=settings["optimiser"] == "adamw",
        # EfficientNet and the residual net have it; a frozen backbone with a linear head trains none
        batch_norm=settings["norm"] == "batch" or settings["network"] == "fine-tuned backbone",
        attention=settings["network"] in ("vit", "text transformer"),
    )
    return counts, means, neighbours, linear, training


def array(values: Sequence[float | None]) -> FloatArray:
    """None as nan."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def early(mark: float, *, inputs: bool = True, given: bool = False, held_out: bool = True, known: bool = True) -> Law:
    """What the monitor tells at a mark; `inputs` is whether it compares inputs, `given` whether it has all of them."""

    def law(settings: Settings, seen: Seen) -> "RecallOutlook":
        from lopsided.torch.monitor import recall_outlook

        evidence = evidence_at(settings, seen, mark, known=known, given=given)
        evidence = evidence if inputs else evidence.without_before()
        return recall_outlook.run_outlook(evidence if held_out else evidence.without_held_out())

    return law


def before(settings: Settings, seen: Seen) -> "RecallOutlook":
    """What `lopsided.torch.recall_before` tells, from what was measured of the training examples."""
    from lopsided.torch import before_training

    counts, means, neighbours, linear, training = before_of(settings, seen)
    return before_training.planned_outlook(counts, (means, neighbours, linear), training)


def rates_at(mark: float, name: str) -> Recalls:
    """A recorded rate at a mark, 0 where there is none."""
    return lambda settings, seen: np.nan_to_num(array(seen["marks"][str(mark)][name]))


def shares(settings: Settings, seen: Seen) -> FloatArray:
    """Every class's share of the training examples."""
    counts = array(seen["before"]["counts"])
    found: FloatArray = counts / counts.sum()
    return found


def another_run(settings: Settings, seen: Seen) -> FloatArray:
    """Recalls of the second run."""
    return array(seen[ANOTHER])


def lost_by_law(law: Law) -> Forecaster[Choice]:
    """Lost if that is more likely than not, with its chance."""

    def answer(settings: Settings, seen: Seen) -> list[Choice]:
        chances = [one.chance_lost for one in law(settings, seen).classes]
        return [Choice("lost" if c > 0.5 else "kept", confidence=max(c, 1 - c), score=c) for c in chances]

    return answer


def lost_below(rates: Recalls, threshold: float) -> Forecaster[Choice]:
    """Lost if a rate is below a threshold; for the AUC, a lower rate is more likely to be lost."""

    def answer(settings: Settings, seen: Seen) -> list[Choice]:
        return [Choice("lost" if rate < threshold else "kept", score=-rate) for rate in rates(settings, seen).tolist()]

    return answer


def recall_by_law(law: Law) -> Forecaster[Amount]:
    """Median and interval."""

    def answer(settings: Settings, seen: Seen) -> list[Amount]:
        return [Amount(one.recall, one.low, one.high) for one in law(settings, seen).classes]

    return answer


def recall_as(rates: Recalls) -> Forecaster[Amount]:
    """A recorded rate taken as the forecast."""
    return lambda settings, seen: [Amount(rate) for rate in rates(settings, seen).tolist()]


def was_lost(settings: Settings, truth: Seen) -> list[Choice]:
    """What happened on the test set."""
    return [Choice("lost" if recall < LOST else "kept") for recall in truth["recall"]]


def was_recall(settings: Settings, truth: Seen) -> list[Amount]:
    """The recall on the test set."""
    return [Amount(recall) for recall in truth["recall"]]


def class_names(settings: Settings) -> list[str]:
    """Classes by their place in the tail."""
    return [f"class {k}" for k in range(settings["classes"])]


def lost_question(
    name: str, laws: Mapping[str, Law], default: str, rules: Mapping[str, Forecaster[Choice]]
) -> Question[Choice]:
    """Is a class lost, by every law, by another run and by simple rules."""
    answers = {one: lost_by_law(law) for one, law in laws.items()} | {ANOTHER: lost_below(another_run, LOST)}
    return Question(name, was_lost, answers, default, rules, parts=class_names, unshipped=(ANOTHER,))


def recall_question(name: str, laws: Mapping[str, Law], default: str, rules: Mapping[str, Recalls]) -> Question[Amount]:
    """The recall of every class, likewise."""
    answers = {one: recall_by_law(law) for one, law in laws.items()} | {ANOTHER: recall_as(another_run)}
    told = {one: recall_as(rates) for one, rates in rules.items()}
    return Question(name, was_recall, answers, default, told, parts=class_names, unshipped=(ANOTHER,))
