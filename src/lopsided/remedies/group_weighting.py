"""Weights of the loss by group: every group has the same total weight, w_g = N / (G n_g).

A classifier that does not see the groups then estimates sum_g w_g p(k, g|x), which a pilot that models classes and
groups together forecasts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.partition import LabelledRows
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.labelled_set import LabelledSet
from lopsided.remedies.contract import (
    EVEN,
    PRIOR_SHIFT,
    Forecast,
    Occasion,
    Proposal,
    Proposals,
    Remedy,
    by_name,
    named,
    several_groups,
)
from lopsided.remedies.learner import Learner
from lopsided.remedies.oversampling import resampling
from lopsided.remedies.pilot import Pilot


@dataclass(frozen=True)
class GroupWeighting(Remedy):
    """`group_weights` by group name (1 where left out), of the groups of `partition`."""

    kind: ClassVar[str] = "group weights"
    name: ClassVar[str] = "group weights"
    needs_weights: ClassVar[bool] = True
    needs_groups: ClassVar[bool] = True
    partition: str
    group_weights: Mapping[str, float]

    @classmethod
    def propose(cls, occasion: Occasion) -> Proposals:
        """Balanced weights, where the groups differ in size."""
        groups, notes = several_groups(occasion.training)
        if groups is None:
            return [], notes
        counts = groups.counts.astype(float)
        sizes = counts[counts > 0]
        if sizes.max() / sizes.min() < EVEN:
            return [], ["Group weights are left out, because the groups are equal in size to within a tenth."]
        weights = np.where(counts > 0, counts.sum() / np.maximum(counts, 1) / sizes.size, 1.0)
        why = f"Gives every group of {groups.name} the same total weight in the loss."
        return [Proposal(cls(groups.name, named(groups, weights)), why)], []

    def forecast(self, pilot: Pilot, metric: str, *, seed: int = 0) -> Forecast:
        """p(k, g|x) added up with the weights."""
        groups = pilot.training.groups
        if not pilot.sees_groups or groups is None:
            return None, "No forecast: there are too many combinations of class and group for the pilot."
        moved = pilot.probabilities @ by_name(self.group_weights, groups.names)
        return pilot.forecast(metric, np.asarray(moved), PRIOR_SHIFT), ""

    def weigh(self, training: LabelledSet, learner: Learner, seed: int) -> FloatArray:
        """As given, with mean 1 over the examples."""
        return self.example_weights(training)

    def example_weights(self, rows: LabelledRows) -> FloatArray:
        """A `sample_weight`."""
        if rows.groups is None:
            raise InputError("groups for this remedy", "none", "give one group per example")
        weights = by_name(self.group_weights, rows.groups.names)[rows.groups.codes]
        return np.asarray(weights / weights.mean())

    def epoch_indices(self, rows: LabelledRows, seed: int = 0, epoch: int = 0) -> IntArray:
        """The oversampling of cells of class and group with the same mean gradient."""
        weights = self.example_weights(rows)
        cells = rows.classes.codes * (rows.group_codes.max() + 1) + rows.group_codes
        return rows.rows[resampling(cells, weights / weights.min()).indices(seed, epoch)]
