"""What a person brought to the audit, checked and named: every part is optional, and its presence decides what runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lopsided.checkup.inputs.missing import MissingValues
from lopsided.core.folds import Design
from lopsided.core.partition import Partition
from lopsided.core.validation import BoolArray, FloatArray, IntArray
from lopsided.data.columns import Columns
from lopsided.data.row_digests import Repeats
from lopsided.data.tables import Table

if TYPE_CHECKING:
    from lopsided.checkup.inputs.confidence import Confidence
    from lopsided.checkup.inputs.feature_space import FeatureSpace


@dataclass(frozen=True)
class Evidence:
    """n examples: features row by row, classes, groups, a classifier over the features, its predictions, the split."""

    source: str
    rows: int
    classes: Partition | None = None
    groups: Mapping[str, Partition] = field(default_factory=dict)  # columns first, then their intersections
    table: Table | None = None  # the features, in blocks
    classifier: FloatArray | None = None  # K x p
    bias: FloatArray | None = None
    probabilities: FloatArray | None = None  # n x K, columns in the order of classes.names
    predictions: IntArray | None = None  # codes of classes.names; -1 for a class that no label has
    is_test: BoolArray | None = None
    weight_decay: float | None = None
    described_by: tuple[str, ...] = ()  # columns of the table that say what an example is, beside its features
    missing: MissingValues | None = None  # values that lack in the table, which has others in their place
    columns: Columns = field(default_factory=Columns)  # which were used, and why others were not
    design: Design = field(default_factory=Design)  # which rows belong together, when they were, what each counts
    notes: tuple[str, ...] = ()  # what was left out or merged on the way in, one sentence each
    aside: tuple[str, ...] = ()  # of the notes, those on parts that were there and could not be used
    unmet: tuple[str, ...] = ()  # of these, those on parts that were asked for by name
    seed: int = 0
    times: IntArray | None = None  # examples that each row stands for, where equal rows were counted and not kept
    confidence: "Confidence | None" = None  # of all examples; made of the probabilities where those are kept
    repeats: Repeats | None = None  # among all examples, where these were not kept
    drawn_from: int | None = None  # this is a sample of so many examples
    positions: IntArray | None = None  # of the sample's rows in the data
    known_space: "FeatureSpace | None" = None  # with moments of all examples that this is a sample of
    measured: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)  # what checks share

    @property
    def examples(self) -> int:
        """How many examples there are; more than rows where equal rows were counted."""
        return self.rows if self.times is None else int(self.times.sum())

    def total(self, rows: BoolArray) -> int:
        """How many examples the chosen rows stand for."""
        return int(rows.sum()) if self.times is None else int(self.times[rows].sum())

    def place(self, row: int) -> int:
        """Where a row stands in the data, which of a sample is elsewhere."""
        return int(row if self.positions is None else self.positions[row])

    @property
    def training(self) -> BoolArray:
        """The rows that a network learns from: those that are not test rows, all where there is no split."""
        return np.ones(self.rows, dtype=bool) if self.is_test is None else ~self.is_test

    @property
    def judged(self) -> BoolArray:
        """The rows on which predictions are judged: the test rows, all where there is no split."""
        return np.ones(self.rows, dtype=bool) if self.is_test is None else self.is_test

    @property
    def judged_words(self) -> str:
        """Which rows the predictions are judged on."""
        return "on the test rows" if self.is_test is not None else "on all rows given"

    @property
    def labelled(self) -> Partition:
        """The classes, for a check that needs labels."""
        assert self.classes is not None
        return self.classes

    @property
    def features(self) -> Table:
        """The table, for a check that needs features."""
        assert self.table is not None
        return self.table

    @cached_property
    def space(self) -> "FeatureSpace":
        """Features scaled and reduced, a sample of them, and the moments of every class; computed once."""
        from lopsided.checkup.inputs.feature_space import feature_space

        return feature_space(self) if self.known_space is None else self.known_space

    @property
    def has(self) -> frozenset[str]:
        """Names of the parts that were given, as checks ask for them."""
        given = {
            "labels": self.classes is not None,
            "groups": bool(self.groups),
            "features": self.table is not None,
            "classifier": self.classifier is not None,
            "probabilities": self.probabilities is not None or self.confidence is not None,
            "predictions": self.predictions is not None,
            "split": self.is_test is not None,
            "weight decay": self.weight_decay is not None,
        }
        return frozenset(name for name, there in given.items() if there)
