"""From labelled data to a mixture forecast: estimate the groups, fit the network, apply the large-n law.

Features are centred and scaled to unit deviation, because the network has no intercept, and reduced to their leading
principal components (Li et al. 2024, Appendix G: a few carry nearly all of the accuracy). The fitted network stands in
for W*, so the forecast is what the law would say if it were the truth.
"""

import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.mixture_spec import MixtureProblem, problem_of
from lopsided.core.seeds import check_seed, generator
from lopsided.core.validation import FloatArray, check_count
from lopsided.data.mixture_estimate import MixtureEstimate, estimate_by_em, estimate_by_moments
from lopsided.data.mixture_table import LabelledTable, labelled_table
from lopsided.learners.teacher_student import loss, training_set
from lopsided.learners.teacher_student_descent import descend
from lopsided.learners.teacher_student_newton import newton
from lopsided.theory.fisher_law import FisherLaw
from lopsided.theory.mixture_bounds import mixture_bounds
from lopsided.theory.mixture_forecast import MixtureForecast

COMPONENTS, STARTS = 8, 6
ROWS_PER_COMPONENT = 5  # fewer different rows than this say nothing about a covariance
NEGLIGIBLE = 1e-6  # of the largest deviation: directions below it are copies and sums of other columns
# Weights beyond this, in units of features with unit deviation, mean that labels are separable and no finite W fits
# best.
LARGEST_WEIGHT = 50.0


@dataclass(frozen=True)
class MixtureFit:
    """The estimated mixture, how the network was found, and the forecast."""

    estimate: MixtureEstimate
    forecast: MixtureForecast
    group_names: tuple[str, ...]
    explained_variance: float
    dropped_directions: int
    network: str
    training_loss: float

    def facts(self) -> dict[str, Any]:
        """The JSON object of `lopsided mixture fit`."""
        facts = self.forecast.facts()
        for name, group, mean in zip(self.group_names, facts["groups"], self.estimate.mixture.means, strict=True):
            group["name"] = name
            group["mean_length"] = float(np.linalg.norm(mean))
        return facts | {
            "estimated_by": self.estimate.method,
            "bits_per_dimension": self.estimate.bits_per_dimension,
            "criterion": self.estimate.criterion,
            "converged": self.estimate.converged,
            "explained_variance": self.explained_variance,
            "dropped_directions": self.dropped_directions,
            "declined_groups": self.estimate.declined,
            "network": self.network,
            "training_loss": self.training_loss,
        }


