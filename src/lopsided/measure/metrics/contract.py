"""What a metric is: a number computed from the answers to all examples, and the effect of every answer on it.

Every example is tested once in each repeat of a cross-validation. A metric returns its value theta and, for every
answer, u_i: its effect on theta minus the expected effect (the influence function; sum_i u_i = 0). Paired differences
between arms and their intervals (`measure.paired_scores`) need nothing else, so a new metric is one file with one
object. A metric without an influence function returns its values on resampled examples instead (`resampled`).

Examples with weights w_i count w_i times, as with scikit-learn's `sample_weight`. They are still n draws, so errors
follow from n u_i, each proportional to its w_i.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.partition import Partition
from lopsided.core.validation import BoolArray, FloatArray, IntArray

LEAST_IN_GROUP = 10  # the error of a share of ten is up to 0.16


@dataclass(frozen=True)
class Answers:
    """Whether each example was answered correctly, and the fold it was tested in (both repeats x n); class and group.

    If they were kept, the predicted class (repeats x n) and the probabilities of all classes (repeats x n x classes,
    float32). `weights` are the user's, one per example.
    """

    right: BoolArray
    fold: IntArray
    classes: IntArray
    groups: IntArray
    predicted: IntArray | None = None
    probabilities: FloatArray | None = None
    weights: FloatArray | None = None

    @cached_property
    def counted(self) -> FloatArray:
        """w_i: the weight of each example in a metric, with mean 1."""
        return np.ones(self.classes.size) if self.weights is None else self.weights / self.weights.mean()

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
        if len(range(*repeats.indices(self.repeats))) == self.repeats:
            return self
        predicted = None if self.predicted is None else self.predicted[repeats]
        chances = None if self.probabilities is None else self.probabilities[repeats]
        right, fold = self.right[repeats], self.fold[repeats]
        return Answers(right, fold, self.classes, self.groups, predicted, chances, self.weights)

    @cached_property
    def resampled(self) -> dict[Any, "Influence"]:
        """Cached results of resampled metrics for these answers."""
        return {}

    @property
    def labels(self) -> IntArray:
        """The classes that were predicted, which some metrics need."""
        if self.predicted is None:
            raise InputError("predicted classes", "only whether they are correct", "keep the predictions")
        return self.predicted

    @property
    def chances(self) -> FloatArray:
        """Probabilities that sum to 1, in double precision, which some metrics need."""
        if self.probabilities is None:
            raise InputError(
                "probabilities of the classes", "none", "use a learner with predict_proba, or a metric without them"
            )
        given = self.probabilities.astype(np.float64)
        return np.asarray(given / np.maximum(given.sum(axis=2, keepdims=True), 1e-300))

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
    """Groups that have enough examples in a `share` of the data; the single group of all examples if none were given.

    Every example is tested once per repeat, so the accuracy on a few examples is mostly chance, and the lowest of all
    groups would often be the smallest one by bad luck.
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
    """theta; u_i in every repeat (repeats x n); the effect of one changed answer on theta (n); the factor that makes
    the variance over the examples of a part unbiased (n); and the square of the smallest error.

    `draws`: theta on resampled examples, the same for all arms, in place of u_i. `by_fold`: theta of every repeat and
    fold, if it is not just the sum of u_i. `smooth`: whether a slightly different model changes every u_i a little, as
    for losses of probabilities; correct answers, in contrast, change all at once or not at all."""

    value: float
    moves: FloatArray
    step: FloatArray
    unbiased: FloatArray
    floor: float
    draws: FloatArray | None = None
    by_fold: FloatArray | None = None
    smooth: bool = False


def centred(value: float, effect: FloatArray, step: FloatArray, answers: Answers) -> Influence:
    """An influence from `effect`, the derivative of theta by the weight of every answer (repeats x n) up to a constant.

    Class sizes are treated as random: if they were fixed, intervals of the log loss and of precision, which depend on
    them, would have a coverage of 85% in simulated data sets instead of 95%.
    """
    counted = answers.counted
    moves = counted * (effect - (counted * effect).mean(axis=1, keepdims=True))
    step = counted * step
    return Influence(value, moves, step, unbiased(answers.classes), float(np.square(step[step > 0]).mean()))


def unbiased(codes: IntArray) -> FloatArray:
    """n / (n - 1) of the part of every example."""
    sizes = np.bincount(codes).astype(float)
    return np.asarray((sizes / np.maximum(sizes - 1.0, 1.0))[codes])


class Metric(ABC):
    """`name` is shown to users, and `word` is what they enter. A gain is an improvement: a rise, or a fall if smaller
    is better. `bounds` are the smallest and largest possible values."""

    name: str
    word: str
    larger_is_better: ClassVar[bool] = True
    needs_probabilities: ClassVar[bool] = False
    moved_by_thresholds: ClassVar[bool] = True  # False for those that thresholds cannot improve
    forecast: ClassVar[bool] = True  # whether the answers of a pilot are informative about it

    @property
    def bounds(self) -> tuple[float, float]:
        """Of a share."""
        return 0.0, 1.0

    @property
    def family(self) -> str:
        """The word without its class, costs or bound."""
        return self.word.partition(":")[0].partition("=")[0]

    @property
    def aim(self) -> str:
        """The word of the metric that remedies are proposed and tuned for."""
        return self.word

    @abstractmethod
    def influence(self, answers: Answers, judged: Judged) -> Influence:
        """The value, and the effect of every answer on it."""

    def value(self, answers: Answers, judged: Judged) -> float:
        """The value alone."""
        return self.influence(answers, judged).value
