"""The arms that the remedy family trains: each gives log scores of test rows, under which the largest decides.

plain                          nothing is done
balanced oversampling          every class as large as the largest
square-root sampling           half-way there in the logarithm
class weights                  of the loss, 1 / n_k
class-balanced weights         1 / effective number of examples, beta 0.999 (Cui et al. 2019)
logit adjustment               log n_k is taken off afterwards (Menon et al. 2021)
threshold moving               offsets tuned on three-fold predictions inside the training rows, for the metric
group DRO                      weights by exponentiated gradient over four fits (Sagawa et al. 2020; groups: classes,
                               or class and sex)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.skill.small_tables import fitted, folds, log_chances

PLAIN, BALANCE, SQUARE_ROOT = "plain", "balanced oversampling", "square-root sampling"
WEIGHTS, EFFECTIVE, ADJUST = "class weights", "class-balanced weights", "logit adjustment"
THRESHOLD, DRO = "threshold moving", "group DRO"
ARMS = (PLAIN, BALANCE, SQUARE_ROOT, WEIGHTS, EFFECTIVE, ADJUST, THRESHOLD, DRO)
METRICS = ("balanced", "worst")
BETA = 0.999
DRO_ROUNDS, DRO_STEP = 4, 1.0
TUNING_FOLDS = 3


@dataclass(frozen=True)
class Sample:
    """Training rows: features, class codes 0..K-1, cells that group DRO weights."""

    features: FloatArray
    codes: IntArray
    cells: IntArray
    classes: int

    def rows(self, chosen: Any) -> "Sample":
        """Some of the rows."""
        return Sample(self.features[chosen], self.codes[chosen], self.cells[chosen], self.classes)

    @property
    def counts(self) -> FloatArray:
        """n_k, at least 1."""
        return np.maximum(np.bincount(self.codes, minlength=self.classes), 1).astype(np.float64)


def arm_scores(sample: Sample, test: FloatArray, learner: str, strength: float, seed: int) -> dict[str, FloatArray]:
    """Log scores (test rows x K) of every arm; threshold moving once for each metric."""
    counts, codes = sample.counts, sample.codes

    def trained(chosen: Any = slice(None), weights: FloatArray | None = None) -> FloatArray:
        model = fitted(learner, strength, sample.features[chosen], codes[chosen], weights, seed)
        return log_chances(model, test, sample.classes)

    plain = trained()
    effective = (1 - BETA**counts) / (1 - BETA)
    offsets = tuned_offsets(sample, learner, strength, seed)
    return {
        PLAIN: plain,
        BALANCE: trained(_copies(sample, counts.max() / counts, seed)),
        SQUARE_ROOT: trained(_copies(sample, np.sqrt(counts.max() / counts), seed)),
        WEIGHTS: trained(weights=(1 / counts)[codes]),
        EFFECTIVE: trained(weights=(1 / effective)[codes]),
        ADJUST: plain - np.log(counts),
        DRO: _group_dro(sample, test, learner, strength, seed),
        **{f"{THRESHOLD}, {metric}": plain + offsets[metric] for metric in METRICS},
    }


def _copies(sample: Sample, rates: FloatArray, seed: int) -> IntArray:
    from lopsided.remedies.resampling import resampling_plan

    present, compact = np.unique(sample.codes, return_inverse=True)
    return np.sort(resampling_plan(compact, rates[present]).indices(seed))


def tuned_offsets(sample: Sample, learner: str, strength: float, seed: int) -> dict[str, FloatArray]:
    """Offsets that are best on held-out predictions, for each metric."""
    from lopsided.remedies.thresholds import best_biases

    fold = folds(sample.codes, TUNING_FOLDS, generator(seed, "tuning folds"))
    logs = np.zeros((sample.codes.size, sample.classes))
    for number in range(TUNING_FOLDS):
        inside = fold != number
        model = fitted(learner, strength, sample.features[inside], sample.codes[inside], None, seed)
        logs[~inside] = log_chances(model, sample.features[~inside], sample.classes)
    present, compact = np.unique(sample.codes, return_inverse=True)
    found = {}
    for metric in METRICS:
        biases = np.zeros(sample.classes)
        objective: Any = metric
        biases[present] = best_biases(logs[:, present], compact, compact, objective)[0]
        found[metric] = biases
    return found


def _group_dro(sample: Sample, test: FloatArray, learner: str, strength: float, seed: int) -> FloatArray:
    from lopsided.remedies.group_dro import dro_start, dro_step

    _, cells = np.unique(sample.cells, return_inverse=True)
    sizes = np.bincount(cells)
    state = dro_start(sizes, step=DRO_STEP)
    for _ in range(DRO_ROUNDS):
        weights = (state.weights / sizes)[cells]
        model = fitted(learner, strength, sample.features, sample.codes, weights, seed)
        logs = log_chances(model, sample.features, sample.classes)
        state, _ = dro_step(state, -logs[np.arange(cells.size), sample.codes], cells)
    return log_chances(model, test, sample.classes)


def right_by_class(scores: FloatArray, codes: IntArray, classes: int) -> FloatArray:
    """How many rows of each class get their own class."""
    right = (scores.argmax(axis=1) == codes).astype(np.float64)
    return np.bincount(codes, weights=right, minlength=classes).astype(np.float64)


def of_metric(arms: Sequence[str], values: dict[str, Any], metric: str) -> dict[str, Any]:
    """One entry per arm: threshold moving as tuned for the metric."""
    return {arm: values[f"{THRESHOLD}, {metric}" if arm == THRESHOLD else arm] for arm in arms}