def mixture_fit(
    data: "str | os.PathLike[str] | LabelledTable | Any",
    *,
    samples: int | None = None,
    neurons: int = 2,
    groups: int | None = None,
    label: str | None = None,
    group: str | None = None,
    positive: str | None = None,
    components: int = COMPONENTS,
    seed: int = 0,
) -> MixtureFit:
    """Estimate, fit and forecast, from a file or a pandas or Polars frame.

    `positive` names the label that counts as 1 where there are more than two.
    """
    begin = time.perf_counter()
    table = data if isinstance(data, LabelledTable) else labelled_table(data, label=label, group=group)
    answers = _binary(table, positive)
    width = check_count(neurons, "the number of neurons")
    if groups is not None:
        check_count(groups, "the number of groups")
    most_components = check_count(components, "the number of components")
    features, explained, dropped = standardised_components(table.features, most_components)
    _check_variety(features)
    if width > features.shape[1]:
        raise InputError(f"at most {features.shape[1]} neurons (the components)", width, "use fewer neurons")
    if table.groups is not None:
        estimate, names = estimate_by_moments(features, table.groups), table.group_names
    else:
        most = max(1, len(features) // (ROWS_PER_COMPONENT * features.shape[1]))
        tried = range(1, min(most, 4) + 1) if groups is None else groups
        estimate = estimate_by_em(features, tried, seed=check_seed(seed))
        names = tuple(f"component {index}" for index in range(estimate.mixture.groups))
    weights, how, reached = fit_network(features, answers, width, seed)
    problem: MixtureProblem = problem_of(estimate.mixture, weights)
    count = check_count(samples if samples is not None else len(features), "the number of samples")
    law, bounds = FisherLaw(problem).forecast(count), mixture_bounds(problem)
    forecast = MixtureForecast(problem, count, law, bounds, time.perf_counter() - begin)
    return MixtureFit(estimate, forecast, names, explained, dropped, how, reached)


def _binary(table: LabelledTable, positive: str | None) -> FloatArray:
    names = table.label_names
    if positive is not None:
        if len(names) == 1:
            raise InputError("at least two classes", f"one ({names[0]})", "give examples of another class too")
        if positive not in names:
            raise InputError(f"a label among {', '.join(names[:8])}", repr(positive), "name one that occurs")
        return np.asarray(table.labels == names.index(positive), dtype=np.float64)
    if len(names) == 1:
        raise InputError("two classes", f"one ({names[0]})", "give examples of another class too")
    if len(names) != 2:
        raise InputError("two classes", f"{len(names)} ({', '.join(names[:6])})", "name one with --positive")
    return np.asarray(table.labels == 1, dtype=np.float64)


def standardised_components(features: FloatArray, components: int) -> tuple[FloatArray, float, int]:
    """Standardised features in their leading principal components, the share of variance kept, and how many directions
    were left out because they hardly vary: constant columns, copies and sums of others."""
    largest = np.abs(features).max(axis=0)
    unit = features / np.where(largest > 0, largest, 1.0)  # squares of very large or small numbers leave the doubles
    deviation = unit.std(axis=0)
    kept = deviation > 1e-12
    if not kept.any():
        raise InputError("features that vary", "constant columns only", "give other features")
    scaled = (unit[:, kept] - unit[:, kept].mean(axis=0)) / deviation[kept]
    _, values, turn = np.linalg.svd(scaled, full_matrices=False)
    rank = int((values > NEGLIGIBLE * values[0]).sum())
    dropped = features.shape[1] - rank
    if dropped == 0 and rank <= components:
        return scaled, 1.0, 0
    energy = np.square(values)
    use = min(components, rank)
    return np.asarray(scaled @ turn[:use].T), float(energy[:use].sum() / energy.sum()), dropped


def _check_variety(features: FloatArray) -> None:
    """Enough different rows for a covariance; a few repeated points have none."""
    needed = ROWS_PER_COMPONENT * features.shape[1]
    for rows in (features[: 20 * needed], features):  # nearly always the first few settle it
        different = len(np.unique(rows, axis=0))
        if different >= needed:
            return
    raise InputError(
        f"at least {needed} different rows ({ROWS_PER_COMPONENT} for each direction in which they vary)",
        f"{different} among {len(features)}",
        "give more data, or fewer components (--components)",
    )


def fit_network(features: FloatArray, answers: FloatArray, width: int, seed: int) -> tuple[FloatArray, str, float]:
    """The best of several Newton runs; where labels are separable, descent stopped early."""
    data = training_set(features, answers)
    source = generator(seed, "starts")
    starts = [source.standard_normal((features.shape[1], width)) for _ in range(STARTS)]
    points = [newton(data, start, tolerance=1e-9, limit=LARGEST_WEIGHT) for start in starts]
    found = [point for point in points if point.found and float(np.max(np.abs(point.weights))) < LARGEST_WEIGHT]
    if found:
        best = min(found, key=lambda point: point.loss)
        return best.weights, f"Newton, {len(found)} of {STARTS} starts converged", best.loss
    run = descend(data, starts[0] / np.sqrt(features.shape[1]), 4.0 / features.shape[1], 500)
    return (
        run.weights,
        "descent, stopped after 500 steps: no Newton run found a minimum (separable labels, or too many neurons)",
        loss(run.weights, data),
    )
