"""Which classes would a network with these class counts and this weight decay fail to distinguish?

The Layer-Peeled Model in its penalised form (Fang et al. 2021, eq 7 and 91) collapses classes with n_k <= lambda* N.
The multiplier comes from the best that is known:

    wd sqrt(E_W / E_H)    weight decay, and the energies of the given classifier and features (centred class means)
    tau = K sqrt(E_H E_W) the energies alone (the paper's recipe, which misses more)
    wd / sqrt(3 K / 4)    weight decay alone, the value seen for BatchNorm and ReLU (c K between K/2 and K)

and where nothing is known, it assumes the usual weight decay of 5e-4 and says so. Real networks lose classes 3 to 5
times earlier than this equilibrium, hence the margin of 5 for "at risk", chosen by hand; the levels at risk and healthy
of this check depend on it. The published score is that of energies measured on a last layer and of the classes that
they lose, so it stands beside "is forecast to collapse" from those alone, not beside usual energies or the margin.
"""

import math
from typing import Any

import numpy as np

from lopsided.checkup.checks.collapse_measured import last_layer
from lopsided.checkup.checks.counts import FEWEST
from lopsided.checkup.checks.finding import Check, Checked, Finding, Level, shortened
from lopsided.checkup.checks.parts import all_of, class_subject
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.core.figure import Figure, Mark, Panel, Points
from lopsided.core.published_skill import skill_sentence
from lopsided.core.validation import FloatArray, IntArray
from lopsided.theory.collapse import CollapseForecast, collapse
from lopsided.theory.layer_peeled.solve import Features

USUAL_DECAY = 5e-4
MARGIN = 5.0
MOST_FREE_CLASSES = 150  # beyond it features are taken as nonnegative: closed form, nearly the same angles
MOST_NAMED = 8


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """The forecast, and every class compared with the number of examples it needs."""
    classes = evidence.labelled
    counts = classes.counts_where(evidence.training)
    present = np.flatnonzero(counts)
    forecast, basis, sure, scored = _forecast(evidence, counts[present].astype(float))
    need, told = forecast.count_needed, skill_sentence(scored, "Forecasts of collapse") if scored else ""
    findings = []
    for place in np.argsort(counts[present], kind="stable"):
        code = int(present[place])
        count = int(counts[code])
        if count > MARGIN * need:
            break
        level = Level.FAILING if count <= need and sure else Level.AT_RISK
        says = f"is near collapse: real networks lose classes up to {MARGIN:g} times earlier than the model"
        if count <= need:
            says = "is forecast to collapse: it will not be distinguished from other small classes"
        words = f"Class {classes.names[code]} has {count:,} examples, needs more than {need:,.3g} and {says} ({basis})."
        remedy = f"Oversample it {math.ceil(MARGIN * need / count)} times, collect "
        remedy += f"{math.ceil(MARGIN * need) - count:,} more examples, or lower the weight decay."
        ends = (count / (MARGIN * need), count / need)
        skill = told if count <= need else ""
        findings.append(Finding(level, class_subject(classes, code), count / need, ends, words, remedy, skill=skill))
    if not findings:
        least = int(counts[present].min())
        has = f"The smallest class has {least:,} example{'' if least == 1 else 's'}, {_times(least / need)} what"
        words = f"{has} it needs ({basis})."
        if least < FEWEST:
            words = f"{has} it needs to avoid collapse ({basis}). So few examples can still be too few for a good "
            words += "recall."
        everything, ends = all_of(int(present.size), "classes"), (least / (MARGIN * need), least / need)
        done = "Nothing to do."
        findings = [Finding(Level.HEALTHY, everything, least / need, ends, words, done)]
    measures = {
        "count_needed": need,
        "multiplier": forecast.multiplier,
        "collapsed": [classes.names[int(present[index])] for index in forecast.collapsed],
        "rests_on": basis,
        "assumed_weight_decay": None if evidence.weight_decay or evidence.classifier is not None else USUAL_DECAY,
        "minority_cosine": forecast.minority_cosine,
        "majority_cosine": forecast.majority_cosine,
    }
    return Checked(shortened(findings, MOST_NAMED, "classes"), measures, [_figure(evidence, counts, forecast)])


def _times(ratio: float) -> str:
    return f"{ratio:,.3g} times" if ratio < 1000 else "more than a thousand times"


def _forecast(evidence: Evidence, counts: FloatArray) -> tuple[CollapseForecast, str, bool, str]:
    """With what it rests on, whether the weight decay is known, and the kind of forecast that was scored, if any."""
    decay, K = evidence.weight_decay, counts.size
    relu = K > MOST_FREE_CLASSES
    if evidence.classifier is not None and evidence.table is not None and len(evidence.classifier) == K:
        layer = last_layer(evidence)
        measured = layer.collapse
        assert measured.weight_energy is not None
        relu = relu or layer.smallest_feature >= 0
        kind: Features = "relu" if relu else "free"
        if measured.weight_energy > 0 and measured.centred_mean_energy > 0:
            if decay is not None:
                multiplier = decay * math.sqrt(measured.weight_energy / measured.centred_mean_energy)
                words = f"weight decay {decay:g} and the measured energies of the last layer"
                return collapse(counts, multiplier=multiplier, features=kind), words, True, "collapse"
            words = "the measured energies of the last layer, without weight decay"
            energies: dict[str, Any] = {
                "feature_energy": measured.centred_mean_energy,
                "weight_energy": measured.weight_energy,
            }
            return collapse(counts, **energies, features=kind), words, False, "collapse by energies"
    multiplier = (decay or USUAL_DECAY) / math.sqrt(0.75 * K)
    words = f"assuming the usual weight decay {USUAL_DECAY:g}"
    if decay is not None:
        words = f"weight decay {decay:g}, energies as usual with batch normalisation"
    return collapse(counts, multiplier=multiplier, features="relu" if relu else "free"), words, decay is not None, ""


def _figure(evidence: Evidence, counts: IntArray, forecast: CollapseForecast) -> Figure:
    present = np.flatnonzero(counts)
    need = forecast.count_needed
    sizes, names = counts[present].astype(float).tolist(), [evidence.labelled.names[code] for code in present]
    points = Points(sizes, forecast.solution.margins.tolist(), "forecast margin", names=names)
    marks, side = [Mark(need, f"needed: {need:.3g}")], "logit margin (0: not distinguished)"
    panel = Panel("Forecast margin", "training examples", side, [points], marks, x_log=True)
    return Figure("Forecast margin of every class", [panel], "Classes left of the line are forecast to collapse.")


CHECK = Check(
    "collapse_forecast",
    "Does every class have enough examples for a network to learn it?",
    f"Failing when the count is at most what the model says a class needs (only with a known weight decay), at risk "
    f"within {MARGIN:g} times that. The interval is the count over {MARGIN:g} times and over one time the need.",
    "Fang et al. 2021 (Layer-Peeled Model), eq (7) and (91): a class collapses when n_k <= lambda* N",
    frozenset({"labels"}),
    run,
    exact=True,
)
