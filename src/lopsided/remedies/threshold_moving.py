"""Threshold moving around any learner: `ThresholdMover` on predictions for rows held out of the fit.

The learner is cross-validated inside the training rows (five folds, as scikit-learn's TunedThresholdClassifierCV), the
mover chooses between logit adjustment and fitted biases by cross-fitting, and the learner is then fitted on all rows.
Doing nothing is a candidate only where the prior helps the metric. Folds and candidates were chosen on half of the sets
of KEEL's imbalanced suite (by a hash of their source), by balanced accuracy on the half of each set that was held out:
1.3 points below the best of eleven ways with logistic regression and 1.6 with boosting; an earlier grid over offsets
with three folds was 2.1 and 2.4 below.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import numpy as np

from lopsided.core.partition import LabelledRows
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.labelled_set import LabelledSet
from lopsided.measure.metrics.confusion import ConfusionMetric
from lopsided.measure.metrics.contract import LEAST_IN_GROUP, Metric
from lopsided.measure.metrics.named import metric_named
from lopsided.remedies.contract import Forecast, Occasion, Proposal, Proposals, Remedy, by_name, named
from lopsided.remedies.learner import Learner
from lopsided.remedies.pilot import Pilot
from lopsided.remedies.thresholds import Candidate, ThresholdAim, ThresholdMover

TUNING_FOLDS = 5
MOST_CLASSES_FITTED = 20  # with more, classes are too small for biases of their own


@dataclass(frozen=True)
class ThresholdMoving(Remedy):
    """Tuned for a metric; `offsets` by class name are a pilot's."""

    kind: ClassVar[str] = "threshold"
    name: ClassVar[str] = "threshold moving"
    needs_probabilities: ClassVar[bool] = True
    offsets: Mapping[str, float] = field(default_factory=dict)
    tuned_for: str = "balanced"

    @classmethod
    def propose(cls, occasion: Occasion) -> Proposals:
        """Proposed for any data."""
        pilot, metric = occasion.pilot, occasion.metric
        asked = metric_named(metric, occasion.training.classes)
        if not asked.moved_by_thresholds:
            return [], [
                f"Threshold moving is left out: it only changes decisions, and {asked.name} does not depend on them."
            ]
        if pilot is None or pilot.training.classes.names != occasion.training.classes.names:  # of some classes only
            return [
                Proposal(
                    cls({}, metric),
                    "Adds an offset to the score of each class, tuned on the learner's held-out predictions.",
                )
            ], []
        offsets = tuned_offsets(pilot.plain()[0], pilot.training, metric, occasion.seed, pilot.training.design.weights)
        why = "Adds an offset to the score of each class, tuned on held-out predictions (those shown are a pilot's)."
        return [Proposal(cls(named(pilot.training.classes, offsets), metric), why)], []

    def for_metric(self, metric: str) -> "ThresholdMoving":
        """Tuned for that metric."""
        return replace(self, tuned_for=metric)

    def forecast(self, pilot: Pilot, metric: str, *, seed: int = 0) -> Forecast:
        """Every fold of the pilot is moved by offsets tuned on its other folds."""
        moved = pilot.plain()
        for repeat in range(moved.shape[0]):
            plain = moved[repeat].copy()
            for number in np.unique(pilot.fold[repeat]):
                others = np.flatnonzero(pilot.fold[repeat] != number)
                rows = pilot.training.subset(others)
                offsets = tuned_offsets(plain[others], rows, metric, seed, rows.design.weights)
                moved[repeat][pilot.fold[repeat] == number] *= np.exp(offsets - offsets.max())
        ground = "held-out probabilities of a pilot, with offsets tuned on its other folds"
        return pilot.forecast(metric, moved, ground), ""

    def shift(self, training: LabelledSet, learner: Learner, seed: int) -> FloatArray:
        """Tuned on the learner's own predictions for held-out rows, brought back to the prior of the data."""
        own = learner.factors(training)
        held_out = learner.held_out(training, TUNING_FOLDS) / own
        known = np.flatnonzero(held_out.sum(axis=1) > 0)
        chances = held_out[known] / held_out[known].sum(axis=1, keepdims=True)
        rows = training.subset(known)
        offsets = tuned_offsets(chances, rows, self.tuned_for, seed, rows.design.weights)
        return np.asarray(offsets - np.log(own / own.mean()))

    def class_offsets(self, rows: LabelledRows) -> FloatArray:
        """The pilot's."""
        return by_name(self.offsets, rows.classes.names, 0.0)


def tuned_offsets(
    probabilities: FloatArray, rows: LabelledRows, metric: str, seed: int, weights: FloatArray | None = None
) -> FloatArray:
    """One offset per class that is best for the metric on held-out probabilities (n x classes), with mean 0; the metric
    counts examples by their weights.

    Precision or recall of a class alone would be best at the extremes, so F1 is tuned instead. For metrics that do not
    depend on thresholds, such as ROC AUC, balanced accuracy is tuned.

    Classes without examples get none. Parts that do not count in the metric do not count here: classes of one example,
    groups of fewer than ten where some have more.
    """
    asked = metric_named(metric, rows.classes)
    if asked.family in ("precision", "recall"):
        asked = metric_named(asked.word.replace(asked.family, "f1", 1), rows.classes)
    objective, parts, candidates = _aim(rows, asked)
    sizes = np.bincount(parts)
    least = LEAST_IN_GROUP if metric == "worst-group" and sizes.max() >= LEAST_IN_GROUP else 2
    counting = np.flatnonzero(sizes[parts] >= least)
    codes = rows.classes.codes[counting]
    present, compact = np.unique(codes, return_inverse=True)
    offsets = np.zeros(probabilities.shape[1])
    if isinstance(asked, ConfusionMetric):
        objective = partial(metric_of_tables, asked, present, offsets.size)
    if present.size < 2:
        return offsets
    if present.size > MOST_CLASSES_FITTED:
        candidates = tuple(name for name in candidates if name != "fitted")
    mover = ThresholdMover(objective, candidates=candidates, seed=seed)
    mover.fit(
        probabilities[np.ix_(counting, present)],
        compact,
        parts=parts[counting],
        classes=range(present.size),
        sample_weight=None if weights is None else weights[counting],
    )
    offsets[present] = mover.biases_
    return np.asarray(offsets - offsets.mean())


def metric_of_tables(metric: ConfusionMetric, present: IntArray, classes: int, tables: FloatArray) -> FloatArray:
    """The metric of tables over the classes that are present, the better the larger."""
    wide = np.zeros((*tables.shape[:-2], classes, classes))
    wide[..., present[:, None], present] = tables
    totals = wide.sum(axis=(-2, -1), keepdims=True)
    return (1.0 if metric.larger_is_better else -1.0) * metric.of_shares(wide / totals, present.tolist())


def _aim(rows: LabelledRows, asked: Metric) -> tuple[ThresholdAim, IntArray, tuple[Candidate, ...]]:
    """What the mover is to raise, over which parts, and what it may choose from."""
    codes, metric = rows.classes.codes, asked.word
    if isinstance(asked, ConfusionMetric):
        return "balanced", codes, ("none", "prior", "fitted")
    if metric == "overall":
        return "balanced", np.zeros_like(codes), ("none", "fitted")
    if metric == "worst-group" and rows.groups is not None:
        return "worst", rows.groups.codes, ("none", "prior", "fitted")
    return ("worst" if metric.startswith("worst") else "balanced"), codes, ("prior", "fitted")
