"""Metrics without an influence function: their error comes from values on resampled examples.

`DRAWS` times, the examples are drawn again with replacement, the same for all arms of a trial: the variance of the
difference of two arms over the draws is that of a paired bootstrap. Every class keeps an example.
"""

from abc import abstractmethod

import numpy as np

from lopsided.core.seeds import generator
from lopsided.core.validation import IntArray
from lopsided.measure.metrics.contract import Answers, Influence, Judged, Metric

DRAWS = 100  # the deviation of 100 values is known to 7%


class ResampledMetric(Metric):
    """A number of some rows' answers in one repeat."""

    @abstractmethod
    def value_on(self, answers: Answers, repeat: int, rows: IntArray) -> float:
        """The value on those rows, some of them several times; NaN where there is none."""

    def influence(self, answers: Answers, judged: Judged) -> Influence:
        """The value, and values on resampled rows; worked out once for the answers of an arm."""
        if (self, judged) not in answers.resampled:
            answers.resampled[self, judged] = self._influence(answers)
        return answers.resampled[self, judged]

    def value(self, answers: Answers, judged: Judged) -> float:
        """The value alone."""
        return self._mean(answers, np.arange(answers.classes.size))

    def _mean(self, answers: Answers, rows: IntArray) -> float:
        return float(np.mean([self.value_on(answers, repeat, rows) for repeat in range(len(answers.fold))]))

    def _influence(self, answers: Answers) -> Influence:
        repeats, n = answers.fold.shape
        folds = int(answers.fold.max()) + 1
        value = self._mean(answers, np.arange(n))
        draws = np.array([self._mean(answers, rows) for rows in resamples(answers.classes)])
        by_fold = np.array(
            [
                [self.value_on(answers, repeat, np.flatnonzero(answers.fold[repeat] == fold)) for fold in range(folds)]
                for repeat in range(repeats)
            ]
        )
        unbiased = np.full(n, n / max(n - 1.0, 1.0))
        return Influence(
            value,
            np.zeros((repeats, n)),
            np.full(n, 1.0 / n),
            unbiased,
            1.0 / n**2,
            np.where(np.isfinite(draws), draws, value),
            np.where(np.isfinite(by_fold), by_fold, value),
        )


def resamples(codes: IntArray) -> list[IntArray]:
    """Rows of every draw: one of each class, the others from all."""
    random = generator(0, "paired bootstrap")
    classes = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    rest = codes.size - len(classes)
    return [
        np.append(random.integers(0, codes.size, rest), [random.choice(own) for own in classes]) for _ in range(DRAWS)
    ]
