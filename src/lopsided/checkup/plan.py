"""From evidence to a plan: remedies with parameters, each with the gain a forecast gives it, best first.

Oversampling rates come from the collapse forecast (or the survival law) where the settings of the network are known,
else they are half-way to equal classes; examples to collect from the collapse forecast, else as many again. The plan is
ordered by the forecast gain in its metric; the gain of one class counts 1/K towards balanced accuracy, and its share of
the data towards the overall one. What rests on no forecast comes last, with the reason.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lopsided.checkup.evidence import Evidence
from lopsided.checkup.fold_scores import METRICS
from lopsided.checkup.forecasts import forecast_collection, forecast_gain
from lopsided.checkup.learning_curve import LEAST_EXAMPLES
from lopsided.checkup.offset_search import best_offsets
from lopsided.checkup.pilot import Pilot, reduced, run_pilot
from lopsided.checkup.remedy_plan import Plan, PlannedRemedy, TrainingRows
from lopsided.checkup.training_set import TrainingSet, training_set
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray
from lopsided.remedies.logit_adjustment import logit_offsets
from lopsided.remedies.rates import Rates, oversampling_rates

EVEN = 1.1  # sizes within a tenth of each other count as equal: nothing to reweight
NOISE = 0.5  # deviations of the class: a copy stays nearer to its original than to a stranger of the class
MOST_COLLECTED = 3  # classes for which collecting is planned


def make_plan(
    evidence: Evidence,
    *,
    metric: str | None = None,
    group: str | None = None,
    recipe: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Plan:
    """Plan for the training rows of `evidence`.

    metric: balanced, worst-class, worst-group or overall; worst-group where groups are given, else balanced. group: the
    partition whose worst group counts. recipe: settings of the network as `remedies.Recipe` takes them, where the
    evidence's weight decay and classifier do not say it all.
    """
    training = training_set(evidence, group=group)
    if recipe is not None and not isinstance(recipe, Mapping):
        raise InputError("a recipe by name", f"a {type(recipe).__name__}", "give for example {'weight_decay': 5e-4}")
    known = dict(recipe) if recipe is not None else measured_recipe(evidence)
    return plan_for(training, metric=metric, recipe=known, seed=seed)


def plan(
    data: Any = None,
    *,
    labels: Any = None,
    groups: Any = None,
    features: Any = None,
    split: Any = None,
    weight_decay: float | str | None = None,
    **options: Any,
) -> Plan:
    """Plan remedies for your data: what to do, with which parameters, and what it is forecast to gain.

    data, labels, groups, features, split and weight_decay as `lopsided.audit` takes them; `options` are those of
    `make_plan` (metric, group, recipe, seed).
    """
    from lopsided.checkup.gather import gather

    evidence = gather(data, labels=labels, groups=groups, features=features, split=split, weight_decay=weight_decay)
    return make_plan(evidence, **options)


def plan_for(
    training: TrainingSet, *, metric: str | None = None, recipe: Mapping[str, Any] | None = None, seed: int = 0
) -> Plan:
    """The same for a training set; its rows are all that the forecasts see."""
    wanted, known = chosen_metric(metric, training), dict(recipe or {})
    pilot = run_pilot(reduced(training, seed), seed)
    remedies, notes = _now(training, pilot, wanted, known)
    planned = [_with_forecast(remedy, pilot, wanted, seed) for remedy in remedies]
    planned += _collections(training, pilot, known, seed)
    about = TrainingRows(training.rows, training.classes, training.groups)
    ordered = sorted(planned, key=_order(training, wanted))
    return Plan([replace(remedy, training=about) for remedy in ordered], wanted, notes)


def chosen_metric(metric: str | None, training: TrainingSet) -> str:
    """The metric's key, checked against what the data have."""
    if metric is None:
        return "balanced" if training.groups is None else "worst-group"
    if metric not in METRICS:
        raise InputError(f"a metric among {', '.join(METRICS)}", repr(metric), "choose one of those")
    if metric == "worst-group" and training.groups is None:
        raise InputError("groups for the worst group", "none", "name a column of groups, or another metric")
    return metric


