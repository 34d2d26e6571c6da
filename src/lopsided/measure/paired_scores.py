"""From answers, example by example, to a metric with its interval, and to paired differences between arms.

A metric is theta with u_i, the effect of every answer on it (`measure.metrics`). The difference of two arms has u_i =
u_i(arm) - u_i(other), so examples with the same answer in both cancel, and its squared error is the sum of

    sum_i u_i^2 n_p / (n_p - 1)             which examples there are (n_p: those of the part of i)
    max(0, s^2 - test noise) / (folds - 1)  which training sets there are
    the metric's floor                      one changed answer

s^2 is the variance between folds of z_f = folds x sum of u_i in fold f, or for rankings and resampled metrics of the
metric in fold f; of resampled metrics the first line is the variance over resamples. The examples of a fold explain
folds x sum_i u_i^2 of s^2. The rest comes from training: models of different folds share rows, so their errors are
correlated. 1/(folds - 1) is the factor of Nadeau and Bengio (2003) for that, who apply it to all of s^2. An earlier
version did the same: the error was then 1.3 to 2 times the true deviation of gains between data sets, its quantile had
nine degrees of freedom, and if nothing helps, single 95% intervals excluded zero once in 900 times. No estimate is
unbiased (Bengio and Grandvalet 2004); bench/trial.py measures the coverage of this one.

For the mean of a loss (Brier score, log loss), s^2 underestimates the effect of training: folds have equal shares of
the classes, so they differ less than examples do, and intervals of the Brier score had a coverage of 88% in 150
simulated data sets. For these losses, with two repeats or more, the second line is measured. The model of a fold,
trained without its n/folds examples, is compared with the models of other repeats on the same examples, which were
trained without other n/folds examples. The square of the difference of their means, minus the variance of single
examples, is 1/folds (1 - 1/folds) of the effect of n training examples; (1 - 1/folds)^2 of that counts in a
cross-validation, in which each example trains that share of the models.
"""

import math
from dataclasses import dataclass

import numpy as np

from lopsided.core.seeds import generator
from lopsided.core.statistics import student_reach
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.metrics.contract import Answers, Influence, Judged, Metric

LEVEL = 0.95
AT_ONCE = 0.9  # the level of an interval for several numbers at once: 5% for any of them to be too high, 5% too low
_DRAWS = 20_000  # the quantile of the largest is then known to 1%


@dataclass(frozen=True)
class Estimate:
    """A number with its interval; `error` is its standard error, `p` the two-sided p-value of being zero, and `degrees`
    (of freedom) the number of examples minus one."""

    value: float
    low: float
    high: float
    error: float
    p: float
    degrees: float = float("inf")

    def within(self, deviations: float) -> tuple[float, float]:
        """The interval of that many standard errors on each side."""
        return self.value - deviations * self.error, self.value + deviations * self.error


def estimate(metric: Metric, answers: Answers, judged: Judged) -> Estimate:
    """The metric of one arm."""
    return _estimate(metric.influence(answers, judged), answers.fold, metric.bounds)


def gain(metric: Metric, arm: Answers, against: Answers, judged: Judged) -> Estimate:
    """The paired improvement of the metric from `against` to `arm` on the same folds."""
    better, worse = metric.influence(arm, judged), metric.influence(against, judged)
    if not metric.larger_is_better:
        better, worse = worse, better
    same = np.array_equal(better.step, worse.step)
    difference = Influence(
        better.value - worse.value,
        better.moves - worse.moves,
        better.step + worse.step,
        better.unbiased,
        better.floor if same else better.floor + worse.floor,
        None if better.draws is None or worse.draws is None else better.draws - worse.draws,
        None if better.by_fold is None or worse.by_fold is None else better.by_fold - worse.by_fold,
        better.smooth,
    )
    widest = metric.bounds[1] - metric.bounds[0]
    return _estimate(difference, arm.fold, (-widest, widest))


def simultaneous(errors: FloatArray, degrees: float) -> float:
    """Standard errors below which, with a chance of 95%, all of several numbers with this covariance are too high.

    Arms of a trial are compared with the same plain training on the same examples, so the errors of their gains are
    correlated, and this is smaller than Bonferroni's correction, which ignores the correlation (Dunnett 1955).
    """
    deviations = np.sqrt(np.diag(errors))
    values, vectors = np.linalg.eigh(errors / np.outer(deviations, deviations))
    random = generator(0, "simultaneous")
    drawn = random.standard_normal((_DRAWS, deviations.size)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    scale = 1.0 if math.isinf(degrees) else np.sqrt(random.chisquare(degrees, _DRAWS) / degrees)
    return float(np.quantile(drawn.max(axis=1) / scale, (1 + AT_ONCE) / 2))


def _estimate(found: Influence, fold: IntArray, bounds: tuple[float, float]) -> Estimate:
    from scipy.stats import t

    folds = int(fold.max()) + 1
    if found.draws is None:
        of_examples = float(np.square(found.moves.mean(axis=0)) @ found.unbiased)
        explained = folds * float(np.square(found.moves).sum()) / len(found.moves)
    else:
        of_examples = float(found.draws.var(ddof=1))
        explained = folds * of_examples
    if found.smooth and len(fold) > 1:
        training = max(0.0, _of_models(found.moves, fold, folds))
    else:
        training = max(0.0, float(_of_folds(found, fold, folds).var(ddof=1)) - explained) / (folds - 1)
    error = math.sqrt(of_examples + training + found.floor)
    degrees = float(max(int(np.count_nonzero(found.step)) - 1, 1))
    half = student_reach(LEVEL, degrees) * error
    p = float(2 * t.sf(abs(found.value) / error, degrees))
    low, high = max(found.value - half, bounds[0]), min(found.value + half, bounds[1])
    return Estimate(found.value, low, high, error, p, degrees)


def _of_folds(found: Influence, fold: IntArray, folds: int) -> FloatArray:
    """z_f of every repeat and fold."""
    if found.by_fold is not None:
        return found.by_fold.ravel()
    sums = [np.bincount(own, weights=moved, minlength=folds) for own, moved in zip(fold, found.moves, strict=True)]
    return np.asarray(folds * np.concatenate(sums), dtype=np.float64)


def _of_models(moves: FloatArray, fold: IntArray, folds: int) -> float:
    """The variance from training, estimated from the answers of models of other repeats to the same examples."""
    repeats, n = fold.shape
    apart = (moves - moves.mean(axis=0)) * n * repeats / (repeats - 1.0)
    cell = fold + folds * np.arange(repeats)[:, None]
    sizes, sums, squares = (np.bincount(cell.ravel(), weights=(apart**power).ravel()) for power in range(3))
    several = sizes > 1
    sizes, means, squares = sizes[several], sums[several] / sizes[several], squares[several]
    luck = (squares / sizes - means**2) / (sizes - 1.0)
    return (folds - 1.0) * float(np.mean(means**2 - luck))
