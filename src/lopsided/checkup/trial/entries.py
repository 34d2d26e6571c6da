"""The arms of a trial before it is run: settings of their tasks, why one is not run, and what a reader should know."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.checkup.inputs.training_set import TrainingSet
from lopsided.checkup.plan.judged_parts import small_groups
from lopsided.checkup.plan.result import Plan, PlannedRemedy
from lopsided.checkup.trial.task import HELD_BACK, by_code
from lopsided.learners.named_learner import gives_probabilities, learner_name, takes_weights

LEAST_TO_HOLD_BACK = 8  # training examples of a subject: with fewer, the gain of the other half is a coin or two


@dataclass(frozen=True)
class Entry:
    """An arm to run: its tasks' settings, what it is compared with, and why it is not run."""

    name: str
    kind: str
    options: Mapping[str, Any]
    held_back: Mapping[str, Any] | None = None
    skipped: str | None = None


def trial_entries(plan: Plan, training: TrainingSet, learner: Any, folds: int, metric: str) -> list[Entry]:
    """Plain training first, then the plan's remedies in its order."""
    entries = [Entry("plain", "plain", {})]
    for remedy in plan.remedies:
        if remedy.kind == "collect":
            entries.append(_collection(remedy, training, folds))
            continue
        options = dict(remedy.options())
        if "tuned_for" in options:
            options["tuned_for"] = metric
        entries.append(Entry(remedy.name, remedy.kind, by_code(options, training), skipped=_why_not(remedy, learner)))
    return entries


def _why_not(remedy: PlannedRemedy, learner: Any) -> str | None:
    if remedy.kind in ("reweight", "group weights", "group DRO") and not takes_weights(learner):
        return f"{learner_name(learner)} takes no sample_weight."
    if remedy.kind in ("logit adjustment", "threshold", "group DRO") and not gives_probabilities(learner):
        return f"{learner_name(learner)} has no predict_proba."
    return None


def _collection(remedy: PlannedRemedy, training: TrainingSet, folds: int) -> Entry:
    axis, code = remedy.parameters["axis"], remedy.parameters["code"]
    partition = training.classes if axis == "class" else training.groups
    assert partition is not None
    least = int(partition.counts[code] * (folds - 1) / folds)
    why = None
    if least < LEAST_TO_HOLD_BACK:
        why = f"{least} training examples of {axis} {partition.names[code]} are too few to hold half of them back."
    return Entry(remedy.name, "collect", {}, {"axis": axis, "code": code}, skipped=why)


def trial_notes(training: TrainingSet, folds: int, plan: Plan) -> list[str]:
    """What a reader should know beside the numbers."""
    notes = list(plan.notes)
    notes += [note for note in small_groups(training) if note not in notes]
    counts = training.classes.counts
    single = [training.classes.names[code] for code in np.flatnonzero(counts == 1)]
    small = int(np.count_nonzero((counts > 1) & (counts < folds)))
    if single:
        notes.append(f"Classes with one example are trained on but not judged: {', '.join(single[:8])}.")
    if small:
        notes.append(f"{small} classes have fewer examples than folds; each example is still tested once a repeat.")
    if any(remedy.kind == "collect" for remedy in plan.remedies):
        notes.append(
            f"Collection is simulated: {HELD_BACK:.0%} of the subject's training examples are held back, then added; "
            "its gain is against training without them."
        )
    return notes
