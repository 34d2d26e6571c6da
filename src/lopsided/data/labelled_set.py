"""What a learner is trained on: features, classes, one partition into groups."""

from dataclasses import dataclass, replace

import numpy as np

from lopsided.core.partition import LabelledRows
from lopsided.core.validation import IntArray
from lopsided.data.rows import Rows, take


@dataclass(frozen=True)
class LabelledSet(LabelledRows):
    """n examples: features (a matrix or the user's own frame, see `data.rows`), class and group codes with their names;
    `rows` are their positions in the data."""

    features: Rows
    source: str = ""

    def subset(self, chosen: IntArray) -> "LabelledSet":
        """Some of the examples (again and again where an index comes again), under the same codes."""
        groups = None if self.groups is None else replace(self.groups, codes=self.groups.codes[chosen])
        classes = replace(self.classes, codes=self.classes.codes[chosen])
        return LabelledSet(self.rows[chosen], classes, groups, take(self.features, chosen), self.source)

    def resampled(self, features: Rows, codes: IntArray) -> "LabelledSet":
        """What a sampler made of the examples: they belong to no row of the data (-1) and to no group."""
        made = np.full(len(codes), -1)
        return LabelledSet(made, replace(self.classes, codes=np.asarray(codes)), None, features, self.source)

    def with_features(self, features: Rows) -> "LabelledSet":
        """The same examples described otherwise."""
        return replace(self, features=features)
