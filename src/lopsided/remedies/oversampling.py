"""Oversampling: each class is seen `rate` times its size an epoch, exact copies plus a random fraction.

By default every class is raised to the largest; where the network's settings are known, to the level that a forecast of
collapse calls safe (`remedies.rates`). In the limit of a rich model it acts as the weight `rate` on the class (Fang et
al. 2021, Proposition 1), so a pilot's probabilities forecast its gain.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.partition import LabelledRows
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.labelled_set import LabelledSet
from lopsided.remedies.contract import Occasion, Proposal, Proposals, Remedy, by_name, named, uneven_classes
from lopsided.remedies.rates import Rates, oversampling_rates
from lopsided.remedies.resampling import ResamplingPlan, resampling_plan


@dataclass(frozen=True)
class AtRates(Remedy):
    """`rates` by class name: how many times its size each class has afterwards (1 where left out)."""

    rates: Mapping[str, float]

    def factors(self, names: tuple[str, ...]) -> FloatArray | None:
        """The rates."""
        return by_name(self.rates, names)

    def rows_drawn(self, training: LabelledRows) -> float:
        """As the rates say."""
        return float(training.classes.counts @ by_name(self.rates, training.classes.names))


@dataclass(frozen=True)
class Oversampling(AtRates):
    """Copies of examples; `rule` and `count_needed` say where the rates come from."""

    kind: ClassVar[str] = "oversample"
    name: ClassVar[str] = "oversampling"
    rule: str = "given"
    count_needed: float | None = None

    @classmethod
    def propose(cls, occasion: Occasion) -> Proposals:
        """At the rates that the class stands for."""
        classes, notes = uneven_classes(occasion.training)
        if classes is None:
            return [], notes
        rates, why = cls.chosen_rates(named(classes, classes.counts.astype(float)), occasion.recipe)
        found = dict(zip(classes.names, rates.rates.tolist(), strict=True))
        return [Proposal(cls(found, rates.rule, rates.count_needed), why)], []

    @classmethod
    def chosen_rates(cls, counts: Mapping[str, float], recipe: Mapping[str, Any]) -> tuple[Rates, str]:
        """Rates for class counts by name, and why: the collapse forecast where it raises a class, else balance."""
        balanced = oversampling_rates(counts, "balanced")
        if not recipe:
            return balanced, f"{balanced.why} With a network's weight decay, rates follow the collapse forecast."
        try:
            rates = oversampling_rates(counts, "forecast", recipe=recipe)
        except InputError as error:
            return balanced, f"{balanced.why} The collapse forecast gives no rates: {error}"
        return (balanced, f"{balanced.why} {rates.why}") if rates.added == 0 else (rates, rates.why)

    def draw(self, training: LabelledSet, seed: int) -> LabelledSet:
        """Copies in the order of the data."""
        return training.subset(self._copies(training, seed))

    def epoch_indices(self, rows: LabelledRows, seed: int = 0, epoch: int = 0) -> IntArray:
        """Shuffled rows of one epoch."""
        return rows.rows[resampling(rows.classes.codes, self._of_rows(rows)).indices(seed, epoch)]

    def example_weights(self, rows: LabelledRows) -> FloatArray:
        """The equivalent weights."""
        rates = self._of_rows(rows)
        return np.asarray(rates / rates.mean())

    def _of_rows(self, rows: LabelledRows) -> FloatArray:
        return by_name(self.rates, rows.classes.names)[rows.classes.codes]

    def _copies(self, training: LabelledSet, seed: int) -> IntArray:
        plan = resampling(training.classes.codes, self._of_rows(training))
        return np.sort(plan.indices(seed, shuffle=False))


def resampling(cells: IntArray, rates: FloatArray) -> ResamplingPlan:
    """The resampling of examples in any cells at one rate for every example of a cell."""
    _, first, compact = np.unique(cells, return_index=True, return_inverse=True)
    return resampling_plan(compact, rates[first])
