"""Balanced bagging: the learner is fitted on several undersamples, each with all classes equal, and their probabilities
are averaged.

Every undersample drops most of the larger classes, but together they drop little. So this keeps the balance of
undersampling without most of its loss of data (Wallace et al. 2011; EasyEnsemble of Liu et al. 2009 is its form for
AdaBoost).

What is in the bags follows from the learner. For the built-in learner `boosting` it is single random trees, ten times
as many, each on a bootstrap of every class: a balanced random forest (Chen et al. 2004). A bag of a dozen examples
leaves nothing to boost: on 60 cuts of 30 development sets of KEEL's imbalanced suite, trees had a mean balanced
accuracy of 0.883 in half of the time, ten boosted models 0.880, twenty smaller ones 0.876, trees that choose from half
of the columns 0.880. Any other learner, boosted trees of the user's own with their settings among them, is copied.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lopsided.core.partition import appearing
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.labelled_set import LabelledSet
from lopsided.learners.named_learner import bagged_as_trees
from lopsided.learners.random_trees import RandomTrees, grow_trees
from lopsided.remedies.contract import Occasion, Proposal, Proposals, Remedy, uneven_classes
from lopsided.remedies.learner import Learner

TREES = 10  # in place of a model
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
    """`bags` undersamples, each with as many examples of every class as the smallest has, or `LEAST_IN_BAG`; `TREES`
    times as many for single trees, without that least."""

    kind: ClassVar[str] = "balanced bagging"
    name: ClassVar[str] = "balanced bagging"
    silent: ClassVar[str] = "the gain of averaging over undersamples is not known in advance"
    without_form: ClassVar[str] = (
        "train a network on each of several undersampled sets, and average their probabilities"
    )
    needs_probabilities: ClassVar[bool] = True
    bags: int = 10

    @classmethod
    def propose(cls, occasion: Occasion) -> Proposals:
        """Proposed if class sizes differ."""
        classes, notes = uneven_classes(occasion.training)
        if classes is None:
            return [], notes
        models = f"{cls.bags} models (boosting: {TREES * cls.bags} trees)"
        why = f"Averages {models}, each trained on equally many examples of every class."
        return [Proposal(cls(), why)], []

    def train(
        self, training: LabelledSet, learner: Learner, weights: FloatArray | None, seed: int
    ) -> AveragedModels | RandomTrees:
        """A copy of the learner, or for boosting a tree, on every undersample."""
        codes, counts = training.classes.codes, training.classes.counts
        if bagged_as_trees(learner.estimator):
            return self._trees(training, weights, seed)
        each = max(int(counts[counts > 0].min()), min(LEAST_IN_BAG, int(counts.max())))
        models = []
        for bag in range(self.bags):
            random = generator(seed, "balanced bagging", bag)
            rows = np.sort(
                np.concatenate([_some(np.flatnonzero(codes == code), each, random) for code in appearing(codes)])
            )
            models.append(learner.fit(training.subset(rows), None if weights is None else weights[rows]))
        return AveragedModels(tuple(models), learner, np.arange(len(training.classes.names)))

    def _trees(self, training: LabelledSet, weights: FloatArray | None, seed: int) -> RandomTrees:
        codes, own = training.classes.codes, training.design.weights
        if own is not None:
            weights = own if weights is None else own * weights
        counting = np.ones(codes.size, bool) if weights is None else weights > 0  # a tree needs a row that counts
        members = [np.flatnonzero(counting & (codes == code)) for code in appearing(codes[counting])]
        each, random = min(rows.size for rows in members), generator(seed, "balanced bagging")
        bags = (np.concatenate([random.choice(rows, each) for rows in members]) for _ in range(TREES * self.bags))
        return grow_trees(np.asarray(training.features), codes, bags, weights, seed)


def _some(rows: IntArray, number: int, random: np.random.Generator) -> IntArray:
    """That many of the rows, each as often as the others or once more."""
    return np.concatenate([np.tile(rows, number // rows.size), random.permutation(rows)[: number % rows.size]])
