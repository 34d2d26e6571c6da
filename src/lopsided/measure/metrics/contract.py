"""What a metric is: a number of right answers, and how far every single answer moves it.

Every example is tested once in each repeat of a cross-validation. A metric gives its value theta and, for every answer,
u_i: how much it adds to theta less its expectation (the influence function; sum_i u_i = 0). Paired differences between
arms and their intervals (`measure.paired_scores`) need nothing else, so a new metric is one file with one object.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lopsided.core.partition import Partition
from lopsided.core.validation import BoolArray, FloatArray, IntArray

LEAST_IN_GROUP = 10  # the error of a share of ten is up to 0.16


@dataclass(frozen=True)
class Answers:
    """Whether each example was answered rightly, and the fold it was tested in (both repeats x n); class and group.

    Where they were kept, the class that was predicted (repeats x n) and the probabilities of all classes (repeats x n x
    classes, float32).
    """

    right: BoolArray
    fold: IntArray
    classes: IntArray
    groups: IntArray
    predicted: IntArray | None = None
    probabilities: FloatArray | None = None

    @cached_property
    def shares(self) -> FloatArray:
        """m_i: the share of repeats in which each example was right."""
        return np.asarray(self.right.mean(axis=0))

    @property
    def repeats(self) -> int:
        """How often every example was tested."""
        return int(self.right.shape[0])

    def among(self, repeats: slice) -> "Answers":
        """Those of some of the repeats."""
        known = (None if part is None else part[repeats] for part in (self.predicted, self.probabilities))
        return Answers(self.right[repeats], self.fold[repeats], self.classes, self.groups, *known)

    def parts(self, axis: str) -> IntArray:
        """The part of every example along class, group or everything."""
        if axis == "everything":
            return np.zeros_like(self.classes)
        return self.classes if axis == "class" else self.groups


@dataclass(frozen=True)
class Judged:
    """Which classes and groups count in class-wise and group-wise metrics."""

    classes: tuple[int, ...]
    groups: tuple[int, ...]

    def parts(self, axis: str) -> list[int]:
        """Codes along an axis."""
        return {"class": list(self.classes), "group": list(self.groups), "everything": [0]}[axis]


def judged_groups(groups: Partition | None, share: float = 1.0) -> tuple[int, ...]:
    """Groups of which a `share` of the examples is enough; the one group of everything where none were given.

    Every example is tested once a repeat, so the accuracy of a few is a throw of a few coins, and the lowest of all
    groups would be that of the smallest one's luck.
    """
    return (0,) if groups is None else tuple(np.flatnonzero(groups.counts * share >= LEAST_IN_GROUP).tolist())


def judged_parts(classes: Partition, groups: Partition | None, counting: tuple[int, ...] | None = None) -> Judged:
    """Classes and groups that count: classes with two examples, one to learn from and one to test on.

    counting: the groups that count in the data these were drawn from.
    """
    of_classes = tuple(np.flatnonzero(classes.counts >= 2).tolist())
    if counting is None:
        return Judged(of_classes, judged_groups(groups))
    present = [0] if groups is None else np.flatnonzero(groups.counts).tolist()
    return Judged(of_classes, tuple(code for code in counting if code in present) or tuple(present))


@dataclass(frozen=True)
class Influence:
    """theta; u_i in every repeat (repeats x n); how far one changed answer moves theta (n), the factor that makes the
    variance over the examples of a part unbiased (n), and the square of the least error."""

    value: float
    moves: FloatArray
    step: FloatArray
    unbiased: FloatArray
    floor: float


class Metric(ABC):
    """A number in [0, 1] that is the better the larger; `name` is what people read."""

    name: str

    @abstractmethod
    def influence(self, answers: Answers, judged: Judged) -> Influence:
        """The value, and what every answer does to it."""
