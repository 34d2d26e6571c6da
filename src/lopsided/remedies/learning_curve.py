"""What more examples of one class or group would bring: a pilot's error continued along a power law.

The pilot (logistic regression) is cross-validated with a quarter, half and all of the subject's training examples; the
rest of the data stays. More examples of a class do two things: they teach, and they raise the class's prior. So the
curve is measured at the prior of all examples (probabilities of a thinned class are divided by its share), its errors
on held-out examples of the subject follow err(m) = a m^-b, fitted on logarithms (least squares, weighted by how well
each error is known), and growing the subject r times gains

    err(m) - err_r(m) r^-b,     err_r: the error of today's model with the class r times more probable.

For groups, which the classifier does not see, err_r = err. The interval is a jackknife over folds with the correction
of Nadeau and Bengio for their overlap. The law is an empirical regularity, not a theorem (Hestness et al. 2017); it has
no floor, so long extrapolations are optimistic. The prior is treated separately because a first version of this
forecast, the curve alone, was wrong by a factor of 2.6 on Adult's smaller class.
"""

from dataclasses import dataclass

import numpy as np

from lopsided.core.partition import place_of
from lopsided.core.seeds import generator
from lopsided.core.statistics import student_reach
from lopsided.core.validation import BoolArray, FloatArray, IntArray
from lopsided.data.labelled_set import LabelledSet
from lopsided.measure.paired_scores import LEVEL
from lopsided.remedies.pilot import FOLDS, chances, repeats_for

SHARES = (0.25, 0.5, 1.0)
LEAST_EXAMPLES = 10  # then a quarter of four fifths of them is two
FURTHEST = 4.0  # times the examples there are: as far forward as the fit looks back


@dataclass(frozen=True)
class LearningCurve:
    """Wrong answers and totals (folds x shares) of the subject; wrong answers of today's model once the subject is
    `ratio` times more probable (folds)."""

    wrong: FloatArray
    total: FloatArray
    wrong_if_likelier: FloatArray
    ratio: float

    @property
    def exponent(self) -> float:
        """b."""
        return self._law(np.ones(self.wrong.shape[0], dtype=bool))[1]

    def gain(self, *, since: float = 1.0) -> tuple[float, float, float]:
        """Forecast gain in the subject's accuracy when it grows `ratio` times, with its interval.

        since: how many times the curve's examples there are now, where the curve was measured on a part of them.
        """
        count = self.wrong.shape[0]
        everything = np.ones(count, dtype=bool)
        value = self._gain(everything, since)
        without = np.array([self._gain(np.arange(count) != left_out, since) for left_out in range(count)])
        jackknife = (count - 1) / count * float(((without - without.mean()) ** 2).sum())
        overlap = 1.0 + count / (FOLDS - 1)  # (1/J + 1/(folds-1)) / (1/J)
        half = student_reach(LEVEL, count - 1) * float(np.sqrt(jackknife * overlap))
        return value, max(value - half, -1.0), min(value + half, 1.0)

    def learned(self, *, since: float = 1.0) -> float:
        """The part of the gain that is learning: err(m) (1 - r^-b), with the prior of the class as it is."""
        error, exponent = self._law(np.ones(self.wrong.shape[0], dtype=bool))
        return float(since**-exponent * error * (1.0 - self.ratio**-exponent))

    def _gain(self, folds: BoolArray, since: float) -> float:
        error, exponent = self._law(folds)
        likelier = (self.wrong_if_likelier[folds].sum() + 0.5) / (self.total[folds, -1].sum() + 1.0)
        return float(since**-exponent * (error - likelier * self.ratio**-exponent))

    def _law(self, folds: BoolArray) -> tuple[float, float]:
        """(error with all examples, b); half an error is added so that a faultless fold has a logarithm."""
        wrong, total = self.wrong[folds].sum(axis=0) + 0.5, self.total[folds].sum(axis=0) + 1.0
        error = wrong / total
        known = wrong / np.maximum(1.0 - error, 1e-9)  # 1 / variance of log error
        x = np.log(SHARES)
        centre = (known * x).sum() / known.sum()
        slope = (known * (x - centre) * np.log(error)).sum() / (known * (x - centre) ** 2).sum()
        return float(error[-1]), float(-slope)


def learning_curve(training: LabelledSet, axis: str, code: int, seed: int, *, ratio: float = 2.0) -> LearningCurve:
    """The curve of a class (`axis` "class") or a group ("group"); `training` should be `pilot.reduced` first."""
    parts = training.classes.codes if axis == "class" else training.group_codes
    subject, place = parts == code, place_of(parts, code)
    wrong, total, likelier, classes = [], [], [], len(training.classes.names)
    for repeat in range(repeats_for(training, classes)):
        dealt = training.folds(FOLDS, seed, repeat)
        order = generator(seed, "learning curve", axis, place, repeat).permutation(training.size)
        for number in range(FOLDS):
            held_out = (dealt.fold == number) & subject
            inside = dealt.inside(number)
            kept = [inside & thinned(subject & inside, order, share) for share in SHARES]
            found = [chances(training.features, training.classes.codes, rows, held_out, classes) for rows in kept]
            factors = [1.0 / share for share in SHARES] if axis == "class" else [1.0] * len(SHARES)
            codes = training.classes.codes[held_out]
            wrong.append([_wrong(one, codes, code, factor) for one, factor in zip(found, factors, strict=True)])
            likelier.append(_wrong(found[-1], codes, code, ratio if axis == "class" else 1.0))
            total.append([float(held_out.sum())] * len(SHARES))
    return LearningCurve(np.array(wrong), np.array(total), np.array(likelier), ratio)


def thinned(subject: BoolArray, order: IntArray, share: float) -> BoolArray:
    """Everything but the subject, and the first `share` of the subject in a random order (at least one)."""
    own = order[subject[order]]
    kept = ~subject
    kept[own[: max(1, int(np.ceil(share * own.size)))]] = True
    return kept


def _wrong(probabilities: FloatArray, codes: IntArray, code: int, factor: float) -> float:
    """Wrong answers once class `code` is `factor` times more probable than the model was told; `code` of a group, which
    no column stands for, comes with the factor 1."""
    raised = probabilities.copy()
    if factor != 1.0:
        raised[:, code] *= factor
    return float((raised.argmax(axis=1) != codes).sum())