def measured_recipe(evidence: Evidence) -> dict[str, Any]:
    """What the evidence says about the network: the multiplier wd sqrt(E_W / E_H) where a classifier over the features
    was given with the weight decay, the weight decay alone otherwise."""
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


def _now(
    training: TrainingSet, pilot: Pilot, metric: str, recipe: Mapping[str, Any]
) -> tuple[list[PlannedRemedy], list[str]]:
    """Remedies for the data as they are, without forecasts, and what was left out."""
    remedies, notes = [], []
    codes = [int(code) for code in np.flatnonzero(training.classes.counts > 0)]
    counts = training.classes.counts[codes].astype(float)
    if counts.max() / counts.min() >= EVEN:
        remedies += _class_remedies([training.classes.names[code] for code in codes], counts, recipe)
    else:
        notes.append("The classes are equal in size to within a tenth: weights, rates and adjustment are left out.")
    remedies.append(_threshold(pilot, metric))
    if training.groups is not None:
        sizes = training.groups.counts[training.groups.counts > 0]
        if sizes.size > 1 and sizes.max() / sizes.min() >= EVEN:
            remedies.append(_group_weights(training))
        else:
            notes.append("The groups are equal in size to within a tenth: group weights are left out.")
    return remedies, notes


def _class_remedies(names: Sequence[str], counts: FloatArray, recipe: Mapping[str, Any]) -> list[PlannedRemedy]:
    def named(values: FloatArray) -> dict[str, float]:
        return dict(zip(names, (float(value) for value in values), strict=True))

    balanced = counts.sum() / (counts.size * counts)
    rates, why = _rates(named(counts), recipe)
    by_class = named(rates.rates)
    return [
        PlannedRemedy(
            "logit adjustment",
            "logit adjustment",
            {"offsets": named(-logit_offsets(counts)), "tau": 1.0},
            "Decide as if all classes were equally frequent: the log of each class's share is taken off its score.",
            None,
        ),
        PlannedRemedy(
            "class weights",
            "reweight",
            {"class_weights": named(balanced)},
            "Every class has the same say in the loss.",
            None,
        ),
        PlannedRemedy(
            "oversampling",
            "oversample",
            {"rates": by_class, "rule": rates.rule, "count_needed": rates.count_needed},
            why,
            None,
        ),
        PlannedRemedy(
            "oversampling with noise",
            "noise",
            {"rates": by_class, "noise": NOISE},
            f"The same rates; copies get Gaussian noise of {NOISE:g} deviations of their class.",
            None,
        ),
    ]


def _rates(counts: Mapping[str, float], recipe: Mapping[str, Any]) -> tuple[Rates, str]:
    half_way = oversampling_rates(counts, "sqrt")
    if not recipe:
        return half_way, f"{half_way.why} Given a network's weight decay, rates follow the collapse forecast."
    try:
        rates = oversampling_rates(counts, "forecast", recipe=recipe)
    except InputError as error:
        return half_way, f"{half_way.why} The collapse forecast gives no rates: {error}"
    if rates.added == 0:
        return half_way, f"{half_way.why} {rates.why}"
    return rates, rates.why


def _threshold(pilot: Pilot, metric: str) -> PlannedRemedy:
    offsets = best_offsets(pilot.plain()[0], pilot.training.classes.codes, pilot.training.group_codes, metric)
    return PlannedRemedy(
        "threshold moving",
        "threshold",
        {"offsets": dict(zip(pilot.training.classes.names, offsets.tolist(), strict=True)), "tuned_for": metric},
        "Offsets per class, tuned on held-out predictions; those given are a pilot's, and a learner tunes its own.",
        None,
    )


