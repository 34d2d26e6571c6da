"""Class weights: weights of the loss per class, or per cell of class and group, with mean 1 over the examples.

    balanced   w_k ~ 1 / n_k                         every class has the same total weight
    sqrt       w_k ~ 1 / sqrt(n_k)
    effective  w_k ~ (1 - beta) / (1 - beta^n_k)     effective number of examples (Cui et al. 2019)
    rates      w_k ~ the oversampling rate           what oversampling does to the mean gradient (Proposition 1)

and sum_k n_k w_k = N, so that the mean loss and the step keep their scale.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.partition import LabelledRows
from lopsided.core.validation import FloatArray, IntArray, check_positive
from lopsided.data.labelled_set import LabelledSet
from lopsided.remedies.cells import Cells, cells_of, numbers_by_cell
from lopsided.remedies.contract import Occasion, Proposal, Proposals, Remedy, by_name, named, uneven_classes
from lopsided.remedies.learner import Learner
from lopsided.remedies.oversampling import resampling
from lopsided.remedies.rates import Rate, Rates, rates_for
from lopsided.remedies.recipe import Recipe

Weighting = Literal["balanced", "sqrt", "effective"] | Rates | Mapping[Any, float]


@dataclass(frozen=True)
class Weights:
    """Weights of the loss, one per class or per cell of class and group.

    Attributes
    ----------
    names : tuple of str
        Names of the classes or cells.
    counts : array of floats
        Examples of each.
    weights : array of floats
        The weights; their mean over the examples is 1.
    rule : str
        The rule that gave the weights.
    cells : Cells
        The cell of each example; `of_examples` gives the weight of each.
    """

    names: tuple[str, ...]
    counts: FloatArray
    weights: FloatArray
    rule: str
    cells: Cells

    @property
    def of_examples(self) -> FloatArray:
        """A `sample_weight` for scikit-learn; its mean is 1."""
        return self.weights[self.cells.codes]

    def to_dict(self) -> dict[str, float]:
        """Weight by name."""
        return dict(zip(self.names, self.weights.tolist(), strict=True))


def class_weights(
    labels: ArrayLike, weighting: Weighting = "balanced", *, groups: ArrayLike | None = None, beta: float = 0.999
) -> Weights:
    """Weights of the loss for labelled examples, with mean 1 over the examples.

    Parameters
    ----------
    labels : array of n labels
        One label per example.
    weighting : "balanced", "sqrt", "effective", Rates or dict, default "balanced"
        The rule; the rates of an oversampling with the same mean gradient; or a number for each label or (label,
        group).
    groups : array of n groups, optional
        One group per example; every cell of class and group is then treated as a class.
    beta : float, default 0.999
        Beta of the effective number of examples; used by "effective" only.

    Returns
    -------
    Weights
        One weight per class or cell; `of_examples` is a `sample_weight`.
    """
    cells = cells_of(labels, groups)
    counts = cells.counts.astype(np.float64)
    raw, rule = _raw(cells, counts, weighting, beta)
    return Weights(cells.names, counts, raw * (counts.sum() / (raw @ counts)), rule, cells)


def forecast_weights(
    labels: ArrayLike, *, groups: ArrayLike | None = None, recipe: Recipe | Mapping[str, Any], rate: Rate = "forecast"
) -> Weights:
    """Weights with the same mean update as oversampling at the forecast rates.

    Parameters
    ----------
    labels : array of n labels
        One label per example.
    groups : array of n groups, optional
        One group per example; every cell of class and group is then treated as a class.
    recipe : Recipe or dict
        How the network will be trained, for the forecast.
    rate : "forecast", "balanced", "sqrt", float or dict, default "forecast"
        The rates to match, as in `rates_for`.

    Returns
    -------
    Weights
        One weight per class or cell, with mean 1 over the examples.
    """
    rates, _ = rates_for(labels, groups, rate, recipe=recipe)
    return class_weights(labels, rates, groups=groups)


def effective_numbers(counts: FloatArray, beta: float) -> FloatArray:
    """(1 - beta^n) / (1 - beta), by expm1 so that beta near 1 loses no digits: from 1 (beta -> 0) to n (beta -> 1)."""
    share = check_positive(beta, "beta", remedy="0.9 to 0.9999 are usual")
    if share >= 1:
        raise InputError("beta below 1", beta, "0.9 to 0.9999 are usual")
    return np.asarray(np.expm1(counts * math.log(share)) / (share - 1.0))


def _raw(cells: Cells, counts: FloatArray, weighting: Weighting, beta: float) -> tuple[FloatArray, str]:
    if isinstance(weighting, Rates):
        if weighting.names != cells.names:
            raise InputError(
                f"rates for the classes {', '.join(cells.names[:8])}",
                f"rates for {', '.join(weighting.names[:8])}",
                "make them from the same labels and groups",
            )
        return weighting.rates, f"rates: {weighting.rule}"
    if isinstance(weighting, Mapping):
        return numbers_by_cell(weighting, cells, "weights"), "given"
    if weighting == "balanced":
        return 1.0 / counts, "balanced"
    if weighting == "sqrt":
        return 1.0 / np.sqrt(counts), "sqrt"
    if weighting == "effective":
        return 1.0 / effective_numbers(counts, beta), f"effective number, beta {beta:g}"
    raise InputError("weights 'balanced', 'sqrt' or 'effective', rates or a dict", repr(weighting))


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
        return [Proposal(cls(balanced), "Gives every class the same total weight in the loss.")], []

    def factors(self, names: tuple[str, ...]) -> FloatArray:
        """The weights."""
        return by_name(self.class_weights, names)

    def weigh(self, training: LabelledSet, learner: Learner, seed: int) -> FloatArray:
        """The given weights, corrected for what the learner does by itself, with mean 1 over the (weighted)
        examples."""
        weights = self.example_weights(training) / learner.factors(training)[training.classes.codes]
        return np.asarray(weights / np.average(weights, weights=training.design.weights))

    def example_weights(self, rows: LabelledRows) -> FloatArray:
        """A `sample_weight`."""
        weights = by_name(self.class_weights, rows.classes.names)[rows.classes.codes]
        return np.asarray(weights / weights.mean())

    def epoch_indices(self, rows: LabelledRows, seed: int = 0, epoch: int = 0) -> IntArray:
        """The oversampling with the same mean gradient."""
        weights = self.example_weights(rows)
        return rows.rows[resampling(rows.classes.codes, weights / weights.min()).indices(seed, epoch)]
