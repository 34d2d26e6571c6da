"""Balanced bagging: the learner is fitted on several undersamples, each with all classes equal, and their probabilities
are averaged.

Every undersample forgets most of the larger classes; together they forget little, so this keeps the balance of
undersampling without most of its loss (Wallace et al. 2011; EasyEnsemble of Liu et al. 2009 is its form for AdaBoost).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.labelled_set import LabelledSet
from lopsided.remedies.contract import Occasion, Proposal, Proposals, Remedy, uneven_classes
from lopsided.remedies.learner import Learner

LEAST_IN_BAG = 30  # examples of a class, some of them copies where it has fewer: learners need a few to split on


@dataclass(frozen=True)
class AveragedModels:
    """Fitted copies of one learner; a class that a copy does not know has probability 0 there."""

    models: tuple[Any, ...]
    learner: Learner
    classes_: IntArray

    def predict_proba(self, features: Any) -> FloatArray:
        """The mean over the copies."""
        number = self.classes_.size
        return np.asarray(
            np.mean([self.learner.probabilities(model, features, number) for model in self.models], axis=0)
        )

    def predict(self, features: Any) -> IntArray:
        """The class that is most probable on average."""
        return np.asarray(self.predict_proba(features).argmax(axis=1), dtype=np.int64)


@dataclass(frozen=True)
class BalancedBagging(Remedy):
    """`bags` undersamples, each with as many examples of every class as the smallest has, or `LEAST_IN_BAG`."""

    kind: ClassVar[str] = "balanced bagging"
    name: ClassVar[str] = "balanced bagging"
    silent: ClassVar[str] = "the gain of averaging over undersamples is not known in advance"
    needs_probabilities: ClassVar[bool] = True
    bags: int = 10

    @classmethod
    def propose(cls, occasion: Occasion) -> Proposals:
        """Wherever class sizes differ."""
        classes, notes = uneven_classes(occasion.training)
        if classes is None:
            return [], notes
        why = f"Averages {cls.bags} models, each trained on equally many examples of every class."
        return [Proposal(cls(), why)], []

    def train(self, training: LabelledSet, learner: Learner, weights: FloatArray | None, seed: int) -> AveragedModels:
        """A copy of the learner on every undersample."""
        codes, counts = training.classes.codes, training.classes.counts
        each = max(int(counts[counts > 0].min()), min(LEAST_IN_BAG, int(counts.max())))
        models = []
        for bag in range(self.bags):
            random = generator(seed, "balanced bagging", bag)
            rows = np.sort(
                np.concatenate([_some(np.flatnonzero(codes == code), each, random) for code in np.unique(codes)])
            )
            models.append(learner.fit(training.subset(rows), None if weights is None else weights[rows]))
        return AveragedModels(tuple(models), learner, np.arange(len(training.classes.names)))


def _some(rows: IntArray, number: int, random: np.random.Generator) -> IntArray:
    """That many of the rows, each as often as the others or once more."""
    return np.concatenate([np.tile(rows, number // rows.size), random.permutation(rows)[: number % rows.size]])
