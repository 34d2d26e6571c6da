"""Chooses the correction of a head by cross-validation, and estimates its gain without the bias of the choice.

Every candidate is fitted on all folds but one and answers the examples of that one, over repeated stratified folds. Of
the candidates, which come with the simplest first, the first is chosen that is at most `SLACK` standard errors of the
paired difference behind the best. Classes with one example do not count.

The score of the chosen candidate is optimistic, because it was used for the choice. So its gain is estimated by
bootstrap bias corrected cross-validation (Tsamardinos et al. 2018): examples are drawn with replacement, class by
class, the same rule chooses on the answers to those, and its choice is scored on the examples that were not drawn. No
fit is repeated. This corrects too much: a draw holds 63 % of the examples, chooses worse than all of them would, and is
scored on the rest, which hardly has examples of a small class. So the gain is the mean of the corrected and the plain
cross-validated one, and its interval reaches from an error below the lower to an error above the higher of the two. The
squared error is that of the chosen candidate's paired gain (`measure.paired_scores`) and the variance, over draws, of
the gain of what was chosen.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from lopsided.core.errors import InputError
from lopsided.core.folds import deal
from lopsided.core.partition import Partition
from lopsided.core.seeds import generator
from lopsided.core.statistics import student_reach
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.metrics.contract import Answers, Judged, Metric, judged_parts
from lopsided.measure.metrics.shares import ShareMetric
from lopsided.measure.paired_scores import gain as paired_gain
from lopsided.torch.mending.corrections import Correction

# Chosen by hand; which correction `mend` takes, and with it every gain that bench/mend.py measures, depends on it. Of
# 0, 0.5, 1 and 2 errors, on 37 networks that bench/mend.py does not use: the mean gain in balanced accuracy was
# 0.060, 0.057, 0.047 and 0.053 with a validation set that had the tail of the training set, 0.115, 0.116, 0.107 and
# 0.077 with one half-way to equal classes; that of adjustment with tau 1 was 0.034. Those networks were not kept.
SLACK = 0.5
FOLDS = 5
REPEATED = 1_000  # with more examples one repeat says enough
MOST_EXAMPLES = 5_000  # that a choice is made on, evenly from every class
DRAWS, FEWER_DRAWS = 200, 50  # of shares, and of metrics that take longer to work out
LEVEL = 0.9


@dataclass(frozen=True)
class Gain:
    """The expected improvement of the metric over doing nothing, with its 90 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ChosenCorrection:
    """The index of the chosen candidate, the cross-validated metric of every candidate, and the gain."""

    chosen: int
    scores: FloatArray
    gain: Gain


