"""The corrections that `mend` chooses from, in the order of their simplicity for a metric.

    nothing
    post-hoc adjustment     tau from 0.5 to 2, by the training counts
    tau-norm                tau 1, alone and with post-hoc adjustment
    offsets                 one number per class, refitted around post-hoc adjustment, held by a prior
    thresholds              one number per class that is best for the metric on the examples (up to 20 classes)
    retraining              W and b refitted around post-hoc adjustment, held by a prior

Refitting assumes equally frequent classes or, for metrics in which every example has the same weight (overall accuracy,
cost, log loss), the class frequencies of the examples. For the first kind of metric, adjustment with tau = 1 comes
first, because it is Bayes' rule and fits nothing; for the second, doing nothing does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import log_softmax

from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.metrics.confusion import ConfusionMetric
from lopsided.measure.metrics.contract import Metric
from lopsided.remedies.logit_adjustment import logit_offsets
from lopsided.remedies.threshold_moving import MOST_CLASSES_FITTED, metric_of_tables
from lopsided.remedies.thresholds import ThresholdAim, best_biases
from lopsided.torch.remedies.head_fits import Free, HeadWeights, refitted, shifted, tau_normalised

TAUS = (0.5, 0.75, 1.25, 1.5, 2.0)  # beside 1
OFFSET_VARIANCES = (0.1, 1.0, 10.0)
RETRAINING_VARIANCES = (0.3, 3.0, 30.0, 300.0)

Fit = Callable[[FloatArray, IntArray], HeadWeights]  # features and classes to a head
_EQUAL = ("balanced", "worst-class", "recall")  # families of metrics in which classes count alike


@dataclass(frozen=True)
class Correction:
    """A name, what kind it is, and the fit."""

    name: str
    kind: str
    fit: Fit


def corrections(head: HeadWeights, counts: FloatArray, metric: Metric, directions: FloatArray) -> list[Correction]:
    """Every candidate for a head trained on `counts`, the simplest first."""
    nothing = Correction("nothing", "nothing", lambda features, codes: head)
    equal = metric.family in _EQUAL
    found = [nothing]
    if np.ptp(counts) > 0:  # else adjusting changes nothing
        found.insert(0 if equal else 1, _adjusted(head, counts, 1.0))
        found += [_adjusted(head, counts, tau) for tau in TAUS]
    adjusted = shifted(head, -logit_offsets(counts))
    base = adjusted if equal else head  # what refits start from
    if (np.linalg.norm(head.weight, axis=1) > 0).all():
        found.append(_fixed("tau-norm, tau 1", "tau-norm", tau_normalised(head)))
        if np.ptp(counts) > 0:
            both = shifted(tau_normalised(head), adjusted.bias - head.bias)
            found.append(_fixed("tau-norm, tau 1, and post-hoc adjustment", "tau-norm", both))
    for variance in OFFSET_VARIANCES:
        fit = partial(_refit, base, "offsets", variance, equal, None)
        found.append(Correction(f"offsets, variance {variance:g}", "offsets", fit))
    if (
        metric.moved_by_thresholds
        and head.bias.size <= MOST_CLASSES_FITTED
        and _objective(metric, head.bias.size) is not None
    ):
        found.append(Correction("thresholds", "thresholds", partial(_thresholds, head, metric)))
    for variance in RETRAINING_VARIANCES:
        fit = partial(_refit, base, "all", variance, equal, directions)
        found.append(Correction(f"retraining, variance {variance:g}", "retraining", fit))
    return found


def _adjusted(head: HeadWeights, counts: FloatArray, tau: float) -> Correction:
    name = f"post-hoc adjustment, tau {tau:g}"
    return _fixed(name, "post-hoc adjustment", shifted(head, -logit_offsets(counts, tau=tau)))


def _fixed(name: str, kind: str, head: HeadWeights) -> Correction:
    return Correction(name, kind, lambda features, codes: head)


def _refit(
    start: HeadWeights,
    free: Free,
    variance: float,
    equal: bool,
    directions: FloatArray | None,
    features: FloatArray,
    codes: IntArray,
) -> HeadWeights:
    # half an example more of every class, so that one without any has a prior
    sizes = np.bincount(codes, minlength=start.bias.size) + 0.5
    log_prior = np.log(sizes / sizes.sum()) if equal else None
    return refitted(start, features, codes, free=free, variance=variance, log_prior=log_prior, directions=directions)


def _thresholds(head: HeadWeights, metric: Metric, features: FloatArray, codes: IntArray) -> HeadWeights:
    objective = _objective(metric, head.bias.size)
    assert objective is not None
    parts = np.zeros_like(codes) if metric.word == "overall" else np.unique(codes, return_inverse=True)[1]
    biases, _ = best_biases(log_softmax(head.scores(features), axis=1), codes, parts, objective)
    return shifted(head, biases)


def _objective(metric: Metric, classes: int) -> ThresholdAim | None:
    """What `best_biases` raises for the metric; None where it knows nothing for it."""
    if metric.word in ("overall", "balanced"):
        return "balanced"
    if metric.word == "worst-class":
        return "worst"
    if isinstance(metric, ConfusionMetric):
        return partial(metric_of_tables, metric, np.arange(classes), classes)
    return None
