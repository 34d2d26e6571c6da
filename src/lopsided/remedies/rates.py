"""Oversampling rates per class, or per cell of class and group, with the reason for them.

A rate w means that each example of the class is seen w times an epoch (a fraction: by that share of them). Rules:

    "forecast"  small classes to the level that a forecast calls safe (see `recipe`)
    number w    classes with fewer examples than the mean count w times, but not beyond any of the larger classes
    dict        by label, or by (label, group); what is left out keeps 1
    "balanced"  n_max / n_k
    "sqrt"      sqrt(n_max / n_k): square-root sampling, half-way on the log scale
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.counts import CountsLike, class_counts
from lopsided.core.errors import InputError
from lopsided.core.notebook import notebook_view
from lopsided.core.validation import FloatArray, check_positive
from lopsided.remedies.cells import Cells, cells_of, numbers_by_cell
from lopsided.remedies.forecast_rates import forecast_rates
from lopsided.remedies.recipe import Recipe, recipe_from
from lopsided.theory.layer_peeled.solve import minority_of

Rate = float | Mapping[Any, float] | Literal["forecast", "balanced", "sqrt"]


@dataclass(frozen=True)
class Rates:
    """Oversampling rates, one per class or per cell of class and group.

    Attributes
    ----------
    names : tuple of str
        Names of the classes or cells.
    counts : array of floats
        Examples of each.
    rates : array of floats
        How often each example is seen per epoch.
    rule : str
        The rule that gave the rates.
    why : str
        The reason for the rates, in a sentence.
    count_needed : float, optional
        How many examples a class needs after oversampling, if there is a forecast.
    classes : tuple of str, optional
        The class of each cell, if cells are finer than classes.
    """

    names: tuple[str, ...]
    counts: FloatArray
    rates: FloatArray
    rule: str
    why: str
    count_needed: float | None = None
    classes: tuple[str, ...] | None = None

    @property
    def effective_class_counts(self) -> FloatArray:
        """Examples of each class in an epoch, summed over its cells, in the order of the classes."""
        if self.classes is None:
            return self.effective_counts
        order = {name: position for position, name in enumerate(dict.fromkeys(self.classes))}
        return np.bincount([order[name] for name in self.classes], weights=self.effective_counts).astype(np.float64)

    @property
    def effective_counts(self) -> FloatArray:
        """w_k n_k: examples of each class in an epoch."""
        return self.counts * self.rates

    @property
    def added(self) -> float:
        """How many examples longer an epoch becomes."""
        return float(self.effective_counts.sum() - self.counts.sum())

    def _repr_html_(self) -> str:
        """For notebooks: the rate of every class."""
        rows = list(zip(self.names, self.counts.tolist(), self.rates.tolist(), self.effective_counts, strict=True))
        return notebook_view(self.why, (("class", "examples", "rate", "examples per epoch"), rows))

    def to_dict(self) -> dict[str, Any]:
        """Plain values by name."""
        return {
            "rule": self.rule,
            "why": self.why,
            "rates": dict(zip(self.names, self.rates.tolist(), strict=True)),
            "added": self.added,
            "count_needed": self.count_needed,
        }


def oversampling_rates(
    counts: CountsLike, rate: Rate = "forecast", *, recipe: Recipe | Mapping[str, Any] | None = None
) -> Rates:
    """How often to repeat the examples of every class, from class counts alone.

    Parameters
    ----------
    counts : str, list, dict or path
        As in "5000*5,50*5", a list, by name, or a csv or txt file.
    rate : "forecast", "balanced", "sqrt", float or dict, default "forecast"
        The rule; a number of copies of the minority; or a number for each class by name. The forecast needs a `recipe`.
    recipe : Recipe or dict, optional
        How the network will be trained.

    Examples
    --------
    >>> oversampling_rates([100, 25], "balanced").rates.tolist()
    [1.0, 4.0]
    """
    given = class_counts(counts, at_least_two=False)
    names = tuple(given.name(index) for index in range(given.classes))
    # codes are not needed to choose rates; a dict is looked up by class name
    return _chosen(Cells(np.zeros(0, dtype=np.int64), names, None), given.counts, rate, recipe)


def rates_for(
    labels: ArrayLike,
    groups: ArrayLike | None = None,
    rate: Rate = "forecast",
    *,
    recipe: Recipe | Mapping[str, Any] | None = None,
) -> tuple[Rates, Cells]:
    """Rates for labelled examples, and the cell of each example.

    Parameters
    ----------
    labels : array of n labels
        One label per example.
    groups : array of n groups, optional
        One group per example; every cell of class and group is then treated as a class.
    rate : "forecast", "balanced", "sqrt", float or dict, default "forecast"
        The rule; a number of copies of the minority; or a number for each label or (label, group).
    recipe : Recipe or dict, optional
        How the network will be trained, for the forecast. Needed by the forecast only.

    Returns
    -------
    rates : Rates
        The rates with their reason.
    cells : Cells
        The cell of each example.

    With groups, the forecast is an analogy (the theory is about classes), and `rates.why` says so.
    """
    cells = cells_of(labels, groups)
    return _chosen(cells, cells.counts.astype(np.float64), rate, recipe), cells


def _chosen(cells: Cells, counts: FloatArray, rate: Rate, recipe: Recipe | Mapping[str, Any] | None) -> Rates:
    if np.ndim(rate) > 0 and not isinstance(rate, Mapping):  # type: ignore[arg-type]
        raise InputError("one rate, or a dict by class", f"a {type(rate).__name__}", "name the class of each rate")
    if recipe is not None and rate != "forecast":
        raise InputError("rate='forecast' with a recipe", f"rate={rate!r}", "leave out the recipe or change the rate")
    needed = None
    what = "class" if cells.groups is None else "cell of class and group"
    if isinstance(rate, Mapping):
        rule, rates, why = (
            "given",
            numbers_by_cell(rate, cells, "rates"),
            "Uses the given rates, and 1 where none was given.",
        )
    elif rate == "forecast":
        safe = forecast_rates(counts, recipe_from(recipe))
        rule, rates, needed = "forecast", safe.rates, safe.count_needed
        why = safe.why + ("" if cells.groups is None else " Each cell is treated as a class, by analogy.")
    elif rate == "balanced":
        rule, rates, why = "balanced", counts.max() / counts, f"Oversamples every {what} to the size of the largest."
    elif rate == "sqrt":
        rule, rates = "sqrt", np.sqrt(counts.max() / counts)
        why = f"Each {what} is repeated up to sqrt(its size x the largest)."
    elif isinstance(rate, str):  # type: ignore[unreachable]
        raise InputError("a rate 'forecast', 'balanced' or 'sqrt', a number or a dict", repr(rate))
    else:
        copies = check_positive(rate, "the oversampling rate")
        if copies < 1:
            raise InputError("an oversampling rate of at least 1", rate, "to drop examples give a dict of rates")
        small = minority_of(counts)
        most = counts[~small].min()  # a class is not lifted past larger ones
        rule, rates = "number", np.where(small, np.minimum(min(copies, most) * counts, most), counts) / counts
        why = f"Every {what} with fewer examples than the mean is repeated {copies:g} times, up to {most:g} examples."
    return Rates(cells.names, counts, rates, rule, why, needed, None if cells.groups is None else cells.classes)
