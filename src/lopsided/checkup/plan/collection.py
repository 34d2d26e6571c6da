"""Which class or group to collect more of, how many, and what that is forecast to bring.

Classes: as many as the collapse forecast says a class lacks, else as many again. Groups: as many as halve the group's
excess risk by the large-n law (`group_law`), at most `FURTHEST` - 1 times those there are, because the learning curve
that forecasts the accuracy reaches no further; as many again where the law declines. The law also says which group's
examples would lower that risk most, and what a larger share alone would do.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lopsided.checkup.checks.group_law import GroupLaw, group_law
from lopsided.checkup.network_fit import COMPONENTS, standardised_components
from lopsided.checkup.plan.result import PlannedRemedy
from lopsided.core.errors import InputError
from lopsided.core.partition import first_rows
from lopsided.core.validation import FloatArray, IntArray
from lopsided.remedies.collection import Collection
from lopsided.remedies.contract import Occasion
from lopsided.remedies.learning_curve import FURTHEST, LEAST_EXAMPLES
from lopsided.remedies.pilot import Pilot
from lopsided.remedies.rates import oversampling_rates
from lopsided.theory.collapse import collapse

MOST_COLLECTED = 3  # classes for which collecting is planned
MOST_GROUPS_COLLECTED = 2
WORTH_SAYING = 0.005  # of recall


def collections(occasion: Occasion) -> list[PlannedRemedy]:
    """The worst class with enough examples to test it, those that collapse, the worst of all; the worst groups."""
    training, pilot = occasion.training, _pilot(occasion)
    counts, lacks = training.classes.counts, _examples_lacking(training.classes.counts, occasion.recipe)
    code_of = {name: code for code, name in enumerate(training.classes.names)}  # the pilot may see some classes only
    recalls, names = pilot.recalls("class"), pilot.training.classes.names
    recall = {code_of[names[seen]]: float(recalls[seen]) for seen in pilot.judged.classes}
    appears = first_rows(training.classes.codes, counts.size)  # of equal classes the first, whatever its name
    worst = sorted(recall, key=lambda code: (recall[code], counts[code], appears[code]))
    testable = [code for code in worst if counts[code] >= 2 * LEAST_EXAMPLES][:1]
    collapsing = sorted(
        (int(code) for code in np.flatnonzero(lacks > 0)), key=lambda code: (-lacks[code], appears[code])
    )
    chosen = list(dict.fromkeys([*testable, *collapsing, *worst[:1]]))[:MOST_COLLECTED]
    found = [_planned(occasion, "class", code, int(lacks[code] or counts[code]), "") for code in chosen]
    return found + _group_collections(occasion)


def _pilot(occasion: Occasion) -> Pilot:
    assert occasion.pilot is not None  # plans have one
    return occasion.pilot


def _group_collections(occasion: Occasion) -> list[PlannedRemedy]:
    groups = occasion.training.groups
    if groups is None or np.count_nonzero(groups.counts) < 2:
        return []
    sizes, accuracy = groups.counts, _pilot(occasion).recalls("group")
    appears = first_rows(groups.codes, sizes.size)
    worst = sorted(np.flatnonzero(sizes > 0).tolist(), key=lambda group: (float(accuracy[group]), appears[group]))
    law, declined = _law(_pilot(occasion), occasion.training.size, occasion.seed)
    found = []
    for code in worst[: min(MOST_GROUPS_COLLECTED, len(worst) - 1)]:
        place = None if law is None else law.place(code)
        if law is None or place is None:
            why = declined or f"The large-n law cannot say: {groups.names[code]} has too few examples."
            found.append(_planned(occasion, "group", code, int(sizes[code]), why))
            continue
        examples = min(law.halves_with(place), int((FURTHEST - 1) * sizes[code]))
        share, low, high = law.lowered(place, place, examples)
        facts = {"excess_risk": law.excess(place), "lowered": share, "low": low, "high": high}
        facts["halved_by"] = law.halves_with(place)
        found.append(_planned(occasion, "group", code, examples, _advice(law, place, examples, groups.names), facts))
    return found


def _law(pilot: Pilot, rows: int, seed: int) -> tuple[GroupLaw | None, str]:
    """The law on the pilot's rows, one class (the rarest) against the rest; or why there is none."""
    training = pilot.training
    counts = training.classes.counts
    appears = first_rows(training.classes.codes, counts.size)
    rarest = min(np.flatnonzero(counts).tolist(), key=lambda code: (counts[code], appears[code]))
    answers = (training.classes.codes == rarest).astype(float)
    try:
        points = standardised_components(training.features, COMPONENTS)[0]
        return group_law(points, training.group_codes, answers, rows, seed), ""
    except InputError as reason:
        return None, f"The large-n law does not apply: {reason}"


