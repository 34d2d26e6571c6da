"""The collapse forecast: from class counts to the classes that a network will fail to distinguish.

    lopsided.collapse("5000*5,50*5", feature_energy=5, weight_energy=1)

solves the Layer-Peeled Model (Fang et al. 2021, eq 7 and 91). The solution gives the multiplier lambda*, the number of
examples that a class needs (lambda* N), the angles and, for two sizes, the ratios R0 (collapse) and R1 (vanishing).
"""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from lopsided.core.blas import one_blas_thread
from lopsided.core.counts import ClassCounts, class_counts
from lopsided.core.errors import InputError
from lopsided.core.notebook import notebook_view
from lopsided.core.validation import FloatArray, IntArray, check_positive
from lopsided.theory.layer_peeled.energy import Ball, Restraint, restraint
from lopsided.theory.layer_peeled.inverse import (
    CollectionPlan,
    InTurn,
    RatePlan,
    examples_to_collect,
    largest_safe_multiplier,
    rate_for_cosine,
    rates_of_smallest_total,
)
from lopsided.theory.layer_peeled.newton import Progress
from lopsided.theory.layer_peeled.solution import LayerPeeledSolution
from lopsided.theory.layer_peeled.solve import Features, Model, PeeledSolution, minority_of, solve_two_sizes
from lopsided.theory.layer_peeled.two_sizes_thresholds import collapse_ratio, vanishing_ratio

_COSINES = ("minority_cosine", "majority_cosine", "collapsed_cosine")
_WRITTEN = ("classes", "tau", "multiplier", "count_needed", "relative_gap", "collapsed", *_COSINES, "oversampling_rate")
MODEL_NAMES = {"free": "Layer-Peeled Model, free features", "relu": "Layer-Peeled Model, ReLU features (H >= 0)"}


@dataclass(frozen=True)
class TwoSizeFacts:
    """Results for two class sizes only: numbers of classes, the ratio and its thresholds."""

    majority_classes: int
    minority_classes: int
    ratio: float
    ratio_threshold: float | None
    vanishing_ratio: float | None


@dataclass(frozen=True)
class CollapsePlan:
    """What prevents collapse: rates, examples to collect and the largest safe multiplier."""

    oversampling: RatePlan
    collection: CollectionPlan
    safe_multiplier: float
    safe_tau: float


