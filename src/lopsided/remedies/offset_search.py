"""Offsets of the log probabilities that maximise a metric on held-out predictions: moving the thresholds.

First the strength s of the offsets -s log(prior), on a grid that holds 0 (nothing) and 1 (Menon et al. 2021, eq 10);
then one class after the other on a grid around it, twice through. A change must gain more than it can by chance: at
least one standard error of the metric, else the smaller offset stays.
"""

import numpy as np

from lopsided.checkup.plan.judged_parts import LEAST_IN_GROUP
from lopsided.core.validation import BoolArray, FloatArray, IntArray

STRENGTHS = np.linspace(0.0, 2.0, 9)
STEPS = (-1.0, -0.5, -0.25, 0.25, 0.5, 1.0)
MOST_CLASSES_ONE_BY_ONE = 20  # with more, classes are too small for offsets of their own


def best_offsets(
    probabilities: FloatArray, codes: IntArray, groups: IntArray | None, metric: str, *, passes: int = 2
) -> FloatArray:
    """One offset per class (column), with the first strength or step that is best."""
    counts = np.bincount(codes, minlength=probabilities.shape[1]).astype(float)
    prior = np.maximum(counts, 0.5) / counts.sum()
    logs = np.log(np.maximum(probabilities, 1e-300))
    scores = [metric_value(logs - s * np.log(prior), codes, groups, metric) for s in STRENGTHS]
    best = int(np.argmax(scores))
    offsets, score = -STRENGTHS[best] * np.log(prior), scores[best]
    if counts.size <= MOST_CLASSES_ONE_BY_ONE:
        slack = chance_gain(codes, groups, metric)
        for _ in range(passes):
            for k in np.argsort(counts):
                for step in STEPS:
                    tried = offsets.copy()
                    tried[k] += step
                    found = metric_value(logs + tried, codes, groups, metric)
                    if found > score + slack:
                        offsets, score = tried, found
    return np.asarray(offsets - offsets.mean())


def metric_value(scores: FloatArray, codes: IntArray, groups: IntArray | None, metric: str) -> float:
    """The metric of the class with the highest score."""
    right = (scores.argmax(axis=1) == codes).astype(float)
    if metric == "overall":
        return float(right.mean())
    parts, sizes = _parts(codes, groups, metric)
    counting = _counting(sizes, metric)
    shares = (np.bincount(parts, weights=right) / np.maximum(sizes, 1))[counting]
    return float(shares.mean() if metric == "balanced" else shares.min())


def chance_gain(codes: IntArray, groups: IntArray | None, metric: str) -> float:
    """One standard error of the metric at shares of one half, the most it can be."""
    if metric == "overall":
        return 0.5 / float(np.sqrt(codes.size))
    _, sizes = _parts(codes, groups, metric)
    sizes = sizes[_counting(sizes, metric)]
    if metric == "balanced":
        return 0.5 * float(np.sqrt((1.0 / sizes).sum())) / sizes.size
    return 0.5 / float(np.sqrt(sizes.min()))


def _parts(codes: IntArray, groups: IntArray | None, metric: str) -> tuple[IntArray, IntArray]:
    """The part of every example, and the parts' sizes."""
    parts = codes if metric in ("balanced", "worst-class") or groups is None else groups
    return parts, np.bincount(parts)


def _counting(sizes: IntArray, metric: str) -> BoolArray:
    """Parts that count: all that occur; of groups those that are large enough, where some are."""
    large = sizes >= LEAST_IN_GROUP
    return np.asarray(large if metric == "worst-group" and large.any() else sizes > 0)
