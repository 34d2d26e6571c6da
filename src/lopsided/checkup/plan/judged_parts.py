"""Which classes and groups count when the worst one is sought, and the words for those that do not.

A class counts with two examples: one to learn from, one to test on. A group counts with `LEAST_IN_GROUP`: every example
is tested once a repeat, so the accuracy of fewer is a throw of a few coins, and the lowest of all groups would be that
of the smallest one's luck.
"""

import numpy as np

from lopsided.checkup.checks.finding import named
from lopsided.checkup.inputs.training_set import TrainingSet
from lopsided.core.errors import InputError
from lopsided.measure.paired_scores import Judged

LEAST_IN_GROUP = 10  # the error of a share of ten is up to 0.16


def judged_parts(training: TrainingSet, groups: tuple[int, ...] | None = None) -> Judged:
    """Classes and groups of `training` that count; `groups` are those that count in the data it was drawn from."""
    classes = np.flatnonzero(training.classes.counts >= 2)
    present = np.flatnonzero(np.bincount(training.group_codes) > 0).tolist()
    counting = judged_groups(training) if groups is None else [code for code in groups if code in present] or present
    return Judged(tuple(classes.tolist()), tuple(counting))


def judged_groups(training: TrainingSet, share: float = 1.0) -> tuple[int, ...]:
    """Groups of which a `share` of the examples is enough; the one group of everything where none were given."""
    if training.groups is None:
        return (0,)
    return tuple(np.flatnonzero(training.groups.counts * share >= LEAST_IN_GROUP).tolist())


def check_worst_group(training: TrainingSet) -> None:
    """Refuse to look for the worst of groups that are all too small."""
    groups = training.groups
    if groups is not None and not judged_groups(training):
        largest = int(np.argmax(groups.counts))
        raise InputError(
            f"a group of {groups.name} with at least {LEAST_IN_GROUP} training examples for the worst group",
            f"{groups.counts[largest]} in the largest, {groups.names[largest]}",
            "name coarser groups, or another metric such as balanced",
        )


def small_groups(training: TrainingSet) -> list[str]:
    """A sentence about the groups that are too small, or none."""
    groups = training.groups
    if groups is None:
        return []
    small = [code for code in np.flatnonzero(groups.counts > 0).tolist() if code not in judged_groups(training)]
    if not small:
        return []
    told = named([f"{groups.names[code]}: {groups.counts[code]}" for code in small])
    return [f"Groups of {groups.name} with fewer than {LEAST_IN_GROUP} examples are never the worst group ({told})."]
