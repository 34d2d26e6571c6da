"""Losses of probabilities, averaged over the examples: the Brier score and the log loss. Smaller is better.

Brier      sum_k (p_ik - [y_i = k])^2, half of it with two classes (the squared error of one probability)
log loss   -log p_i,y_i, with probabilities no nearer to 0 than the spacing of double precision, as in scikit-learn
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.metrics.contract import Answers, Influence, Judged, Metric, centred


@dataclass(frozen=True)
class MeanLoss(Metric):
    """The mean of a proper loss; changing only decisions has no effect on it."""

    name: str
    word: str
    larger_is_better: ClassVar[bool] = False
    needs_probabilities: ClassVar[bool] = True
    moved_by_thresholds: ClassVar[bool] = False

    @property
    def bounds(self) -> tuple[float, float]:
        """The Brier score is at most 2, with two classes at most 1; the log loss is unbounded."""
        return 0.0, 2.0 if self.word == "brier" else float("inf")

    def influence(self, answers: Answers, judged: Judged) -> Influence:
        """The value, and the effect of every answer on it."""
        codes, n = answers.classes, answers.classes.size
        lost = (_brier if self.word == "brier" else _log_loss)(answers.chances, codes)
        value = float((answers.counted * lost).mean())
        # losses are numbers, not hits: no correction for counting, the error is only never 0
        return replace(centred(value, lost / n, np.full(n, 1.0 / n**2), answers), smooth=True)


def _brier(chances: FloatArray, codes: IntArray) -> FloatArray:
    missed = chances.copy()
    missed[:, np.arange(codes.size), codes] -= 1.0
    return np.asarray(np.square(missed).sum(axis=2) * (0.5 if chances.shape[2] == 2 else 1.0))


def _log_loss(chances: FloatArray, codes: IntArray) -> FloatArray:
    least = float(np.finfo(np.float64).eps)
    return -np.log(np.clip(chances[:, np.arange(codes.size), codes], least, 1.0 - least))


BRIER = MeanLoss("Brier score", "brier")
LOG_LOSS = MeanLoss("log loss", "log-loss")
