"""Metrics that average shares of correct answers over parts: accuracies by class, by group and over all.

With part p of n_p examples (the sum of their weights w_i) and r_p the mean of m_i over p,

    theta = sum_p a_p r_p,    u_i = a_p w_i (m_i - r_p) / n_p   (i in p)

with equal a_p for balanced accuracy, only the lowest part for the worst class or group (by the pooled answers,
separately for each arm), and one part for a single share. The floor is sum_p a_p^2 / (n_p sum n): half a changed answer
each way (Agresti and Min 2005). Without it, arms whose few answers agree by chance would seem certain to be equal.
Weighted examples count as n_p^2 / sum w_i^2 examples.
"""

import math
from dataclasses import dataclass

import numpy as np

from lopsided.measure.metrics.contract import Answers, Influence, Judged, Metric, unbiased


@dataclass(frozen=True)
class ShareMetric(Metric):
    """What is averaged: the answers of the parts along `axis` (class, group, everything), all, the lowest or `part`."""

    name: str
    word: str
    axis: str
    pick: str = "all"
    part: int = -1

    def influence(self, answers: Answers, judged: Judged) -> Influence:
        """The value, and the effect of every answer on it."""
        codes, counted = answers.parts(self.axis), answers.counted
        sizes = np.bincount(codes, weights=counted)
        some = np.where(sizes > 0, sizes, 1.0)
        shares = np.bincount(codes, weights=counted * answers.shares) / some
        parts = [part for part in judged.parts(self.axis) if sizes[part] > 0] or judged.parts(self.axis)
        if self.pick == "one":
            parts = [self.part]
        elif self.pick == "lowest":
            parts = [parts[int(np.argmin(shares[parts]))]]
        weight = np.zeros(sizes.size)
        weight[parts] = 1.0 / len(parts)
        step = (weight / some)[codes] * counted
        concerned = sizes[parts] ** 2 / np.maximum(np.bincount(codes, weights=counted**2)[parts], 1e-300)
        floor = math.fsum(weight[parts] ** 2 / np.maximum(concerned * math.fsum(concerned), 1.0))
        moves = step * (answers.right - shares[codes])
        # exact sums: the order of the parts, which follows their names, must not round to another value
        return Influence(math.fsum(weight * shares), moves, step, unbiased(codes), floor)


OVERALL = ShareMetric("overall accuracy", "overall", "everything")
BALANCED = ShareMetric("balanced accuracy", "balanced", "class")
WORST_CLASS = ShareMetric("worst class recall", "worst-class", "class", "lowest")
WORST_GROUP = ShareMetric("worst group accuracy", "worst-group", "group", "lowest")


def class_recall(name: str, code: int) -> ShareMetric:
    """The recall of one class."""
    return ShareMetric(f"recall of {name}", f"recall:{name}", "class", "one", code)


def group_accuracy(name: str, code: int) -> ShareMetric:
    """The accuracy on one group."""
    return ShareMetric(f"accuracy on {name}", f"accuracy:{name}", "group", "one", code)
