"""From evidence to a plan: remedies with parameters, each with the gain a forecast gives it, in `plan_order`.

Oversampling rates come from the collapse forecast (or the merging law) where the settings of the network are known,
else they are half-way to equal classes; examples to collect as `collection` says. What rests on no forecast comes last,
with the reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lopsided.checkup.checks.finding import named
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.training_set import TrainingSet, training_set
from lopsided.checkup.plan.collection import collections
from lopsided.checkup.plan.forecasts import forecast_gain
from lopsided.checkup.plan.group_remedies import EVEN, group_remedies
from lopsided.checkup.plan.judged_parts import check_worst_group, judged_groups, small_groups
from lopsided.checkup.plan.order import in_order, order_sentence
from lopsided.checkup.plan.pilot import FOLDS, MOST_ROWS, Pilot, pilot_groups, reduced, run_pilot
from lopsided.checkup.plan.result import Plan, PlannedRemedy, TrainingRows
from lopsided.core.errors import InputError
from lopsided.core.published_skill import skill_sentence
from lopsided.core.validation import FloatArray
from lopsided.measure.paired_scores import METRICS
from lopsided.remedies.logit_adjustment import logit_offsets
from lopsided.remedies.offset_search import best_offsets
from lopsided.remedies.rates import Rates, oversampling_rates

NOISE = 0.5  # deviations of the class: a copy stays nearer to its original than to a stranger of the class
MEASURED_METRICS = ("balanced", "worst-class")  # those that `lopsided.skill` asks about


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
    from lopsided.checkup.inputs.gather import gather

    evidence = gather(data, labels=labels, groups=groups, features=features, split=split, weight_decay=weight_decay)
    return make_plan(evidence, **options)


def plan_for(
    training: TrainingSet, *, metric: str | None = None, recipe: Mapping[str, Any] | None = None, seed: int = 0
) -> Plan:
    """The same for a training set; its rows are all that the forecasts see."""
    wanted, known = chosen_metric(metric, training), dict(recipe or {})
    pilot = run_pilot(reduced(training, seed), seed, pilot_groups(training))
    remedies, notes = _now(training, pilot, wanted, known)
    notes = [*_about_metric(training, metric, wanted), *notes]
    planned = [_with_forecast(remedy, pilot, wanted, seed) for remedy in remedies]
    planned += collections(training, pilot, known, seed)
    about = TrainingRows(training.rows, training.classes, training.groups)
    ordered = [replace(remedy, training=about) for remedy in in_order(planned, training, wanted)]
    told = skill_sentence("remedy by pilot") if wanted in MEASURED_METRICS else ""
    groups = None if training.groups is None else training.groups.name
    return Plan(ordered, wanted, notes, told, order_sentence(wanted), groups)


def chosen_metric(metric: str | None, training: TrainingSet) -> str:
    """The metric's key, checked against what the data have."""
    if metric is None:
        metric = "balanced" if training.groups is None else "worst-group"
    if metric not in METRICS:
        raise InputError(f"a metric among {', '.join(METRICS)}", repr(metric), "choose one of those")
    if metric == "worst-group" and training.groups is None:
        raise InputError("groups for the worst group", "none", "name a column of groups, or another metric")
    if metric == "worst-group":
        check_worst_group(training)
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
    of_groups, group_notes = group_remedies(training)
    return remedies + of_groups, [*notes, *group_notes, *_unjudged(training)]


def _about_metric(training: TrainingSet, asked: str | None, metric: str) -> list[str]:
    """Why it is the worst group, where nobody asked for it, and which groups are too small to be that."""
    if metric != "worst-group" or training.groups is None:
        return []
    notes = (
        [] if asked is not None else ["Groups were given, so it is the worst group that counts; a metric can be named."]
    )
    left_out = set(judged_groups(training)) - set(pilot_groups(training))
    unseen = [training.groups.names[code] for code in sorted(left_out)]
    if unseen:
        unseen = [f"Forecasts leave out groups with few examples among the {MOST_ROWS:,} they use: {named(unseen)}."]
    return notes + small_groups(training) + unseen


def _unjudged(training: TrainingSet) -> list[str]:
    """Which classes the forecasts say nothing about, and why."""
    counts, names = training.classes.counts, training.classes.names
    single = [names[code] for code in np.flatnonzero(counts == 1)]
    few = [names[code] for code in np.flatnonzero((counts > 1) & (counts < FOLDS))]
    notes = []
    if single:
        verb = "class has one example" if len(single) == 1 else "classes have one example each"
        notes.append(f"{len(single):,} {verb} and count in no forecast ({named(single)}): collect more of them first.")
    if few:
        verb = "class has" if len(few) == 1 else "classes have"
        notes.append(
            f"{len(few):,} {verb} fewer than {FOLDS} examples ({named(few)}): forecasts rest on next to nothing there."
        )
    return notes


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


def _with_forecast(remedy: PlannedRemedy, pilot: Pilot, metric: str, seed: int) -> PlannedRemedy:
    forecast, reason = forecast_gain(remedy.kind, remedy.parameters, pilot, metric, seed)
    return replace(remedy, forecast=forecast, why=f"{remedy.why} {reason}".strip())
