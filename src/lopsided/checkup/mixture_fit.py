"""From labelled data to a mixture forecast: estimate the groups, fit the network, apply the large-n law.

Components, origin and network are those of `checkup.network_fit`; where groups are known, the law and the words about
a larger fraction are those of the audit (`checkup.checks.group_law`). The fitted network stands in for W*, so the
forecast is what the law would say if it were the truth.
"""

import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.checkup.checks.group_law import GroupLaw, group_law
from lopsided.checkup.network_fit import COMPONENTS, NEURONS, check_entropy, fit_network, standardised_components
from lopsided.core.errors import InputError
from lopsided.core.mixture_spec import problem_of
from lopsided.core.seeds import check_seed
from lopsided.core.validation import FloatArray, check_count
from lopsided.data.mixture_estimate import MixtureEstimate, estimate_by_em
from lopsided.data.mixture_table import LabelledTable, labelled_table
from lopsided.theory.fisher_law import FisherLaw
from lopsided.theory.mixture_bounds import mixture_bounds
from lopsided.theory.mixture_forecast import MixtureForecast, forecast_view

ROWS_PER_COMPONENT = 5  # fewer different rows than this say nothing about a covariance


@dataclass(frozen=True)
class MixtureFit:
    """The estimated mixture, how the network was found, and the forecast."""

    estimate: MixtureEstimate
    forecast: MixtureForecast
    group_names: tuple[str, ...]
    left_out_groups: tuple[str, ...]  # too small for a covariance, or beyond the largest dozen
    grouped: GroupLaw | None  # where the groups were known
    explained_variance: float
    dropped_directions: int
    network: str
    training_loss: float

    def _repr_html_(self) -> str:
        """For notebooks: the forecast of every group."""
        return forecast_view(self.facts())

    def facts(self) -> dict[str, Any]:
        """The JSON object of `lopsided mixture fit`."""
        facts = self.forecast.facts()
        for name, group, mean in zip(self.group_names, facts["groups"], self.estimate.mixture.means, strict=True):
            group["name"] = name
            group["mean_length"] = float(np.linalg.norm(mean))
        if self.grouped is not None:
            for place, group in enumerate(facts["groups"]):
                said = self.grouped.said(place)
                group |= {"more_of_it": said.words, "interval": [said.low, said.high], "fraction_effect": said.effect}
        own = ("explained_variance", "dropped_directions", "left_out_groups", "network", "training_loss")
        return facts | {
            "estimated_by": self.estimate.method,
            "declined_groups": self.estimate.declined,
            **{name: getattr(self.estimate, name) for name in ("bits_per_dimension", "criterion", "converged")},
            **{name: getattr(self, name) for name in own},
        }


def mixture_fit(
    data: "str | os.PathLike[str] | LabelledTable | Any",
    *,
    samples: int | None = None,
    neurons: int = NEURONS,
    groups: int | None = None,
    label: str | None = None,
    group: str | None = None,
    positive: str | None = None,
    components: int = COMPONENTS,
    seed: int = 0,
) -> MixtureFit:
    """Estimate the mixture of your data, fit a network to it and forecast the risk of every group.

    Parameters
    ----------
    data : path or DataFrame
        An npz, parquet or csv file with labels, or a pandas or Polars frame.
    samples : int, optional
        The number of training examples to forecast for. By default, the rows of `data`.
    neurons : int, default 2
        Hidden neurons of the network.
    groups : int, optional
        The number of groups. By default, chosen by BIC.
    label : str, optional
        The column of labels. By default, the one with a usual name.
    group : str, optional
        The column of groups, if they are known.
    positive : str, optional
        The label to code as 1, if there are more than two.
    components : int, default 5
        Principal components to keep.
    seed : int, default 0
        The random seed of the fit.
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
        raise InputError(f"at most {features.shape[1]} neurons (the components)", width)
    count = check_count(samples if samples is not None else len(features), "the number of samples")
    if table.groups is not None:
        grouped = group_law(features, table.groups, answers, count, check_seed(seed), neurons=width)
        estimate, network, law = grouped.estimate, grouped.network, grouped.forecast
        names = tuple(table.group_names[code] for code in grouped.codes)
        left_out = tuple(name for name in table.group_names if name not in names)
    else:
        grouped, left_out = None, ()
        network = fit_network(features, answers, width, check_seed(seed))
        most = max(1, len(features) // (ROWS_PER_COMPONENT * features.shape[1]))
        tried = range(1, min(most, 4) + 1) if groups is None else groups
        estimate = estimate_by_em(network.points, tried, seed=seed)
        names = tuple(f"component {index}" for index in range(estimate.mixture.groups))
        law = FisherLaw(problem_of(estimate.mixture, network.weights)).forecast(count)
        check_entropy(law.average_entropy, answers)
    problem = problem_of(estimate.mixture, network.weights)
    forecast = MixtureForecast(problem, count, law, mixture_bounds(problem), time.perf_counter() - begin)
    return MixtureFit(estimate, forecast, names, left_out, grouped, explained, dropped, network.how, network.loss)


def _binary(table: LabelledTable, positive: str | None) -> FloatArray:
    names = table.label_names
    if positive is not None:
        if len(names) == 1:
            raise InputError("at least two classes", f"one ({names[0]})")
        if positive not in names:
            raise InputError(f"a label among {', '.join(names[:8])}", repr(positive))
        return np.asarray(table.labels == names.index(positive), dtype=np.float64)
    if len(names) == 1:
        raise InputError("two classes", f"one ({names[0]})")
    if len(names) != 2:
        raise InputError("two classes", f"{len(names)} ({', '.join(names[:6])})", "name one with --positive")
    return np.asarray(table.labels == 1, dtype=np.float64)


def _check_variety(features: FloatArray) -> None:
    """Enough different rows for a covariance; a few repeated points have none."""
    needed = ROWS_PER_COMPONENT * features.shape[1]
    for rows in (features[: 20 * needed], features):  # nearly always the first few settle it
        different = len(np.unique(rows.round(9), axis=0))  # equal rows may differ in the last digits of a product
        if different >= needed:
            return
    expected = f"at least {needed} different rows ({ROWS_PER_COMPONENT} for each direction in which they vary)"
    got = f"{different} among {len(features)}"
    raise InputError(expected, got, "give more data, or fewer components (--components)")
