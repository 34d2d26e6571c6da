"""Metrics of the table of true and predicted classes: F measures, Matthews correlation and expected cost.

With P_jk the share of examples of class j that were predicted as k, R and S its sums over k and over j,

    F_beta of class k   (1 + beta^2) P_kk / (beta^2 R_k + S_k) precision is beta = 0; 0 if a class is not predicted
    Matthews            (tr P - sum_k R_k S_k) / sqrt((1 - sum R^2)(1 - sum S^2))               (Gorodkin 2004)
    cost                sum_jk P_jk C_jk

Each is the mean over repeats of its value on all folds' answers pooled (Forman and Scholz 2010: averages of F measures
over folds are biased). The effect of an answer is the derivative g_jk of the metric by P_jk, over n.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lopsided.core.validation import FloatArray
from lopsided.measure.metrics.contract import Answers, Influence, Judged, Metric, centred


class ConfusionMetric(Metric):
    """A smooth function of P."""

    @abstractmethod
    def of_shares(self, shares: FloatArray, classes: list[int]) -> FloatArray:
        """The value for every P (... x K x K)."""

    @abstractmethod
    def slopes(self, shares: FloatArray, classes: list[int]) -> FloatArray:
        """g for one P."""

    def influence(self, answers: Answers, judged: Judged) -> Influence:
        """The value, and the effect of every answer on it."""
        codes, classes, n = answers.classes, list(judged.classes), answers.classes.size
        size = max(int(codes.max()), int(answers.labels.max()), *classes, self.least_classes - 1) + 1
        values, effect, step = [], np.zeros(answers.labels.shape), np.zeros(n)
        for repeat, predicted in enumerate(answers.labels):
            table = np.bincount(codes * size + predicted, weights=answers.counted, minlength=size * size)
            shares = table.reshape(size, size) / n
            values.append(self.of_shares(shares, classes))
            slopes = self.slopes(shares, classes)
            effect[repeat] = slopes[codes, predicted] / n
            step = np.maximum(step, np.ptp(slopes, axis=1)[codes] / n)
        step = np.where(step > 0, step, 1.0 / n)  # a class that is never predicted: its next prediction would count
        return centred(float(np.mean(values)), effect, step, answers)

    @property
    def least_classes(self) -> int:
        """How many classes there are at least."""
        return 2


@dataclass(frozen=True)
class FMeasure(ConfusionMetric):
    """F_beta of the class `part`, or the mean over the classes that count."""

    name: str
    word: str
    beta: float
    part: int = -1

    def of_shares(self, shares: FloatArray, classes: list[int]) -> FloatArray:
        """0 / 0 is 0."""
        chosen = classes if self.part < 0 else [self.part]
        hits = np.diagonal(shares, axis1=-2, axis2=-1)[..., chosen]
        called = self.beta**2 * shares.sum(axis=-1)[..., chosen] + shares.sum(axis=-2)[..., chosen]
        return np.asarray(((1 + self.beta**2) * hits / np.where(called > 0, called, 1.0)).mean(axis=-1))

    def slopes(self, shares: FloatArray, classes: list[int]) -> FloatArray:
        """((1 + beta^2) [j = k = l] - F (beta^2 [j = k] + [l = k])) / (beta^2 R_k + S_k), the mean over k."""
        found = np.zeros_like(shares)
        chosen = classes if self.part < 0 else [self.part]
        for k in chosen:
            called = self.beta**2 * shares[k].sum() + shares[:, k].sum()
            if called > 0:
                value = (1 + self.beta**2) * shares[k, k] / called
                found[k] -= value * self.beta**2 / called
                found[:, k] -= value / called
                found[k, k] += (1 + self.beta**2) / called
        return found / len(chosen)


@dataclass(frozen=True)
class Matthews(ConfusionMetric):
    """Correlation between true and predicted classes; 0 where one of them is constant."""

    name: str = "Matthews correlation"
    word: str = "mcc"

    @property
    def bounds(self) -> tuple[float, float]:
        """Of a correlation."""
        return -1.0, 1.0

    def of_shares(self, shares: FloatArray, classes: list[int]) -> FloatArray:
        """0 / 0 is 0."""
        true, called = shares.sum(axis=-1), shares.sum(axis=-2)
        above = np.trace(shares, axis1=-2, axis2=-1) - (true * called).sum(axis=-1)
        below = (1 - np.square(true).sum(axis=-1)) * (1 - np.square(called).sum(axis=-1))
        return np.asarray(np.where(below > 1e-15, above / np.sqrt(np.where(below > 1e-15, below, 1.0)), 0.0))

    def slopes(self, shares: FloatArray, classes: list[int]) -> FloatArray:
        """([j = l] - S_j - R_l) / sqrt((1 - sum R^2)(1 - sum S^2)) + M (S_l / (1 - sum S^2) + R_j / (1 - sum R^2))."""
        true, called = shares.sum(axis=1), shares.sum(axis=0)
        of_true, of_called = 1 - np.square(true).sum(), 1 - np.square(called).sum()
        if min(of_true, of_called) <= 1e-15:
            return np.zeros_like(shares)
        direct = (np.eye(true.size) - called[:, None] - true) / np.sqrt(of_true * of_called)
        return np.asarray(direct + self.of_shares(shares, classes) * (called / of_called + (true / of_true)[:, None]))


@dataclass(frozen=True)
class ExpectedCost(ConfusionMetric):
    """`costs[j][k]`: the cost of predicting class k for an example of class j."""

    name: str
    word: str
    costs: tuple[tuple[float, ...], ...]
    larger_is_better: ClassVar[bool] = False

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest cost."""
        return float(np.min(self.costs)), float(np.max(self.costs))

    @property
    def least_classes(self) -> int:
        """Those of the matrix."""
        return len(self.costs)

    def of_shares(self, shares: FloatArray, classes: list[int]) -> FloatArray:
        """The mean cost of an example."""
        return np.asarray((shares * np.asarray(self.costs)).sum(axis=(-2, -1)))

    def slopes(self, shares: FloatArray, classes: list[int]) -> FloatArray:
        """The costs."""
        return np.asarray(self.costs)


MATTHEWS = Matthews()
