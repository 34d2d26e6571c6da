"""Weights of the loss by class: by default every class has the same say, w_k = N / (K n_k)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lopsided.core.partition import LabelledRows
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.labelled_set import LabelledSet
from lopsided.remedies.contract import (
    Occasion,
    Proposal,
    Proposals,
    Remedy,
    by_name,
    named,
    uneven_classes,
)
from lopsided.remedies.learner import Learner
from lopsided.remedies.oversampling import resampling


@dataclass(frozen=True)
class ClassWeighting(Remedy):
    """`class_weights` by class name, 1 where left out."""

    kind: ClassVar[str] = "reweight"
    name: ClassVar[str] = "class weights"
    needs_weights: ClassVar[bool] = True
    class_weights: Mapping[str, float]

    @classmethod
    def propose(cls, occasion: Occasion) -> Proposals:
        """Balanced weights."""
        classes, notes = uneven_classes(occasion.training)
        if classes is None:
            return [], notes
        balanced = named(classes, classes.counts.sum() / (len(classes.names) * classes.counts))
        return [Proposal(cls(balanced), "Every class has the same say in the loss.")], []

    def factors(self, names: tuple[str, ...]) -> FloatArray:
        """The weights."""
        return by_name(self.class_weights, names)

    def weigh(self, training: LabelledSet, learner: Learner, seed: int) -> FloatArray:
        """As given, with mean 1 over the examples."""
        return self.example_weights(training)

    def example_weights(self, rows: LabelledRows) -> FloatArray:
        """A `sample_weight`."""
        weights = by_name(self.class_weights, rows.classes.names)[rows.classes.codes]
        return np.asarray(weights / weights.mean())

    def epoch_indices(self, rows: LabelledRows, seed: int = 0, epoch: int = 0) -> IntArray:
        """The oversampling with the same mean gradient."""
        weights = self.example_weights(rows)
        return rows.rows[resampling(rows.classes.codes, weights / weights.min()).indices(seed, epoch)]
