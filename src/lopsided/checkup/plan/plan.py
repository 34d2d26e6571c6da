"""From evidence to a plan: every remedy proposes itself for the data, and a pilot forecasts its gain. Largest first.

The order is by the gain to expect in the plan's metric: for a remedy for the data as they are, what its forecast and
what such remedies gained elsewhere (`checkup.decision.prior`) say together. Collection is forecast in the accuracy of
its own subject, of which a share counts (`Collection.share_of`), without what a class gains from being predicted more
often, because other classes pay for it. What has neither forecast nor prior comes last, with the reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lopsided.checkup.decision.prior import after_forecasts, gain_prior, learner_kind, pilot_deviations, plan_score
from lopsided.checkup.inputs.arguments import shared_parameters
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.gather import gather
from lopsided.checkup.inputs.training_set import training_set
from lopsided.checkup.plan.arms import DEFAULT, proposals_for
from lopsided.checkup.plan.collection import collections
from lopsided.checkup.plan.result import Plan, PlannedRemedy
from lopsided.core.errors import InputError, cut
from lopsided.core.parameters import taken_by
from lopsided.data.columns import some_of
from lopsided.data.labelled_set import LabelledSet
from lopsided.learners.named_learner import is_network
from lopsided.measure.metrics.contract import LEAST_IN_GROUP, Metric, judged_groups
from lopsided.measure.metrics.named import Asked, metric_named
from lopsided.measure.metrics.shares import ShareMetric
from lopsided.remedies.contract import Occasion
from lopsided.remedies.pilot import FOLDS, MOST_ROWS, pilot_groups, reduced, run_pilot

if TYPE_CHECKING:
    from lopsided.checkup.inputs.arguments import ColumnLike, ColumnsLike, DataLike

_OF_COLLECTION = {
    "balanced": "a class counts as one over the number of classes, a group by its share of the data",
    "worst-class": "a class counts in full, a group by its share of the data",
    "worst-group": "a group counts in full, a class by its share of the data",
    "overall": "a class or group counts by its share of the data",
}


@shared_parameters
def plan(
    data: "DataLike | Evidence | None" = None,
    *,
    labels: "ColumnLike | None" = None,
    groups: "ColumnsLike | None" = None,
    features: "ColumnLike | None" = None,
    split: "ColumnLike | None" = None,
    split_by: "ColumnLike | None" = None,
    time: "ColumnLike | None" = None,
    weight_decay: float | str | None = None,
    many_classes: bool = False,
    name: str | None = None,
    metric: Asked | None = None,
    costs: Any = None,
    group: str | None = None,
    recipe: Mapping[str, Any] | None = None,
    learner: Any = "logistic",
    arms: Sequence[Any] | None = None,
    seed: int = 0,
) -> Plan:
    """List remedies for imbalance in your data, with their parameters and forecast gains.

    Trains only a small pilot; `lopsided.trial` trains the remedies.

    Parameters
    ----------
    {inputs}
    group : str, optional
        The partition whose worst group counts, if there are several.
    recipe : dict, optional
        Settings of the network as `lopsided.remedies.Recipe` takes them, for example {"weight_decay": 5e-4, "step":
        0.1, "batch_size": 128}: oversampling rates then follow the collapse forecast. Without it, the settings are
        inferred from the data.
    learner : str or scikit-learn classifier, default "logistic"
        What will be trained, as in `lopsided.trial`: remedies that help linear models are not those that help trees.

    Returns
    -------
    Plan
        `remedies`, the most promising first, each with `name`, `parameters`, `forecast` and `why`; `plan[name]` has
        `indices`, `weights`, `offsets`, `sklearn(estimator)` and `torch()` to use it elsewhere.

    Examples
    --------
    >>> import lopsided, numpy
    >>> random = numpy.random.default_rng(0)
    >>> y = numpy.repeat([0, 1], [200, 20])
    >>> found = lopsided.plan(random.normal(size=(220, 2)) + y[:, None], labels=y)
    >>> found["logit adjustment"].offsets().round(2).tolist()
    [-1.15, 1.15]
    """
    given = dict(locals())
    if recipe is not None and not isinstance(recipe, Mapping):
        raise InputError("a recipe by name", f"a {type(recipe).__name__}", "give for example {'weight_decay': 5e-4}")
    evidence = data if isinstance(data, Evidence) else gather(**taken_by(gather, given))
    known = measured_recipe(evidence) if recipe is None else recipe
    training = training_set(evidence, group=group)
    wanted = None if metric is None and costs is None else chosen_metric(metric, training, costs)
    return plan_for(training, metric=wanted, recipe=known, learner=learner, seed=seed, arms=arms)


def plan_for(
    training: LabelledSet,
    *,
    metric: Asked | None = None,
    recipe: Mapping[str, Any] | None = None,
    learner: Any = "logistic",
    seed: int = 0,
    arms: Sequence[Any] | None = None,
) -> Plan:
    """The same for a training set; its rows are all that the forecasts see. `arms` as `lopsided.trial` takes them."""
    wanted = chosen_metric(metric, training)
    linear = learner_kind(learner) == "linear"
    pilot = run_pilot(reduced(training, seed), seed, pilot_groups(training), linear=linear)
    seen, classes = len(pilot.training.classes.names), len(training.classes.names)
    occasion = Occasion(training, pilot, wanted.aim, dict(recipe or {}), seed, is_network(learner))
    proposals, left_out = proposals_for(arms, occasion)
    planned, notes = [], _about_metric(training, metric, wanted) + left_out
    if seen < classes:
        notes.append(f"Forecasts are for {seen:,} of the {classes:,} classes, drawn evenly over their sizes.")
    for found in proposals:
        forecast, reason = None, f"No forecast: only a trial can tell its gain in {wanted.name}."
        if wanted.forecast:
            forecast, reason = found.remedy.forecast(pilot, wanted.word, seed=seed)
        planned.append(PlannedRemedy(found.remedy, cut(f"{found.why} {reason}".strip()), forecast))
    if arms is None or any(isinstance(arm, str) and arm == DEFAULT for arm in arms):
        planned += collections(occasion)
    expected = _expected_gains(planned, training, wanted, learner)
    counted = []
    for remedy in planned:
        gained, low, high = expected.get(remedy.name, (_counts_as(remedy, training, wanted), None, None))
        counted.append(replace(remedy, training=training, counts_as=gained, counts_low=low, counts_high=high))
    return Plan(
        # 1e-12: sums over classes round differently in another order
        sorted(counted, key=lambda remedy: (remedy.counts_as is None, -round(remedy.counts_as or 0.0, 12))),
        wanted.word,
        [cut(note) for note in notes + _unjudged(training)],
        # what was scored: the remedies that a plan proposes unasked, on tables of two classes
        plan_score(learner_kind(learner)) if wanted.word == "balanced" and classes == 2 and arms is None else "",
        _order(wanted, bool(expected)),
        None if training.groups is None else training.groups.name,
        wanted,
        training.columns,
    )


def _order(metric: Metric, prior: bool) -> str:
    known = "the forecast and from what the same remedies gained on other data" if prior else "the forecast"
    collection = "and comes last"
    if metric.word in _OF_COLLECTION:
        collection = f"{_OF_COLLECTION[metric.word]}, without what a class gains from being predicted more often"
    return (
        f"Ordered by the expected gain in {metric.name}, from {known}. Collection is forecast as the accuracy of the "
        f"class or group itself{', ' if metric.word not in _OF_COLLECTION else ': '}{collection}."
    )


def _expected_gains(
    planned: Sequence[PlannedRemedy], training: LabelledSet, metric: Metric, learner: Any
) -> dict[str, tuple[float, float, float]]:
    """What the prior and the pilot's forecasts together expect of each remedy for the data as they are, with a 90%
    interval, by name; none where there is no prior."""
    able = [remedy for remedy in planned if remedy.remedy.collects is None]
    names, kind = [remedy.name for remedy in able], learner_kind(learner)
    prior = gain_prior(names, metric.family, kind, training.classes.counts)
    if prior.weak:
        return {}
    forecasts = {remedy.name: remedy.forecast.gain for remedy in able if remedy.forecast is not None}
    found = after_forecasts(prior, forecasts, prior.pilot_errors(pilot_deviations(metric.family, kind)))
    low, high = found.interval()
    return {name: (float(found.mean[at]), float(low[at]), float(high[at])) for at, name in enumerate(names)}


def _counts_as(planned: PlannedRemedy, training: LabelledSet, metric: Metric) -> float | None:
    forecast = planned.forecast
    if forecast is None or (planned.remedy.collects is not None and not isinstance(metric, ShareMetric)):
        return None  # an accuracy does not count towards a cost or a score
    gain = forecast.gain if forecast.learned is None else min(forecast.gain, forecast.learned)
    return float(planned.remedy.share_of(metric.word, training) * gain)


def chosen_metric(asked: Asked | None, training: LabelledSet, costs: Any = None) -> Metric:
    """The metric, checked against what the data have; without one, by whether there are groups."""
    groups = training.groups
    if asked is None:
        asked = "cost" if costs is not None else "balanced" if groups is None else "worst-group"
    metric = metric_named(asked, training.classes, costs)
    if metric.word == "worst-group" and groups is None:
        raise InputError("groups for the worst group", "none", "name a column of groups, or another metric")
    if metric.word == "worst-group" and groups is not None and not judged_groups(groups):
        largest = int(np.argmax(groups.counts))
        raise InputError(
            f"a group of {groups.name} with at least {LEAST_IN_GROUP} training examples for the worst group",
            f"{groups.counts[largest]} in the largest, {groups.names[largest]}",
            "name coarser groups, or another metric such as balanced",
        )
    return metric


def measured_recipe(evidence: Evidence) -> dict[str, Any]:
    """Settings of the network from the evidence: the multiplier wd sqrt(E_W / E_H) if a classifier over the features
    was given with the weight decay, otherwise the weight decay alone."""
    if evidence.weight_decay is None:
        return {}
    if evidence.classifier is None or evidence.table is None or evidence.classes is None:
        return {"weight_decay": evidence.weight_decay}
    from lopsided.measure.neural_collapse import neural_collapse

    features = np.asarray(evidence.table.features(), dtype=np.float64)[evidence.training]
    classes = evidence.classes.codes[evidence.training]
    measured = neural_collapse(features, classes, evidence.classifier, evidence.bias)
    if measured.weight_energy is None or measured.centred_mean_energy <= 0:
        return {"weight_decay": evidence.weight_decay}
    multiplier = evidence.weight_decay * float(np.sqrt(measured.weight_energy / measured.centred_mean_energy))
    return {"multiplier": multiplier, "features": "relu" if features.min() >= 0 else "free"}


def small_groups(training: LabelledSet) -> list[str]:
    """A sentence about the groups that are too small to be the worst, or none."""
    groups = training.groups
    if groups is None:
        return []
    small = [code for code in np.flatnonzero(groups.counts > 0).tolist() if code not in judged_groups(groups)]
    if not small:
        return []
    told = some_of([f"{groups.names[code]}: {groups.counts[code]}" for code in small])
    return [f"Groups of {groups.name} with fewer than {LEAST_IN_GROUP} examples are never the worst group ({told})."]


def _about_metric(training: LabelledSet, asked: Asked | None, metric: Metric) -> list[str]:
    """Why it is the worst group, where nobody asked for it, and which groups are too small to be that."""
    if metric.aim != metric.word:
        return ["Remedies are tuned for balanced accuracy, because a scorer cannot be optimised directly."]
    if metric.word != "worst-group" or training.groups is None:
        return []
    unasked = "Groups were given, so the metric is the accuracy of the worst group; to change it, name a metric."
    left_out = set(judged_groups(training.groups)) - set(pilot_groups(training))
    unseen = [training.groups.names[code] for code in sorted(left_out)]
    among = f"groups with few examples among the {MOST_ROWS:,} rows that they use"
    told = [f"Forecasts leave out {among}: {some_of(unseen)}."] if unseen else []
    return [unasked] * (asked is None) + small_groups(training) + told


def _unjudged(training: LabelledSet) -> list[str]:
    """Which classes the forecasts say nothing about, and why."""
    counts, names = training.classes.counts, training.classes.names
    single = [names[code] for code in np.flatnonzero(counts == 1)]
    few = [names[code] for code in np.flatnonzero((counts > 1) & (counts < FOLDS))]
    notes = []
    if single:
        verb = "class has one example" if len(single) == 1 else "classes have one example each"
        notes.append(
            f"{len(single):,} {verb} and are left out of forecasts ({some_of(single)}): collect more of them first."
        )
    if few:
        verb, told = "class has" if len(few) == 1 else "classes have", some_of(few)
        notes.append(f"{len(few):,} {verb} fewer than {FOLDS} examples ({told}), too few for a useful forecast.")
    return notes