@dataclass(frozen=True)
class CollapseForecast:
    """A certified forecast; `to_dict` gives the JSON of the command.

    Attributes
    ----------
    counts : ClassCounts
        Examples of every class.
    effective_counts : array of K floats
        The same after oversampling.
    held : Restraint
        The regularisation that was given.
    model : Model
        The Layer-Peeled Model that was solved.
    solution : PeeledSolution
        Its solution with a certificate.
    two_sizes : TwoSizeFacts, optional
        Results for two class sizes; None with more sizes.
    minority_cosine : float, optional
        Mean cosine between the classifiers of the smallest classes.
    majority_cosine : float, optional
        The same for the largest classes.
    collapsed_cosine : float, optional
        The same for the classes that collapse.
    target_cosine : float, optional
        The cosine that was asked for.
    oversampling_rate : int, optional
        The rate of the minority that reaches it.
    plan : CollapsePlan, optional
        What prevents collapse, if it was asked for.
    seconds : float
        Time that the forecast took.
    """

    counts: ClassCounts
    effective_counts: FloatArray
    held: Restraint
    model: Model
    solution: PeeledSolution
    two_sizes: TwoSizeFacts | None
    minority_cosine: float | None
    majority_cosine: float | None
    collapsed_cosine: float | None
    target_cosine: float | None
    oversampling_rate: int | None
    plan: CollapsePlan | None
    seconds: float

    @property
    def classes(self) -> int:
        """K."""
        return self.counts.classes

    @property
    def tau(self) -> float:
        """The nuclear norm of Z: the bound of the constraint form, or the result of the penalised form."""
        return self.solution.norm

    @property
    def multiplier(self) -> float:
        """lambda*."""
        return self.solution.multiplier

    @property
    def count_needed(self) -> float:
        """The number of examples a class needs."""
        return self.solution.count_needed

    @property
    def collapsed(self) -> list[int]:
        """Indices of the classes that will not be distinguished."""
        return self.solution.collapsed

    @property
    def relative_gap(self) -> float:
        """Certified bound on the relative error of the objective."""
        return self.solution.certificate.relative_gap

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names that scripts rely on."""
        two, solution = self.two_sizes, self.solution
        facts: dict[str, Any] = {
            "model": MODEL_NAMES[solution.features],
            "form": self.held.form,
            "examples": self.counts.total,
            "status": solution.status.value,
            **{name: getattr(solution, name) for name in ("features", "objective", "iterations", "rank")},
            **{name: getattr(self, name) for name in _WRITTEN},
            "collapsed_names": self.counts.names and [self.counts.name(index) for index in self.collapsed],
            **{name: getattr(two, name, None) for name in ("ratio", "ratio_threshold", "vanishing_ratio")},
            "sizes": self._sizes(),
        }
        if self.plan is not None:
            facts["plan"] = dict(vars(self.plan))
        return facts | {"seconds": self.seconds}

    def _repr_html_(self) -> str:
        """For notebooks: what collapses, and the classes by size."""
        lost = len(self.collapsed)
        headline = (
            f"{lost} of {self.classes} classes collapse; a class needs more than {self.count_needed:.4g} examples"
        )
        sizes = self._sizes()
        return notebook_view(headline, (list(sizes[0]), [list(size.values()) for size in sizes]))

    def _sizes(self) -> list[dict[str, float | int]]:
        """One row per distinct (effective) class size, largest first."""
        solution, problem = self.solution, self.solution.problem
        _, first = np.unique(problem.group_of_class, return_index=True)
        columns = (solution.margins, solution.class_losses, solution.classifier_norms, solution.feature_norms)
        names = ("margin", "loss", "classifier_norm", "feature_norm")
        return [
            {"count": float(self.effective_counts[index]), "classes": int(problem.multiplicity[group])}
            | {name: float(column[index]) for name, column in zip(names, columns, strict=True)}
            for group, index in enumerate(first)
        ]


def collapse(
    counts: ClassCounts | str | PathLike[str] | Mapping[str, float] | Iterable[float],
    *,
    feature_energy: float | None = None,
    weight_energy: float | None = None,
    tau: float | None = None,
    multiplier: float | None = None,
    weight_decay: float | None = None,
    feature_decay: float | None = None,
    features: Features = "free",
    class_weights: Sequence[float] | None = None,
    target_cosine: float | None = None,
    plan: bool = False,
    tolerance: float = 1e-10,
    progress: Progress | None = None,
    near: "CollapseForecast | None" = None,
) -> CollapseForecast:
    """Forecast which classes a network will fail to distinguish.

    Give the class counts and one of: both energies, tau, the multiplier, or the weight decay.

    Parameters
    ----------
    counts : str, list, dict or path
        Training examples of every class, as in "5000*5,50*5", a list, by name, or a csv or txt file.
    feature_energy : float, optional
        E_H, the mean squared length of the features.
    weight_energy : float, optional
        E_W, the mean squared length of the classifier's rows.
    tau : float, optional
        K sqrt(E_H E_W).
    multiplier : float, optional
        The weight of the nuclear norm of the logits in the loss; with weight decays it is the root of their product.
    weight_decay : float, optional
        The decay of the classifier.
    feature_decay : float, optional
        The decay of the features. By default, that of the classifier.
    features : {"free", "relu"}, default "free"
        Features as in the paper, or nonnegative ones.
    class_weights : list of float, optional
        Factors of the counts, as in reweighting the loss or oversampling.
    target_cosine : float, optional
        Also compute the oversampling rate that lowers the mean cosine of the minority classes to this value.
    plan : bool, default False
        Also compute oversampling rates per class, examples to collect and the weight decay that avoid collapse.
    tolerance : float, default 1e-10
        The relative gap at which the solver stops.
    progress : callable, optional
        Called with the iteration and the gap of the solver. If it returns True, the solver stops early; the gap of the
        forecast shows the accuracy.
    near : CollapseForecast, optional
        A forecast for similar counts, which makes many sizes faster. The result is certified as usual.
    """
    began = time.perf_counter()
    given = class_counts(counts)
    effective = given.counts * _checked_weights(class_weights, given.classes)
    model = Model(features, check_positive(tolerance, "the tolerance"))
    held = restraint(
        given.classes,
        tau=tau,
        feature_energy=feature_energy,
        weight_energy=weight_energy,
        multiplier=multiplier,
        weight_decay=weight_decay,
        feature_decay=feature_decay,
    )
    sizes, members = np.unique(effective, return_counts=True)
    with one_blas_thread(sizes.size > 2):  # one or two sizes need no matrix that BLAS would split among threads
        solution = model.solve(effective, held, progress, None if near is None else near.solution)
        minority = minority_of(effective)
        majority_cosine = solution.mean_cosine(~minority)
        minority_cosine = solution.mean_cosine(minority) if minority.any() else majority_cosine
        collapsed = np.zeros(given.classes, dtype=bool)
        collapsed[solution.collapsed] = True
        same = np.array_equal(collapsed, minority)
        collapsed_cosine = minority_cosine if same else solution.mean_cosine(collapsed)
        rate = None if target_cosine is None else rate_for_cosine(effective, held, model, target_cosine)
        answers = _plan(effective, held, model) if plan else None
        two = _two_sizes(sizes, members, held, model)
    return CollapseForecast(
        counts=given,
        effective_counts=effective,
        held=held,
        model=model,
        solution=solution,
        two_sizes=two,
        minority_cosine=minority_cosine,
        majority_cosine=majority_cosine,
        collapsed_cosine=collapsed_cosine,
        target_cosine=target_cosine,
        oversampling_rate=rate,
        plan=answers,
        seconds=time.perf_counter() - began,
    )


def _checked_weights(weights: Sequence[float] | None, classes: int) -> FloatArray:
    if weights is None:
        return np.ones(classes)
    checked = class_counts(weights)
    if checked.classes != classes:
        raise InputError(f"{classes} class weights", checked.classes, "give one weight per class")
    return checked.counts


def _plan(counts: FloatArray, held: Restraint, model: Model) -> CollapsePlan:
    safe, solver = largest_safe_multiplier(counts, model), InTurn(held, model)
    return CollapsePlan(
        rates_of_smallest_total(counts, solver),
        examples_to_collect(counts, solver),
        safe,
        model.solve(counts, restraint(counts.shape[0], multiplier=safe)).norm,
    )


def _two_sizes(sizes: FloatArray, members: IntArray, held: Restraint, model: Model) -> TwoSizeFacts | None:
    """Ratio and thresholds for exactly two sizes; only the ratio 1 for one size."""
    if sizes.size == 1:
        return TwoSizeFacts(int(members[0]), 0, 1.0, None, None)
    if sizes.size > 2:
        return None
    minority, majority = int(members[0]), int(members[1])
    collapse_at, vanish_at = ratio_thresholds(majority, minority, held, model)
    return TwoSizeFacts(majority, minority, float(sizes[1] / sizes[0]), collapse_at, vanish_at)


def ratio_thresholds(
    majority_classes: int, minority_classes: int, held: Restraint, model: Model
) -> tuple[float | None, float | None]:
    """(R0, R1) for two sizes in either form and either feature model; None if there is no such ratio."""
    k_a, k_b = majority_classes, minority_classes
    classes = k_a + k_b
    if model.features == "relu":
        return (None if k_b < 2 else _relu_collapse_ratio(k_a, k_b, held)), None
    if isinstance(held.regulariser, Ball):
        return collapse_ratio(k_a, k_b, held.regulariser.tau), vanishing_ratio(k_a, k_b, held.regulariser.tau)
    # n_B/N = lambda at the threshold; with lambda >= 1/K even equal classes are collapsed.
    at = (1.0 / held.regulariser.multiplier - k_b) / k_a
    collapse_at = at if k_b >= 2 and held.regulariser.multiplier < 1.0 / classes else None
    return collapse_at, _penalised_vanishing_ratio(k_a, k_b, held)


def _relu_collapse_ratio(k_a: int, k_b: int, held: Restraint) -> float | None:
    classes = k_a + k_b
    shrinkage = math.sqrt((classes - 1) / classes)
    if isinstance(held.regulariser, Ball):
        margin = held.regulariser.tau / (k_a * shrinkage)
        return math.inf if margin > 700 else 1.0 + math.expm1(margin) / classes
    share = held.regulariser.multiplier / shrinkage  # n_B/N at the threshold
    return (1.0 / share - k_b) / k_a if share < 1.0 / classes else None


def _penalised_vanishing_ratio(k_a: int, k_b: int, held: Restraint) -> float | None:
    """The smallest R at which the part between the groups is zero, at a fixed multiplier; None if there is none."""

    def between(log_ratio: float) -> float:
        solution = solve_two_sizes(k_a, k_b, math.exp(log_ratio), held)
        assert isinstance(solution, LayerPeeledSolution)
        return float(solution.singular.sum()) if solution.singular.size else 0.0

    low, high = 0.0, math.log(1e12)
    if k_a < 2 or between(high) > 0 or between(low) == 0:
        return None
    while high - low > 1e-13 * max(1.0, high):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if between(middle) > 0 else (low, middle)
    return math.exp(high)


def curve_over_ratio(
    majority_classes: int, minority_classes: int, held: Restraint, model: Model, ratios: Sequence[float]
) -> list[tuple[float | None, float | None]]:
    """(minority cosine, majority cosine) at each ratio R, for the picture of Fig 3."""
    minority = np.arange(majority_classes + minority_classes) >= majority_classes
    found = []
    for ratio in ratios:
        solution = model.solve(np.where(minority, 1.0, ratio), held)
        found.append((solution.mean_cosine(minority), solution.mean_cosine(~minority)))
    return found