def choose(
    candidates: list[Correction], features: FloatArray, codes: IntArray, classes: Partition, metric: Metric, seed: int
) -> ChosenCorrection:
    """Cross-validate the candidates and choose; one of them is called "nothing"."""
    judged = judged_parts(classes, None)
    if len(judged.classes) < 2:
        raise InputError(
            "two examples of at least two classes in the loader",
            f"{len(judged.classes)} such classes among {codes.size:,} examples",
            "give a larger validation set",
        )
    if codes.size > MOST_EXAMPLES:
        some = deal(codes, None, -(-codes.size // MOST_EXAMPLES), seed, 0) == 0
        features, codes = features[some], codes[some]
        judged = judged_parts(Partition(classes.name, codes, classes.names), None)
    answered = _answers(candidates, features, codes, metric, seed)
    sign = 1.0 if metric.larger_is_better else -1.0
    values = np.array([metric.value(one, judged) for one in answered])
    slack = _slack(answered, metric, judged, sign * values)
    chosen = _first(sign * values, slack)
    nothing = [candidate.kind for candidate in candidates].index("nothing")
    if chosen == nothing:
        return ChosenCorrection(chosen, values, Gain(0.0, 0.0, 0.0))
    draws = _draws(answered, metric, judged, sign, slack, nothing, seed)
    measured = paired_gain(metric, answered[chosen], answered[nothing], judged)
    full = sign * (values - values[nothing])
    error = math.sqrt(measured.error**2 + float(full[draws.choices].var()))
    half = student_reach(LEVEL, max(measured.degrees, 1.0)) * error
    ends = sorted([float(draws.outside.mean()), float(full[chosen])])
    widest = metric.bounds[1] - metric.bounds[0]
    low, high = max(ends[0] - half, -widest), min(ends[1] + half, widest)
    return ChosenCorrection(chosen, values, Gain(sum(ends) / 2, low, high))


def _answers(
    candidates: list[Correction], features: FloatArray, codes: IntArray, metric: Metric, seed: int
) -> list[Answers]:
    """What every candidate says of every example, fitted without it."""
    folds, repeats = min(FOLDS, codes.size), 1 if codes.size > REPEATED else 2
    fold = np.stack([deal(codes, None, folds, seed, repeat) for repeat in range(repeats)])
    groups = np.zeros_like(codes)
    found = []
    for candidate in candidates:
        predicted, chances = np.zeros_like(fold), []
        for repeat in range(repeats):
            scores = None
            for number in range(folds):
                inside, outside = fold[repeat] != number, fold[repeat] == number
                said = candidate.fit(features[inside], codes[inside]).scores(features[outside])
                scores = np.zeros((codes.size, said.shape[1])) if scores is None else scores
                scores[outside] = said
            assert scores is not None
            predicted[repeat] = scores.argmax(axis=1)
            if not isinstance(metric, ShareMetric):
                chances.append(softmax(scores, axis=1).astype(np.float32))
        kept = np.stack(chances) if chances else None
        found.append(Answers(predicted == codes, fold, codes, groups, predicted, kept))
    return found


def _slack(answered: list[Answers], metric: Metric, judged: Judged, values: FloatArray) -> FloatArray:
    """How far every candidate may be behind the best one and still count as equal to it."""
    best = answered[int(values.argmax())]
    errors = [0.0 if one is best else paired_gain(metric, best, one, judged).error for one in answered]
    return SLACK * np.array(errors)


def _first(values: FloatArray, slack: FloatArray) -> int:
    """The first candidate that is within its slack of the best."""
    return int(np.argmax(values >= values.max() - slack))


@dataclass(frozen=True)
class _Draws:
    """Of every draw, what was chosen and its gain on the examples outside the draw."""

    choices: IntArray
    outside: FloatArray


def _draws(
    answered: list[Answers], metric: Metric, judged: Judged, sign: float, slack: FloatArray, nothing: int, seed: int
) -> _Draws:
    random = generator(seed, "bootstrap of a choice")
    codes = answered[0].classes
    members = [np.flatnonzero(codes == code) for code in judged.classes]
    choices, outside = [], []
    for _ in range(DRAWS if isinstance(metric, ShareMetric) else FEWER_DRAWS):
        inside = np.concatenate([random.choice(own, own.size) for own in members])
        rest = np.setdiff1d(np.concatenate(members), inside)
        if not rest.size:
            continue
        chosen = _first(np.array([_value(one, metric, inside, sign) for one in answered]), slack)
        choices.append(chosen)
        outside.append(_value(answered[chosen], metric, rest, sign) - _value(answered[nothing], metric, rest, sign))
    return _Draws(np.array(choices, dtype=np.int64), np.array(outside))


def _value(answers: Answers, metric: Metric, rows: IntArray, sign: float) -> float:
    """The metric on some of the examples, over the classes that occur among them."""
    chances = None if answers.probabilities is None else answers.probabilities[:, rows]
    some = Answers(
        answers.right[:, rows],
        answers.fold[:, rows],
        answers.classes[rows],
        answers.groups[rows],
        answers.labels[:, rows],
        chances,
    )
    present = tuple(np.unique(some.classes).tolist())
    return sign * metric.value(some, Judged(present, (0,)))