def _group_weights(training: TrainingSet) -> PlannedRemedy:
    groups = training.groups
    assert groups is not None
    counts = groups.counts.astype(float)
    weights = np.where(counts > 0, counts.sum() / np.maximum(counts, 1) / np.count_nonzero(counts), 1.0)
    return PlannedRemedy(
        "group weights",
        "group weights",
        {"partition": groups.name, "group_weights": dict(zip(groups.names, weights.tolist(), strict=True))},
        f"Every group of {groups.name} has the same say in the loss.",
        None,
    )


def _with_forecast(remedy: PlannedRemedy, pilot: Pilot, metric: str, seed: int) -> PlannedRemedy:
    forecast, reason = forecast_gain(remedy.kind, remedy.parameters, pilot, metric, seed)
    return replace(remedy, forecast=forecast, why=f"{remedy.why} {reason}".strip())


def _collections(training: TrainingSet, pilot: Pilot, recipe: Mapping[str, Any], seed: int) -> list[PlannedRemedy]:
    """The worst class with enough examples to test it, those that collapse, the worst of all; the worst group."""
    counts, recall = training.classes.counts, pilot.recalls("class")
    lacks = _examples_lacking(counts, recipe)
    worst = sorted(pilot.judged.classes, key=lambda code: (recall[code], counts[code]))
    testable = [code for code in worst if counts[code] >= 2 * LEAST_EXAMPLES][:1]
    collapsing = sorted((int(code) for code in np.flatnonzero(lacks > 0)), key=lambda code: -lacks[code])
    chosen = list(dict.fromkeys([*testable, *collapsing, *worst[:1]]))[:MOST_COLLECTED]
    found = [_collection(training, pilot, "class", code, int(lacks[code] or counts[code]), seed) for code in chosen]
    if training.groups is not None:
        sizes, accuracy = training.groups.counts, pilot.recalls("group")
        code = min(np.flatnonzero(sizes > 0).tolist(), key=lambda group: float(accuracy[group]))
        found.append(_collection(training, pilot, "group", code, int(sizes[code]), seed))
    return found


def _examples_lacking(counts: IntArray, recipe: Mapping[str, Any]) -> FloatArray:
    """Examples that each class lacks to stay clear of collapse; 0 where the weight decay is not known."""
    from lopsided.theory.collapse import collapse

    known = {name: recipe[name] for name in ("multiplier", "weight_decay", "features") if name in recipe}
    lacks, present = np.zeros(counts.size), counts > 0
    if {"multiplier", "weight_decay"} & known.keys():
        answer = collapse(counts[present].astype(float), **known, plan=True).plan
        if answer is not None and answer.collection.possible:
            lacks[present] = np.ceil(answer.collection.extra)
    return lacks


def _collection(training: TrainingSet, pilot: Pilot, axis: str, code: int, examples: int, seed: int) -> PlannedRemedy:
    partition = training.classes if axis == "class" else training.groups
    assert partition is not None
    name, have = partition.names[code], int(partition.counts[code])
    ratio = (have + examples) / have
    forecast, reason = forecast_collection(pilot.training, axis, code, have=have, ratio=ratio, seed=seed)
    return PlannedRemedy(
        f"collect {axis} {name}",
        "collect",
        {"axis": axis, "code": code, "subject": name, "examples": examples, "have": have},
        f"{examples:,} more examples of {axis} {name}, which has {have:,}. {reason}".strip(),
        forecast,
    )


def _order(training: TrainingSet, metric: str) -> Callable[[PlannedRemedy], tuple[bool, float]]:
    def key(remedy: PlannedRemedy) -> tuple[bool, float]:
        if remedy.forecast is None:
            return True, 0.0
        share = 1.0
        if remedy.kind == "collect" and metric == "balanced":
            classes = np.count_nonzero(training.classes.counts)
            share = 1.0 / classes if remedy.parameters["axis"] == "class" else remedy.parameters["have"] / training.size
        elif remedy.kind == "collect" and metric == "overall":
            share = remedy.parameters["have"] / training.size
        return False, -share * remedy.forecast.gain

    return key
