"""What more examples of one class or group would bring: a pilot's error continued along a power law.

The pilot (logistic regression) is cross-validated with a quarter, half and all of the subject's training examples; the
rest of the data stays. With err(m) its error on held-out examples of the subject, the law err(m) = a m^-b is fitted on
logarithms (least squares, weighted by how well each error is known), and growing the subject r times gains

    err(m) (1 - r^-b).

The interval is a jackknife over folds with the correction of Nadeau and Bengio for their overlap. The law is an
empirical regularity, not a theorem (Hestness et al. 2017); it knows no floor, so long continuations flatter.
"""

from dataclasses import dataclass

import numpy as np

from lopsided.checkup.fold_scores import LEVEL
from lopsided.checkup.folds import deal
from lopsided.checkup.pilot import FOLDS, logistic
from lopsided.checkup.training_set import TrainingSet
from lopsided.core.seeds import generator
from lopsided.core.validation import BoolArray, FloatArray, IntArray

SHARES = (0.25, 0.5, 1.0)
LEAST_EXAMPLES = 10  # then a quarter of four fifths of them is two
FURTHEST = 4.0  # times the examples there are: as far forward as the fit looks back


@dataclass(frozen=True)
class LearningCurve:
    """Wrong answers and totals (folds x shares) of the subject, and how many examples it has."""

    wrong: FloatArray
    total: FloatArray
    examples: int

    @property
    def exponent(self) -> float:
        """b."""
        return self._law(np.ones(self.wrong.shape[0], dtype=bool))[1]

    def gain(self, ratio: float, *, since: float = 1.0) -> tuple[float, float, float]:
        """Forecast gain in the subject's accuracy when it grows `ratio` times, with its interval.

        since: how many times the curve's examples there are now, where the curve was measured on a part of them.
        """
        from scipy.stats import t

        count = self.wrong.shape[0]
        everything = np.ones(count, dtype=bool)
        value = self._gain(everything, ratio, since)
        without = np.array([self._gain(np.arange(count) != left_out, ratio, since) for left_out in range(count)])
        jackknife = (count - 1) / count * float(((without - without.mean()) ** 2).sum())
        overlap = 1.0 + count / (FOLDS - 1)  # (1/J + 1/(folds-1)) / (1/J)
        half = float(t.ppf(0.5 + LEVEL / 2, count - 1)) * float(np.sqrt(jackknife * overlap))
        return value, max(value - half, -1.0), min(value + half, 1.0)

    def _gain(self, folds: BoolArray, ratio: float, since: float) -> float:
        error, exponent = self._law(folds)
        return float(error * (since**-exponent - (since * ratio) ** -exponent))

    def _law(self, folds: BoolArray) -> tuple[float, float]:
        """(error with all examples, b); half an error is added so that a faultless fold has a logarithm."""
        wrong, total = self.wrong[folds].sum(axis=0) + 0.5, self.total[folds].sum(axis=0) + 1.0
        error = wrong / total
        known = wrong / np.maximum(1.0 - error, 1e-9)  # 1 / variance of log error
        x = np.log(SHARES)
        centre = (known * x).sum() / known.sum()
        slope = (known * (x - centre) * np.log(error)).sum() / (known * (x - centre) ** 2).sum()
        return float(error[-1]), float(-slope)


def learning_curve(training: TrainingSet, axis: str, code: int, seed: int, *, repeats: int = 2) -> LearningCurve:
    """The curve of a class (`axis` "class") or a group ("group"); `training` should be `pilot.reduced` first."""
    subject = (training.classes.codes if axis == "class" else training.group_codes) == code
    wrong, total = [], []
    for repeat in range(repeats):
        fold = deal(training.classes.codes, training.group_codes, FOLDS, seed, repeat)
        order = generator(seed, "learning curve", axis, code, repeat).permutation(training.size)
        for number in range(FOLDS):
            held_out = (fold == number) & subject
            found = [_wrong(training, fold != number, held_out, subject, order, share) for share in SHARES]
            wrong.append(found)
            total.append([float(held_out.sum())] * len(SHARES))
    return LearningCurve(np.array(wrong), np.array(total), int(subject.sum()))


def thinned(subject: BoolArray, order: IntArray, share: float) -> BoolArray:
    """Everything but the subject, and the first `share` of the subject in a random order (at least one)."""
    own = order[subject[order]]
    kept = ~subject
    kept[own[: max(1, int(np.ceil(share * own.size)))]] = True
    return kept


def _wrong(
    training: TrainingSet, inside: BoolArray, held_out: BoolArray, subject: BoolArray, order: IntArray, share: float
) -> float:
    if not held_out.any():
        return 0.0
    kept = inside & thinned(subject & inside, order, share)
    codes = training.classes.codes
    if np.unique(codes[kept]).size < 2:
        return float(held_out.sum())
    model = logistic(training.features[kept], codes[kept])
    return float((model.predict(training.features[held_out]) != codes[held_out]).sum())
