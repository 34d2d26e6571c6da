"""The recall of every class at the end of a training, forecast from what the run has shown so far, or before it.

For a class with features x (below) and u = log(seen / 0.2), the distribution of its final held-out recall r is

    P(r <= c_j) = sigmoid((a_j + u a'_j - (b + u b') . x) / s)        at cuts c_0 = 0 < c_1 < ... < 1,

a logistic regression at every cut with common slopes; it is fitted with s = 1, and s > 1 makes up for its being too
sure of networks that it was not fitted to. From it come the median (`recall`), the 5 % and 95 % points (`low`, `high`)
and `chance_lost` = P(r < 0.2), cuts being joined by straight lines. There is one set of constants for runs with a
validation set, one without, each also for runs whose planned length is not known (no u), and one for before training.
Where a forecast before training was made, its score b . x is one more feature of runs of known length: early in
training the inputs say more about a class than the network does.

Towards the end the recall of the validation examples is itself the answer, up to chance. So if h of n were right, the
distribution is multiplied by (r^h (1 - r)^(n - h))^g with g = 0.5 seen^3 200 / (n + 200): nothing early, little less
than the binomial likelihood of a small set at the end, and of a large one not more than its examples and those on which
the final recall is measured share by chance. `bench/laws/recall_fit.py` chooses these three constants, s and the ridge
by leaving out tasks, and fits all others, on the development half of the skill family `recall-early`: networks as
people train them (MLP, ResNet, ViT, text transformer, frozen and fine-tuned backbones), on pictures, texts and
clusters.

This is an empirical law, not derived from theory; `lopsided skill` says how often its forecasts came true.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, Self

import numpy as np

from lopsided.core.validation import FloatArray, check_count, check_positive
from lopsided.theory.class_evidence import ClassEvidence

LOST = 0.2  # a class with a lower recall is lost
CUTS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995)
LEVEL = 0.9  # of the interval
_TAIL = (1 - LEVEL) / 2
REFERENCE = 0.2  # the share of the training at which u is 0
_CONSTANTS = "recall_law.json"
FINE = np.unique(np.append(np.arange(101) / 100, CUTS[-1]))  # recalls between which the likelihood is taken as constant
# the recalls that stand for 0, for the steps between the fine ones, and for 1
_INSIDE = np.append(0.003, np.minimum((FINE[1:] + FINE[:-1]) / 2, 0.9975))
_MANY = 200.0
_FLAT = 4.0  # logits of rates are cut here: 0.018 and 0.982


class Trust(NamedTuple):
    """How much the validation examples count: `weight` seen^`power` `as_good_as` / (n + `as_good_as`)."""

    weight: float
    power: float
    as_good_as: float


TRUST = Trust(0.5, 3.0, 200.0)
WIDER = 1.15  # s


@dataclass(frozen=True)
class RecallForecast:
    """One number per class each: median and 90 % interval of the final recall, and the chance that it is below 0.2.

    `seen` is the share of the training that was observed: 0 before training, None if the planned length is not known.
    `score` is b . x; larger is better.
    """

    recall: FloatArray
    low: FloatArray
    high: FloatArray
    chance_lost: FloatArray
    score: FloatArray
    seen: float | None


_PER_CLASS = ("recall", "low", "high", "chance_lost", "score")


@dataclass(frozen=True)
class RecallLaw:
    """Constants of one variant: features by name with their centres and scales, cuts and slopes."""

    names: tuple[str, ...]
    centre: FloatArray
    scale: FloatArray
    cuts: FloatArray  # a_j
    cuts_by_time: FloatArray  # a'_j
    slopes: FloatArray
    slopes_by_time: FloatArray

    @classmethod
    def read(cls, told: dict[str, Any]) -> Self:
        """From the committed constants."""
        return cls(tuple(told["names"]), *(np.array(told[name]) for name in list(cls.__dataclass_fields__)[1:]))

    def score(self, features: FloatArray, time: float = 0.0) -> FloatArray:
        """(b + u b') . x of every row."""
        found: FloatArray = ((features - self.centre) / self.scale) @ (self.slopes + time * self.slopes_by_time)
        return found

    def distribution(self, score: FloatArray, time: float, wider: float = WIDER) -> FloatArray:
        """K x cuts: P(r <= c_j)."""
        # One row per cut, as the steps along many classes are faster than those along few cuts.
        logits = ((self.cuts + time * self.cuts_by_time)[:, None] - score) / wider
        chances = 1.0 / (1.0 + np.exp(-logits.clip(-50, 50)))
        return np.maximum.accumulate(chances, axis=0).T  # cuts are fitted separately and may cross

    def forecast(
        self,
        features: FloatArray,
        time: float,
        seen: float | None,
        held_out: tuple[FloatArray, FloatArray] | None = None,
    ) -> RecallForecast:
        """Median, interval and chance of every row of features; `held_out` are examples right, and examples."""
        score = self.score(features, time)
        chances, points = self.distribution(score, time), np.array(CUTS)
        if held_out is not None and seen is not None:
            chances, points = sharpened(chances, *held_out, seen), FINE
        return RecallForecast(*_summary(chances, points), score, seen)


def sharpened(
    chances: FloatArray, right: FloatArray, shown: FloatArray, seen: float, trust: Trust = TRUST
) -> FloatArray:
    """P(r <= c) at the FINE recalls, from that at the cuts, times the likelihood of `right` of the `shown` validation
    examples."""
    known = np.array([*CUTS, 1.0])
    full = np.column_stack([chances, np.ones(len(chances))])
    place = np.clip(np.searchsorted(known, FINE, side="right") - 1, 0, known.size - 2)
    share = (FINE - known[place]) / (known[place + 1] - known[place])
    fine = full[:, place] * (1 - share) + full[:, place + 1] * share
    weight = trust.weight * seen**trust.power * trust.as_good_as / (shown + trust.as_good_as)
    logs = np.outer(weight * right, np.log(_INSIDE)) + np.outer(weight * (shown - right), np.log1p(-_INSIDE))
    mass = np.diff(fine, axis=1, prepend=0.0) * np.exp(logs - logs.max(axis=1, keepdims=True)) + 1e-300
    found: FloatArray = np.cumsum(mass, axis=1) / mass.sum(axis=1, keepdims=True)
    return found


def _summary(chances: FloatArray, points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Median, ends of the interval, and chance of being lost, from P(r <= c) at the points."""
    levels = np.array([_TAIL, 1 - LEVEL, 0.5, LEVEL, 1 - _TAIL])
    low, low_alone, middle, high_alone, high = _quantiles(chances, points, levels)
    # where a recall of 0 has the chance of the lower tail or more, all that the interval leaves out lies above it;
    # likewise below a recall of 1
    none = chances[:, 0] >= _TAIL
    whole = chances[:, np.searchsorted(points, CUTS[-1])] <= 1 - _TAIL
    high = np.where(whole, 1.0, np.where(none, high_alone, high))
    low = np.where(none, 0.0, np.where(whole, low_alone, low))
    # a recall of exactly 0.2 is kept; between cuts no recall has a chance of its own
    return middle, low, high, chances[:, np.searchsorted(points, LOST)]


def recall_forecast(evidence: ClassEvidence) -> RecallForecast:
    """Forecast the recall of every class at the end of the training from what it has shown so far.

    Parameters
    ----------
    evidence : ClassEvidence
        `EpochRecord.evidence` of a monitor, or `ClassEvidence.of` your own records.

    Returns
    -------
    RecallForecast
        Classes without validation examples are forecast from their training examples alone. A forecast before training
        in the evidence is used where the planned length is known.
    """
    before = evidence.seen is not None and bool(np.isfinite(evidence.before_score).all())
    suffix = ", unknown length" if evidence.seen is None else ", before" if before else ""
    time = 0.0 if evidence.seen is None else float(np.log(max(evidence.seen, 0.02) / REFERENCE))
    known = np.isfinite(evidence.held_out_recall)
    trained, last = training_features(evidence), [evidence.before_score] if before else []
    found = {name: np.empty(known.size) for name in _PER_CLASS}
    for kind, rows in (("held out", np.flatnonzero(known)), ("training", np.flatnonzero(~known))):
        if rows.size:
            shown = [_validation_features(evidence)] if kind == "held out" else []
            features = np.column_stack([trained, *shown, *last]).take(rows, axis=0)
            examples = np.nan_to_num(evidence.held_out_counts[rows])
            answers = (evidence.held_out_recall[rows] * examples, examples) if shown else None
            part = _law(kind + suffix).forecast(features, time, evidence.seen, answers)
            for name, values in found.items():
                values[rows] = getattr(part, name)
    return RecallForecast(**found, seen=evidence.seen)


def training_features(evidence: ClassEvidence, *, before: bool = False) -> FloatArray:
    """K x features of the variant "training"; a missing value of a class counts as its worst value. `before` adds the
    score of the forecast before training as the last column."""
    size = np.maximum(evidence.counts, 1.0)
    rates = _known(
        [evidence.train_recall, evidence.train_auc, evidence.train_adjusted, evidence.nearest_recall],
        [0.0, 0.5, 0.0, 0.0],
    )
    recall, logits = rates[0], _logit(rates, size)
    known = np.isfinite(evidence.train_loss)
    worst = np.max(evidence.train_loss, where=known, initial=np.log(evidence.classes))
    loss = np.where(known, evidence.train_loss, worst)
    margin = np.where(np.isfinite(evidence.train_margin), evidence.train_margin, -3.0)
    everyone = float(np.multiply(recall, size).sum() / size.sum())
    columns = [
        np.log(size),
        np.log(size / size.mean()),
        np.log(evidence.classes),
        logits[0],
        np.log(loss + 0.05),
        np.arcsinh(margin),
        *logits[1:],
        _whole(everyone),
        *([evidence.before_score] if before else []),
    ]
    return _table(columns, size.size)


def held_out_features(evidence: ClassEvidence, *, before: bool = False) -> FloatArray:
    """K x features of the variant "held out": those of training, and what the validation examples showed."""
    last = [evidence.before_score] if before else []
    return np.column_stack([training_features(evidence), _validation_features(evidence), *last])


def _validation_features(evidence: ClassEvidence) -> FloatArray:
    """K x features: what the validation examples showed."""
    size = np.nan_to_num(evidence.held_out_counts, nan=1.0).clip(1.0)
    loss = np.where(np.isfinite(evidence.held_out_loss), evidence.held_out_loss, np.log(evidence.classes))
    everyone = float(np.nanmean(evidence.held_out_recall))
    rates = _known(
        [evidence.held_out_recall, evidence.held_out_auc, evidence.held_out_adjusted, evidence.held_out_nearest],
        [0.0, 0.5, 0.0, 0.0],
    )
    logits = _logit(rates, size)
    return _table([logits[0], np.log(loss + 0.05), *logits[1:], _whole(everyone)], size.size)


@dataclass(frozen=True)
class PlannedTraining:
    """How a network will be trained: `adaptive` for Adam and similar optimisers, `attention` for transformers."""

    steps: int
    batch_size: int
    learning_rate: float
    adaptive: bool
    batch_norm: bool = False
    attention: bool = False

    def __post_init__(self) -> None:
        check_count(self.steps, "the number of steps")
        check_count(self.batch_size, "the batch size")
        check_positive(self.learning_rate, "the learning rate")


def recall_before_training(
    counts: FloatArray,
    nearest_mean: FloatArray,
    nearest_neighbour: FloatArray,
    linear: FloatArray,
    training: PlannedTraining,
) -> RecallForecast:
    """Forecast the recall of every class before any training.

    Parameters
    ----------
    counts : training examples of every class.
    nearest_mean, nearest_neighbour, linear : recall of every class by three simple rules on the inputs, or on the
        features of a frozen backbone (`measure.class_overlap`).
    training : how the network will be trained.
    """
    features = before_features(counts, nearest_mean, nearest_neighbour, linear, training)
    return _law("before").forecast(features, 0.0, 0.0)


def before_features(
    counts: FloatArray,
    nearest_mean: FloatArray,
    nearest_neighbour: FloatArray,
    linear: FloatArray,
    training: PlannedTraining,
) -> FloatArray:
    """K x features of the variant "before"."""
    size = np.maximum(counts, 1.0)
    means, neighbours, straight = _known([nearest_mean, nearest_neighbour, linear], [0.0, 0.0, 0.0])
    path = np.log(training.learning_rate * training.steps)
    common = [
        np.log(size.size),
        _whole(straight.mean()),
        _whole(neighbours.mean()),
        _whole(float(np.average(straight, weights=size))),
        np.log(training.steps * training.batch_size / size.sum()),
        float(training.adaptive),
        path * training.adaptive,
        path * (not training.adaptive),
        float(training.batch_norm),
        float(training.attention),
    ]
    own = [np.log(size), np.log(size / size.mean()), *(_logit(rates, size) for rates in (means, neighbours, straight))]
    return np.column_stack([*own, *(np.full(size.size, value) for value in common)])


def _whole(rate: float) -> float:
    """The logit of a rate over many examples."""
    return float(_logit(np.array([rate]), np.array([_MANY]))[0])


def _known(rates: Sequence[FloatArray], otherwise: Sequence[float]) -> FloatArray:
    """Rates as rows of one table, with a value for what was not measured."""
    table = np.stack(rates)
    return np.where(np.isfinite(table), table, np.array(otherwise)[:, None])


def _table(columns: Sequence[FloatArray | float], rows: int) -> FloatArray:
    found = np.empty((rows, len(columns)))
    for place, column in enumerate(columns):
        found[:, place] = column
    return found


def _logit(rates: FloatArray, size: FloatArray) -> FloatArray:
    """log p/(1-p) of a rate over a number of examples, with half an example added to each side."""
    smoothed = (rates * size + 0.5) / (size + 1.0)
    found: FloatArray = np.clip(np.log(smoothed / (1.0 - smoothed)), -_FLAT, _FLAT)
    return found


def _quantiles(chances: FloatArray, points: FloatArray, levels: FloatArray) -> FloatArray:
    """levels x rows: the quantiles of each distribution, interpolated linearly between points and to 1."""
    ends = np.append(points, 1.0)
    full = np.vstack([chances.T, np.ones(len(chances))])
    level = levels[:, None]
    place = (~(full >= level[:, None])).sum(axis=1)  # every distribution rises
    n = np.arange(len(chances))
    before = np.maximum(place - 1, 0)
    below, above = np.where(place > 0, full[before, n], 0.0), full[place, n]
    share = np.where(above > below, (level - below) / np.where(above > below, above - below, 1.0), 1.0)
    found: FloatArray = np.where(place > 0, ends[before] + share * (ends[place] - ends[before]), 0.0)
    return found


@cache
def _law(variant: str) -> RecallLaw:
    told = json.loads(files("lopsided.theory").joinpath(_CONSTANTS).read_text(encoding="utf-8"))
    return RecallLaw.read(told["laws"][variant])
