"""Is the model's confidence calibrated, class by class and group by group?

    overconfidence = mean(largest probability - [right]),   log loss = mean(-log p_y)

Confidences are given, so the interval of the overconfidence is that of the accuracy; the binned calibration error (ECE,
15 bins) is biased upwards for small parts and is given as a measure only.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level, shortened
from lopsided.checkup.checks.intervals import Intervals, mean_intervals, mean_intervals_of_sums, rate_intervals
from lopsided.checkup.checks.parts import class_subject, group_subject, own_key, without_implied
from lopsided.checkup.inputs.confidence import BINS, Confidence, confidence_of
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.core.figure import Figure, Line, Panel
from lopsided.core.partition import Partition, tally
from lopsided.core.validation import BoolArray, FloatArray, IntArray

RISKY, FAILING = 0.05, 0.15
FEWEST = 20  # rows below which a part is not called
MOST_NAMED = 5
_CALIBRATE = "Calibrate on held-out rows (temperature or Platt scaling)"
_BY_ITSELF = "separately for this class or group if the others are calibrated"


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Classes as predicted, then groups."""
    classes, rows = evidence.labelled, evidence.judged
    known = evidence.confidence
    if known is None:
        assert evidence.probabilities is not None
        known = confidence_of(evidence.probabilities, classes.codes)
    judged = _Judged(known.where(rows), classes.codes[rows], None if evidence.times is None else evidence.times[rows])
    predicted = Partition(classes.name, judged.known.guess, classes.names, judged.times)
    loss, sure = (float(sums.sum()) / judged.total for sums in (judged.known.loss, judged.known.sure))
    measures: dict[str, Any] = {
        "judged": evidence.judged_words,
        "log_loss": loss,
        "log_loss_weighting": "every example has the same weight",
        "overconfidence": sure - judged.accuracy,
        "mean_confidence": sure,
        "ece": _ece(judged),
    }
    class_loss = judged.losses(judged.codes, len(classes.names), random)
    findings = _findings("predictions of ", predicted, _overconfidence(judged, predicted), evidence)
    if all(finding.level is Level.HEALTHY for finding in findings):  # many small parts may hide what all show together
        findings = _whole(judged, evidence) or findings
    measures["classes"] = {
        name: {"log_loss": float(class_loss.value[code]), "log_loss_interval": class_loss.of(code)}
        for code, name in enumerate(classes.names)
        if np.isfinite(class_loss.value[code])
    }
    for name, part in evidence.groups.items():
        own = part.at(rows)
        over = _overconfidence(judged, own)
        losses = judged.losses(own.codes, len(part.names), random)
        findings += _findings("", own, over, evidence)
        measures[own_key(measures, name)] = {
            entry: {
                "overconfidence": float(over.value[code]),
                "interval": over.of(code),
                "log_loss": float(losses.value[code]),
                "log_loss_interval": losses.of(code),
            }
            for code, entry in enumerate(part.names)
            if np.isfinite(over.value[code])
        }
    return Checked(without_implied(findings), measures, [_figure(judged)])


@dataclass(frozen=True)
class _Judged:
    """The rows on which predictions are judged, and how many examples each stands for."""

    known: Confidence
    codes: IntArray
    times: IntArray | None

    @cached_property
    def right(self) -> BoolArray:
        return np.asarray(self.known.guess == self.codes)

    @cached_property
    def total(self) -> int:
        return len(self.codes) if self.times is None else int(self.times.sum())

    @property
    def accuracy(self) -> float:
        return float(self.count(np.zeros(len(self.codes), dtype=np.int64), 1, self.right)[0]) / self.total

    def count(self, codes: IntArray, parts: int, where: BoolArray | None = None) -> IntArray:
        """Examples by code, of all rows or of some."""
        times = self.times
        if where is not None:
            codes, times = codes[where], None if times is None else times[where]
        return tally(codes, parts, times)

    def losses(self, codes: IntArray, parts: int, random: np.random.Generator) -> Intervals:
        """Mean log loss by part."""
        if self.known.single:
            return mean_intervals(self.known.loss, codes, parts, random)
        loss = np.bincount(codes, weights=self.known.loss, minlength=parts)
        squares = np.bincount(codes, weights=self.known.squares, minlength=parts)
        return mean_intervals_of_sums(self.count(codes, parts), np.asarray(loss), np.asarray(squares))


