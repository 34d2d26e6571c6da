"""The part of the evidence that plan and trial train on: features, classes, one partition into groups, no test rows."""

from dataclasses import dataclass, replace

import numpy as np

from lopsided.checkup.inputs.evidence import Evidence, Partition
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_matrix

# A partition into groups is used by default only if each of its groups has this many examples: with fewer, the lowest
# accuracy is that of the smallest group's luck.
GROUP_SIZE_WANTED = 50


@dataclass(frozen=True)
class TrainingSet:
    """n examples: features (n x d), class and group codes with their names; `rows` are their positions in the data."""

    source: str
    features: FloatArray
    classes: Partition
    groups: Partition | None
    rows: IntArray

    @property
    def size(self) -> int:
        """n."""
        return int(self.features.shape[0])

    @property
    def group_codes(self) -> IntArray:
        """Group of every example; all 0 where no groups were given."""
        return np.zeros(self.size, dtype=np.int64) if self.groups is None else self.groups.codes

    def subset(self, chosen: IntArray) -> "TrainingSet":
        """Some of the examples, under the same codes."""
        groups = None if self.groups is None else replace(self.groups, codes=self.groups.codes[chosen])
        return TrainingSet(
            self.source,
            self.features[chosen],
            replace(self.classes, codes=self.classes.codes[chosen]),
            groups,
            self.rows[chosen],
        )


def training_set(evidence: Evidence, *, group: str | None = None) -> TrainingSet:
    """Features and labels are needed; `group` names the partition whose worst group counts.

    Without it: the finest partition of which every group has `GROUP_SIZE_WANTED` training examples, else the first.
    """
    if evidence.classes is None:
        raise InputError("labels to plan for", "none", "say which column or array holds them")
    if evidence.missing is not None:
        got = f"features of which {evidence.missing.words}"
        raise InputError("whole features to train on", got, "fill them, or leave out those columns or rows")
    if evidence.table is None:
        raise InputError("features to train on", "none", "give them beside the labels")
    features = check_matrix(evidence.table.features(), "features", rows=evidence.rows)
    rows = np.arange(evidence.rows) if evidence.is_test is None else np.flatnonzero(~evidence.is_test)
    present = np.unique(evidence.classes.codes[rows])
    if present.size < 2:
        raise InputError("at least two classes among the training rows", present.size, "check the labels and the split")
    chosen = _partition(evidence, rows, group)
    everything = TrainingSet(evidence.source, features, evidence.classes, chosen, np.arange(evidence.rows))
    return everything if rows.size == evidence.rows else everything.subset(rows)


def _partition(evidence: Evidence, rows: IntArray, group: str | None) -> Partition | None:
    if group is not None:
        if group not in evidence.groups:
            have = ", ".join(evidence.groups) or "none"
            raise InputError(f"groups named {group!r}", f"the groups: {have}", "name one of those")
        return evidence.groups[group]
    partitions = list(evidence.groups.values())
    for partition in reversed(partitions):
        sizes = np.bincount(partition.codes[rows], minlength=len(partition.names))
        if sizes[sizes > 0].min() >= GROUP_SIZE_WANTED:
            return partition
    return partitions[0] if partitions else None