def _advice(law: GroupLaw, place: int, examples: int, names: tuple[str, ...]) -> str:
    """What the law says about these examples: gain, sign of a larger share, whose examples are best."""
    share, low, high = law.lowered(place, place, examples)
    words = f"By the large-n law they lower its excess log loss by {share:.0%} [{low:.0%}, {high:.0%}]"
    needed = law.halves_with(place)
    words += "" if examples >= needed else f"; {needed:,} would halve it"
    elasticity, least, most = law.elasticity(place)
    if least > 0:
        words += f"; a larger share at the same total would hurt it (elasticity {elasticity:+.2f}), so do not "
        words += "replace others"
    elif most < 0:
        words += f"; a larger share at the same total would help it too (elasticity {elasticity:+.2f})"
    else:
        words += f"; the effect of a larger share at the same total is unclear (elasticity {elasticity:+.2f})"
    better = law.clearly_better(place, examples)
    if better is not None:
        other, _, _ = law.lowered(place, better, examples)
        words += f"; as many of {names[int(law.codes[better])]} would lower it by {other:.0%}, so collect those first"
    return words + ("." if law.forecast.reliable else "; with so few examples this is only a rough guide.")


def _planned(
    occasion: Occasion, axis: str, code: int, examples: int, advice: str, law: Mapping[str, float] | None = None
) -> PlannedRemedy:
    partition = occasion.training.partition(axis)
    remedy = Collection(axis, code, partition.names[code], examples, int(partition.counts[code]), law or {})
    forecast, reason = remedy.forecast(_pilot(occasion), occasion.metric, seed=occasion.seed)
    plural = "" if examples == 1 else "s"
    learned = None if forecast is None or axis == "group" else forecast.learned
    if forecast is not None and learned is not None and forecast.gain - learned > WORTH_SAYING:
        advice += (
            f" Of the forecast gain, {max(learned, 0.0):.3f} is learning; the rest comes from predicting the class "
        )
        advice += "more often, at the cost of other classes."
    why = f"{examples:,} more example{plural} of {axis} {remedy.subject}, which has {remedy.have:,}. {advice} {reason}"
    return PlannedRemedy(remedy, " ".join(why.split()), forecast)


def _examples_lacking(counts: IntArray, recipe: Mapping[str, Any]) -> FloatArray:
    """Examples that each class lacks to stay clear of collapse; 0 where the weight decay is not known."""
    if recipe.get("step") is not None:  # the merging law; an example collected counts as one repeated
        try:
            rates = oversampling_rates(counts[counts > 0].astype(float).tolist(), "forecast", recipe=recipe)
        except InputError:
            return np.zeros(counts.size)
        lacking = np.zeros(counts.size)
        lacking[counts > 0] = np.ceil(rates.effective_counts - rates.counts - 1e-6)  # less is rounding of the level
        return np.maximum(lacking, 0.0)
    known = {name: recipe[name] for name in ("multiplier", "weight_decay", "features") if name in recipe}
    lacks, present = np.zeros(counts.size), counts > 0
    if {"multiplier", "weight_decay"} & known.keys():
        answer = collapse(counts[present].astype(float), **known, plan=True).plan
        if answer is not None and answer.collection.possible:
            lacks[present] = np.ceil(answer.collection.extra)
    return lacks
