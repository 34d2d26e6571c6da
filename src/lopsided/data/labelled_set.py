"""The data that a learner is trained on: features, classes, one partition into groups."""

from dataclasses import dataclass, field, replace

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.folds import Design, Folds, folds_of
from lopsided.core.partition import LabelledRows
from lopsided.core.validation import IntArray
from lopsided.data.columns import Columns
from lopsided.data.rows import Rows, take


@dataclass(frozen=True)
class LabelledSet(LabelledRows):
    """n examples: features (a matrix or the user's own frame, see `data.rows`), class and group codes with their names;
    `rows` are their positions in the data."""

    features: Rows
    source: str = ""
    design: Design = field(default_factory=Design)
    columns: Columns = field(default_factory=Columns)  # which of the data's columns the features are

    def subset(self, chosen: IntArray) -> "LabelledSet":
        """Some of the examples (again and again where an index comes again), under the same codes."""
        groups = None if self.groups is None else self.groups.at(chosen)
        features, design = take(self.features, chosen), self.design.at(chosen)
        return LabelledSet(
            self.rows[chosen], self.classes.at(chosen), groups, features, self.source, design, self.columns
        )

    def folds(self, folds: int, seed: int, repeat: int = 0) -> Folds:
        """The folds of repeat number `repeat`, as the design has them."""
        return folds_of(self.classes.codes, self.group_codes, self.design, folds, seed, repeat)

    def resampled(self, features: Rows, codes: IntArray, taken: IntArray | None = None) -> "LabelledSet":
        """What a sampler made of the examples: they belong to no row of the data (-1) and to no group.

        Weights follow the rows that were `taken`; of new examples after the old ones it is the mean of their class.
        """
        codes, weights, old = np.asarray(codes), self.design.weights, self.classes.codes
        if weights is not None and taken is None:
            if not np.array_equal(codes[: self.size], old):
                got = "one that has no sample_indices_ and does not keep the original rows first"
                raise InputError("a sampler with sample_indices_, to use it with sample_weight", got, "leave one out")
            means = np.bincount(old, weights) / np.maximum(np.bincount(old), 1)
            weights = np.concatenate([weights, means[codes[self.size :]]])
        elif weights is not None:
            weights = weights[taken]
        made, classes = np.full(len(codes), -1), replace(self.classes, codes=codes)
        return LabelledSet(made, classes, None, features, self.source, Design(weights=weights))

    def with_features(self, features: Rows) -> "LabelledSet":
        """The same examples with other features."""
        return replace(self, features=features)
