"""Metrics of the order in which examples are ranked by the probability of a class: ROC AUC and average precision.

A ranking compares examples that one model scored, so both are computed fold by fold and averaged: moving the threshold
of each fold's model does not change them. With T(s) and F(s) the positives and negatives with a score of at least s,

    AUC   share of pairs of a positive and a negative in the right order (half for ties); folds weigh by their pairs
    AP    mean over the positives of T(s_i) / (T(s_i) + F(s_i)); folds weigh by their positives

The effect of an example on AUC is the share of its own pairs that are in order (DeLong et al. 1988). On AP it is the
effect of its weight on T or F at every positive below it and, for a positive, its own precision.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from lopsided.core.validation import BoolArray, FloatArray, IntArray
from lopsided.measure.metrics.contract import Answers, Influence, Judged, Metric, centred


@dataclass(frozen=True)
class RankingMetric(Metric):
    """ROC AUC or average precision of the class `part` against the rest, or the mean over the classes that count."""

    name: str
    word: str
    precision: bool  # average precision rather than AUC
    part: int = -1
    needs_probabilities: ClassVar[bool] = True
    moved_by_thresholds: ClassVar[bool] = False

    def influence(self, answers: Answers, judged: Judged) -> Influence:
        """The value, and the effect of every answer on it."""
        chosen = list(judged.classes) if self.part < 0 else [self.part]
        chances, fold = answers.chances, answers.fold
        value, effect = 0.0, np.zeros(fold.shape)
        step, by_fold = np.zeros(fold.shape[1]), np.zeros((len(fold), int(fold.max()) + 1))
        for code in chosen:
            positive = answers.classes == code
            of_class, moved, folds = self._of_class(chances[:, :, code], positive, fold, answers.counted)
            value += of_class / len(chosen)
            effect += moved / len(chosen)
            by_fold += folds / len(chosen)
            misses, hits = np.maximum(np.bincount(positive, minlength=2), 1)  # rows, which change places one by one
            step += 1.0 / (len(chosen) * hits * (hits if self.precision else misses))  # two neighbours change places
        return replace(centred(value, effect, step, answers), by_fold=by_fold)

    def _of_class(
        self, scores: FloatArray, positive: BoolArray, fold: IntArray, counted: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """The value, effects (repeats x n) and the value of every fold (repeats x folds), where that of a fold without
        positives or negatives is the one of all."""
        shape = len(fold), int(fold.max()) + 1
        values, weights = np.zeros(shape), np.zeros(shape)
        effect, share = np.zeros(scores.shape), np.zeros(scores.shape)
        for repeat, number in np.ndindex(shape):
            rows = np.flatnonzero(fold[repeat] == number)
            misses, hits = np.bincount(positive[rows], weights=counted[rows], minlength=2)
            if hits > 0 and misses > 0:
                weight = hits if self.precision else hits * misses
                rank = average_precision if self.precision else auc
                found, moved = rank(scores[repeat, rows], positive[rows], counted[rows])
                values[repeat, number], weights[repeat, number] = found, weight
                effect[repeat, rows] = weight * moved
                if self.precision:  # by the weight of a positive, that of its fold grows too
                    share[repeat, rows] = positive[rows]
                else:
                    share[repeat, rows] = np.where(positive[rows], misses, hits)
        totals = weights.sum(axis=1, keepdims=True)
        totals = np.where(totals > 0, totals, 1.0)
        of_repeats = (values * weights).sum(axis=1, keepdims=True) / totals
        value = float(of_repeats.mean())
        return value, (effect - of_repeats * share) / totals, np.where(weights > 0, values, value)


def auc(scores: FloatArray, positive: BoolArray, counted: FloatArray) -> tuple[float, FloatArray]:
    """The area under the ROC curve of weighted examples, and the effect of every one's weight."""
    _, place = np.unique(scores, return_inverse=True)
    of_positive = np.bincount(place, weights=counted * positive)
    of_negative = np.bincount(place, weights=counted * ~positive)
    below = (np.cumsum(of_negative) - 0.5 * of_negative) / of_negative.sum()
    above = 1.0 - (np.cumsum(of_positive) - 0.5 * of_positive) / of_positive.sum()
    effect = np.where(positive, below[place] / of_positive.sum(), above[place] / of_negative.sum())
    return float(counted[positive] @ effect[positive]), effect


def average_precision(scores: FloatArray, positive: BoolArray, counted: FloatArray) -> tuple[float, FloatArray]:
    """The area under the steps of the precision-recall curve of weighted examples, and the effect of every weight."""
    _, place = np.unique(-scores, return_inverse=True)
    own = np.bincount(place, weights=counted * positive)
    hits, called, total = np.cumsum(own), np.cumsum(np.bincount(place, weights=counted)), own.sum()
    called = np.where(called > 0, called, 1.0)
    precision = hits / called
    as_hit = np.cumsum((own * (called - hits) / called**2)[::-1])[::-1]
    as_miss = -np.cumsum((own * hits / called**2)[::-1])[::-1]
    effect = np.where(positive, (precision + as_hit)[place], as_miss[place]) / total
    return float((own * precision).sum() / total), effect
