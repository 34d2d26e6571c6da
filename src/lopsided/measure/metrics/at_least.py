"""The best precision of a class at thresholds that reach a recall, and the best recall at those that reach a precision.

Computed fold by fold like ROC AUC and weighted by the positives; 0 in a fold in which no threshold reaches it.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lopsided.core.validation import BoolArray, FloatArray, IntArray
from lopsided.measure.metrics.contract import Answers
from lopsided.measure.metrics.resampled import ResampledMetric


@dataclass(frozen=True)
class AtLeast(ResampledMetric):
    """Precision of class `part` at `least` recall, or with `of_recall` the reverse."""

    name: str
    word: str
    part: int
    least: float
    of_recall: bool = False
    needs_probabilities: ClassVar[bool] = True
    moved_by_thresholds: ClassVar[bool] = False

    def value_on(self, answers: Answers, repeat: int, rows: IntArray) -> float:
        """The mean over the folds' positives."""
        assert answers.probabilities is not None
        scores, positive = answers.probabilities[repeat, rows, self.part], answers.classes[rows] == self.part
        fold, counted = answers.fold[repeat, rows], answers.counted[rows]
        hits = np.bincount(fold, weights=counted * positive)
        if not hits.sum():
            return float("nan")
        values = [
            hits[number] * best_at(scores[own], positive[own], counted[own], self.least, self.of_recall)
            for number, own in ((number, fold == number) for number in np.flatnonzero(hits))
        ]
        return float(np.sum(values) / hits.sum())


def best_at(scores: FloatArray, positive: BoolArray, counted: FloatArray, least: float, of_recall: bool) -> float:
    """The best precision with a recall of at least `least`, or the reverse; ties are classified together."""
    order = np.argsort(-scores)
    last = np.append(np.flatnonzero(np.diff(scores[order])), order.size - 1)
    hits, called = np.cumsum((counted * positive)[order])[last], np.cumsum(counted[order])[last]
    precision, recall = hits / np.where(called > 0, called, 1.0), hits / hits[-1]
    best, bound = (recall, precision) if of_recall else (precision, recall)
    return float(np.max(best, where=bound >= least - 1e-12, initial=0.0))  # 1e-12: 0.8 and 4 / 5 are the same
