"""Do classifiers of the given last layer point the same way, and does the network distinguish their classes?

Minority collapse (Fang et al. 2021, Theorem 5) is cos(w_i, w_j) -> 1; balanced classes have -1/(K-1) (neural collapse,
Papyan et al. 2020). Angles alone do not show that a pair is lost: in few dimensions healthy classes may lie close. So a
pair is reported by two numbers, the cosine of its classifier vectors (less their common mean) and its pair accuracy:
the share of the examples of both (each class with half the weight) for which the own logit is the larger of the two; a
collapsed pair has about one half whatever the other classes do. The layer is measured in two passes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level, shortened
from lopsided.checkup.checks.intervals import Intervals, rate_intervals
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.feature_space import training_blocks
from lopsided.core.errors import InputError
from lopsided.core.figure import Figure, Heatmap, Panel
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.angles import cosines
from lopsided.measure.neural_collapse import NeuralCollapse, neural_collapse_streaming

RISKY_COSINE, COLLAPSED_COSINE = 0.5, 0.9
RISKY_ACCURACY, LOST_ACCURACY = 0.9, 0.75
MOST_NAMED, MOST_DRAWN = 8, 40
_NC = ("nc1", "nc2_norm_variation", "nc2_angle_deviation", "nc3", "nc4")
_ENERGIES = ("feature_energy", "centred_mean_energy", "weight_energy")


@dataclass(frozen=True)
class LastLayer:
    """What the last layer shows on the training rows."""

    collapse: NeuralCollapse
    classifier_cosines: FloatArray  # of the rows less their mean, which the softmax does not see; K x K
    wins: IntArray  # examples of class i whose own logit beats logit j
    counts: IntArray
    smallest_feature: float


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """All pairs of classes, the closest first."""
    classes = evidence.labelled
    if len(classes.names) < 2:
        raise InputError("at least two classes", len(classes.names))
    layer = last_layer(evidence)
    accuracy = _pair_accuracy(layer)
    cosine = layer.classifier_cosines
    rows, columns = np.triu_indices(len(classes.names), 1)
    findings = []
    for place in np.argsort(-np.nan_to_num(cosine[rows, columns], nan=1.0), kind="stable"):
        i, j = int(rows[place]), int(columns[place])
        close = 1.0 if np.isnan(cosine[i, j]) else float(cosine[i, j])  # a vanished classifier has no angle left
        if close < RISKY_COSINE:
            break
        highest = accuracy.high[i, j]
        if not highest < RISKY_ACCURACY:
            continue
        level = Level.FAILING if close >= COLLAPSED_COSINE and highest < LOST_ACCURACY else Level.AT_RISK
        first, second = classes.names[i], classes.names[j]
        words = f"The classifiers of {first} and {second} point the same way (cosine {close:.2f}, "
        words += f"where {-1 / (len(classes.names) - 1):.2f} means well separated), and only "
        words += f"{accuracy.value[i, j]:.0%} of their examples are distinguished (mean of both classes)."
        remedy = "Oversample both to the forecast rate, or train with class weights from the start."
        findings.append(Finding(level, f"classes {first} and {second}", *accuracy.at((i, j)), words, remedy))
    if not findings:
        worst = accuracy.lowest((rows, columns))
        i, j = int(rows[worst]), int(columns[worst])
        words = f"No pair has collapsed; the hardest to distinguish are {classes.names[i]} and {classes.names[j]} "
        words += f"({accuracy.value[i, j]:.0%})."
        findings = [Finding(Level.HEALTHY, f"all {rows.size:,} pairs of classes", *accuracy.at((i, j)), words)]
    measures = {name: getattr(layer.collapse, name) for name in (*_NC, *_ENERGIES)}
    known = np.isfinite(cosine[rows, columns]).any()
    measures["mean_cosine"] = float(np.nanmean(cosine[rows, columns])) if known else None
    figures = [_figure(classes.names, cosine)] if len(classes.names) <= MOST_DRAWN else []
    return Checked(shortened(findings, MOST_NAMED, "pairs"), measures, figures)


def _pair_accuracy(layer: LastLayer) -> Intervals:
    """Balanced accuracy of every pair, with ends that hold for all pairs at once."""
    K = layer.counts.size
    totals = np.repeat(layer.counts[:, None], K, axis=1)
    side = rate_intervals(layer.wins, totals, tests=K * (K - 1))
    value = (side.value + side.value.T) / 2
    below = np.hypot(side.value - side.low, (side.value - side.low).T) / 2
    above = np.hypot(side.high - side.value, (side.high - side.value).T) / 2
    return Intervals(value, value - below, value + above)


def _figure(names: tuple[str, ...], cosine: FloatArray) -> Figure:
    values = [
        [None if np.isnan(value) or i == j else float(value) for j, value in enumerate(row)]
        for i, row in enumerate(cosine)
    ]
    heat = Heatmap(list(names), list(names), values, "cosine", -1.0, 1.0)
    panel = Panel("Cosines, the common mean removed", "class", "class", [heat])
    told = "Near 1: the network hardly distinguishes the two classes."
    return Figure("Cosines of the classifier vectors", [panel], told)


def last_layer(evidence: Evidence) -> LastLayer:
    """What the evidence's labels, features and classifier show; measured once for the same object."""
    if "last layer" not in evidence.measured:
        evidence.measured["last layer"] = _measure(evidence)
    found: LastLayer = evidence.measured["last layer"]
    return found


def _measure(evidence: Evidence) -> LastLayer:
    classes, weight = evidence.labelled, evidence.classifier
    assert weight is not None
    bias = evidence.bias if evidence.bias is not None else np.zeros(len(classes.names))

    def batches() -> Iterator[tuple[NDArray[Any], IntArray]]:
        for block, rows in training_blocks(evidence):
            yield block, classes.codes[rows]

    collapse = neural_collapse_streaming(batches, len(classes.names), weight.shape[1], weight, bias)
    wins = np.zeros((len(classes.names),) * 2, dtype=np.int64)
    smallest = np.inf
    for block, codes in batches():
        smallest = min(smallest, float(block.min()))
        logits = block.astype(np.float64) @ weight.T + bias
        ahead = logits[np.arange(len(codes)), codes][:, None] > logits
        for code in np.unique(codes):
            wins[code] += ahead[codes == code].sum(axis=0)
    centred = weight - weight.mean(axis=0)
    return LastLayer(collapse, cosines(centred), wins, collapse.class_counts, smallest)


CHECK = Check(
    "collapse_measured",
    "Have classes of the trained network collapsed onto each other?",
    f"Failing when the cosine of two classifiers is at least {COLLAPSED_COSINE:g} and the upper end of their pair "
    f"accuracy is below {LOST_ACCURACY:g}; at risk from cosine {RISKY_COSINE:g} with an upper end below "
    f"{RISKY_ACCURACY:g}. Intervals hold for all pairs at once (Bonferroni); measured on the training rows.",
    "Fang et al. 2021, Theorem 5 (minority collapse); Papyan et al. 2020, NC1-NC4",
    frozenset({"labels", "features", "classifier"}),
    run,
)
