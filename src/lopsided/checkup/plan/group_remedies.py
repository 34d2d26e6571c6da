"""Remedies for groups as they are: weights, group DRO, centring and whitening by group; and why one is left out."""

import numpy as np

from lopsided.checkup.inputs.evidence import Partition
from lopsided.checkup.inputs.training_set import TrainingSet
from lopsided.checkup.plan.result import PlannedRemedy
from lopsided.remedies.dro_refits import INNER
from lopsided.remedies.mended import DRO_ROUNDS

EVEN = 1.1  # sizes within a tenth of each other count as equal: nothing to reweight
DRO_STEP = 2.0  # a group whose loss is 0.1 nats above another's gets 1.2 times its weight in every round
FEWEST_IN_A_GROUP = 20  # for means and covariances of its own, and for a say in group DRO
MOST_WHITENED = 200  # columns: a covariance per group and fold of more is slower than the trial


def group_remedies(training: TrainingSet) -> tuple[list[PlannedRemedy], list[str]]:
    """Without forecasts; and notes on what was left out."""
    groups = training.groups
    if groups is None:
        return [], []
    sizes = groups.counts[groups.counts > 0]
    if sizes.size < 2:
        return [], [f"There is only one group in {groups.name}: remedies for groups are left out."]
    remedies, notes = [], []
    if sizes.max() / sizes.min() >= EVEN:
        remedies.append(_weights(groups))
    else:
        notes.append("The groups are equal in size to within a tenth: group weights are left out.")
    small = [groups.names[code] for code in np.flatnonzero((groups.counts > 0) & (groups.counts < FEWEST_IN_A_GROUP))]
    if small:
        notes.append(
            f"Group DRO, centring and whitening are left out: fewer than {FEWEST_IN_A_GROUP} examples in "
            f"{', '.join(small[:6])}."
        )
        return remedies, notes
    remedies += [_dro(groups), _standardising(groups, "centre")]
    if training.features.shape[1] <= MOST_WHITENED:
        remedies.append(_standardising(groups, "whiten"))
    else:
        notes.append(f"Whitening by group is left out: more than {MOST_WHITENED} columns.")
    return remedies, notes


def _weights(groups: Partition) -> PlannedRemedy:
    counts = groups.counts.astype(float)
    weights = np.where(counts > 0, counts.sum() / np.maximum(counts, 1) / np.count_nonzero(counts), 1.0)
    return PlannedRemedy(
        "group weights",
        "group weights",
        {"partition": groups.name, "group_weights": dict(zip(groups.names, weights.tolist(), strict=True))},
        f"Every group of {groups.name} has the same say in the loss.",
        None,
    )


def _dro(groups: Partition) -> PlannedRemedy:
    return PlannedRemedy(
        "group DRO",
        "group DRO",
        {"partition": groups.name, "dro": DRO_STEP, "rounds": DRO_ROUNDS},
        f"The groups of {groups.name} that do worst get more weight (Sagawa et al. 2020), here in {DRO_ROUNDS} rounds "
        f"of refits: after each, weights move by exp({DRO_STEP:g} x log loss on {INNER} held-out halves); the last fit "
        "has their mean.",
        None,
    )


def _standardising(groups: Partition, how: str) -> PlannedRemedy:
    name = {"centre": "group centring", "whiten": "group whitening"}[how]
    what = {"centre": "its own mean", "whiten": "its own mean and covariance (Ledoit-Wolf)"}[how]
    return PlannedRemedy(
        name,
        "group standardising",
        {"partition": groups.name, "standardise": how},
        f"Every group of {groups.name} is standardised by {what} before training; the group of an example must be "
        "known when predicting.",
        None,
    )