def _overconfidence(judged: _Judged, part: Partition) -> Intervals:
    """Mean confidence less accuracy; the confidences are given, so the interval is that of the accuracy."""
    counts = part.counts
    with np.errstate(invalid="ignore"):
        sure = np.bincount(part.codes, weights=judged.known.sure, minlength=len(counts)) / counts
    rates = rate_intervals(judged.count(part.codes, len(counts), judged.right), counts)
    return Intervals(sure - rates.value, sure - rates.high, sure - rates.low)


def _findings(prefix: str, part: Partition, over: Intervals, evidence: Evidence) -> list[Finding]:
    counts = part.counts
    found = []
    size = np.where(counts >= FEWEST, np.maximum(over.low, -over.high), -np.inf)  # how far 0 lies outside, either way
    for code in Intervals(over.value, size, over.high).beyond(RISKY):
        subject = class_subject(part, code) if prefix else group_subject(part, code)
        way = "over-confident" if over.value[code] > 0 else "under-confident"
        words = f"The model is {way} by {abs(over.value[code]):.1%} on average in the {int(counts[code]):,} "
        words += f"{prefix or 'examples of '}{subject} {evidence.judged_words}."
        level = Level.beyond(size[code], FAILING)
        found.append(Finding(level, f"{prefix}{subject}", *over.at(code), words, f"{_CALIBRATE}, {_BY_ITSELF}."))
    if found:
        return shortened(found, MOST_NAMED, "parts")
    furthest = int(np.argmax(np.abs(np.nan_to_num(over.value))))
    what = "predictions of all classes" if prefix else f"{part.name}: all groups"
    words = f"No class or group is clearly over- or under-confident by more than {RISKY:.0%}; the largest difference"
    words += f" is {over.value[furthest]:+.1%} ({part.names[furthest]})."
    return [Finding(Level.HEALTHY, what, *over.at(furthest), words)]


def _whole(judged: _Judged, evidence: Evidence) -> list[Finding]:
    """Confidence of all rows together, where it is called."""
    everything = Partition("all", np.zeros(len(judged.codes), dtype=np.int64), ("all rows",), judged.times)
    sure = float(judged.known.sure.sum()) / judged.total
    words = f"The mean confidence of {judged.total:,} predictions {evidence.judged_words} is {sure:.1%}, "
    words += f"their accuracy {judged.accuracy:.1%}."
    found = _findings("", everything, _overconfidence(judged, everything), evidence)
    called = [finding for finding in found if finding.level is not Level.HEALTHY]
    return [replace(finding, subject="the model", message=words, remedy=f"{_CALIBRATE}.") for finding in called]


def _bins(judged: _Judged) -> tuple[FloatArray, FloatArray, FloatArray]:
    place = judged.known.bin
    counts = judged.count(place, BINS).astype(np.float64)
    with np.errstate(invalid="ignore"):
        sure = np.bincount(place, weights=judged.known.sure, minlength=BINS) / counts
        accurate = judged.count(place, BINS, judged.right) / counts
    return counts, sure, accurate


def _ece(judged: _Judged) -> float:
    counts, sure, accurate = _bins(judged)
    seen = counts > 0
    return float((counts[seen] * np.abs(sure[seen] - accurate[seen])).sum() / counts.sum())


def _figure(judged: _Judged) -> Figure:
    _, sure, accurate = _bins(judged)
    seen = np.isfinite(sure)
    lines = [
        Line(sure[seen].tolist(), accurate[seen].tolist(), "the model", markers=True),
        Line([0.0, 1.0], [0.0, 1.0], "calibrated", dashed=True),
    ]
    title, below = "Accuracy against confidence", "mean confidence of the bin"
    panel = Panel(title, below, "share right", lines, y_range=(0.0, 1.03))
    return Figure("Calibration", [panel], f"{BINS} bins of equal width.")


CHECK = Check(
    "calibration",
    "Is the model's confidence calibrated for every class and group?",
    f"At risk when the whole interval of the overconfidence lies beyond {RISKY:g} on either side of 0, failing beyond "
    f"{FAILING:g}; classes and groups with fewer than {FEWEST} rows are not judged. Intervals hold simultaneously. If "
    "no class is at risk, all rows together are judged by the same rule.",
    "log loss and calibration as group-level risk: Li et al. 2024 (group imbalance), Section 2; Guo et al. 2017 for "
    "ECE",
    frozenset({"labels", "probabilities"}),
    run,
    exact=True,
)
