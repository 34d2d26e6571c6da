"""Which remedy gives the best balanced accuracy, and which the best worst class?

Random picture classes or census rows, class sizes (long tail or two sizes), learners and their strength. A forecaster
sees the plan of `lopsided.plan` and the result of `lopsided.trial` for one training sample. The truth is the mean over
six other samples, on test rows; the arms are the remedies of the plan and plain training.

An answer is right if the chosen arm's mean lies within one standard error of the best arm's mean (the rule of Breiman
et al. 1984). The error is that of the accuracy of the best arm: its variance over the samples plus the binomial
variance of the test rows. (The first version counted only the samples. It was changed after 26 tasks of the development
half had been seen, and is kept as the stricter measure.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np

from lopsided.checkup.plan.arms import default_kinds
from lopsided.engine.task import Settings
from lopsided.skill.family import Amount, Choice, Family, Forecaster, Question, constant, drawn_tasks
from lopsided.skill.remedy_runs import ASKED, SAMPLES, TEST_PER_CLASS, measure
from lopsided.skill.scoring import Z90, Z95

TASKS = 80
METRICS = tuple(ASKED)
PLAIN, ADJUST, THRESHOLD, OVERSAMPLING = "plain", "logit adjustment", "threshold moving", "oversampling"
# what a plan proposes for every table, so what a user could always take
ARMS = tuple(kind.name for kind in default_kinds() if isinstance(kind.name, str) and not kind.needs_groups)
SHORT_LIST = (OVERSAMPLING, ADJUST, THRESHOLD)
HEAD_START = 0.02  # of logit adjustment in the short trial, which alone depends on it; chosen by hand
_SIMPLE_GAINS = {"no gain": 0.0, "a tenth": 0.1}
SURE = 0.8  # confidence of a choice at equal values, in deviations; chosen by hand, reliability depends on it


@drawn_tasks("skill-remedies", TASKS)
def tasks(random: np.random.Generator, _: int) -> Settings:
    """Settings of one task."""
    data = str(random.choice(["digits", "mnist", "fashion-mnist", "cifar-10", "adult"]))
    classes = 2 if data == "adult" else int(random.integers(2, 11))
    learner = str(random.choice(["logistic", "network", "forest", "boosting"], p=[0.35, 0.35, 0.2, 0.1]))
    if learner == "boosting" and classes > 3:
        learner = "logistic"
    largest = 80 if data == "digits" else int(random.choice([150, 300, 600]))
    ratio = float(round(np.exp(random.uniform(np.log(4), np.log(min(100.0, largest / 4)))), 1))
    profile = str(random.choice(["long tail", "two sizes"]))
    return {
        "data": data,
        "members": [0, 1] if data == "adult" else random.permutation(10)[:classes].tolist(),
        "counts": _counts(profile, classes, largest, ratio, random),
        "learner": learner,
        "strength": float(random.choice([0.01, 0.1, 1.0]) if learner == "logistic" else random.choice([0.4, 1.0])),
    }


def _counts(profile: str, classes: int, largest: int, ratio: float, random: np.random.Generator) -> list[int]:
    if profile == "long tail" or classes == 2:
        return [max(4, round(largest * ratio ** (-k / (classes - 1)))) for k in range(classes)]
    small = int(random.integers(1, classes))
    return [largest] * (classes - small) + [max(4, round(largest / ratio))] * small


def _test_rows(settings: Settings) -> int:
    """Test rows of each class; digits has about 45."""
    return 45 if settings["data"] == "digits" else TEST_PER_CLASS


def _best(settings: Settings, truth: Mapping[str, Any], test_rows: bool = True) -> list[Choice]:
    """The arm with the best mean, and all arms within a standard error (of the samples and the test rows) of it."""
    answers = []
    for metric in METRICS:
        means = {arm: float(np.mean(values)) for arm, values in truth[metric].items()}
        best = max(means, key=lambda arm: means[arm])
        rows = _test_rows(settings) * (len(settings["counts"]) if metric == "balanced" else 1)
        samples = float(np.var(truth[metric][best], ddof=1)) / SAMPLES
        error = np.sqrt(samples + (means[best] * (1 - means[best]) / rows if test_rows else 0.0))
        answers.append(Choice(best, tuple(arm for arm in means if means[arm] >= means[best] - error)))
    return answers


def _trial_values(seen: Mapping[str, Any], metric: str) -> dict[str, float]:
    return {arm: found["value"] for arm, found in seen[metric]["trial"]["arms"].items()}


def _spread(settings: Settings) -> float:
    """The largest deviation that the balanced accuracy of a trial can have, at shares of one half."""
    counts = np.array(settings["counts"], dtype=float)
    return float(np.sqrt((1 / counts).sum()) / (2 * counts.size))


def _chosen(values: Mapping[str, float], settings: Settings) -> Choice:
    """The largest value, with a chance that grows with its lead over the next."""
    first, second = sorted(values.values(), reverse=True)[:2]
    sure = NormalDist().cdf(SURE + (first - second) / _spread(settings))
    return Choice(max(values, key=lambda arm: values[arm]), confidence=sure)


def _by_plan(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
    """The first remedy of `lopsided.plan` that needs no new data."""
    return [Choice(seen[metric]["plan"][0]["name"]) for metric in METRICS]


def _by_trial(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
    """The winner of `lopsided.trial`; undecided if no arm is shown to beat plain training."""
    return [Choice(seen[metric]["trial"]["winner"]) for metric in METRICS]


def _by_recommendation(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
    """The recommendation of `lopsided.trial`, with its stated chance of being best."""
    advised = [seen[metric]["trial"]["recommendation"] or {"arm": None, "chance": None} for metric in METRICS]
    return [Choice(one["arm"], confidence=one["chance"]) for one in advised]


def _by_largest(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
    """The arm with the largest value in the trial, significant or not."""
    return [_chosen(_trial_values(seen, metric), settings) for metric in METRICS]


def _by_short_trial(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
    """The same among only three arms: one that changes training, one that corrects afterwards by a rule, one that
    tunes.

    More arms add more chances to be misled by a few held-out examples than they add winners. For balanced accuracy,
    logit adjustment is optimal if the probabilities of the learner are correct, so another arm has to be better by
    `HEAD_START`.
    """
    answers = []
    for metric in METRICS:
        values = _trial_values(seen, metric)
        short = {arm: values[arm] for arm in SHORT_LIST}
        short[ADJUST] += HEAD_START if metric == "balanced" else 0.0
        answers.append(_chosen(short, settings))
    return answers


def _true_gains(settings: Settings, truth: Mapping[str, Any]) -> list[Amount]:
    means = {arm: float(np.mean(values)) for arm, values in truth["balanced"].items()}
    return [Amount(means[arm] - means[PLAIN]) for arm in SHORT_LIST]


def _trial_gains(settings: Settings, seen: Mapping[str, Any]) -> list[Amount]:
    arms = seen["balanced"]["trial"]["arms"]
    return [_narrowed(arms[arm]["gain"]) for arm in SHORT_LIST]


def _plan_gains(settings: Settings, seen: Mapping[str, Any]) -> list[Amount]:
    gains = {one["name"]: one["gain"] for one in seen["balanced"]["plan"]}
    return [Amount(*gains[arm]) for arm in SHORT_LIST]


def _narrowed(gain: Sequence[float] | None) -> Amount:
    """Convert the 95 % interval that a trial prints into a 90 % one, as for a normal distribution."""
    if gain is None:
        return Amount(None)
    value, low, high = gain
    return Amount(value, value - (value - low) * Z90 / Z95, value + (high - value) * Z90 / Z95)


RECIPES: dict[str, Forecaster[Choice]] = {
    "plan": _by_plan,
    "trial": _by_trial,
    "recommendation": _by_recommendation,
    "largest in the trial": _by_largest,
    "short trial": _by_short_trial,
}
BASELINES = {f"always {arm}": constant(Choice(arm), lambda settings: len(METRICS)) for arm in ARMS}
QUESTION = Question(
    "which remedy is within a standard error of the best, for balanced accuracy and for the worst class",
    _best,
    RECIPES,
    "plan",
    BASELINES,
    parts=lambda settings: ["balanced accuracy", "worst class"],
    unshipped=("largest in the trial", "short trial"),
)
FAMILY = Family(
    id="skill-remedies",
    title="The best remedy for rare classes",
    tasks=tasks,
    measure=measure,
    needs=("mnist", "fashion-mnist", "cifar-10", "adult"),
    version=2,
    question=QUESTION,
    stricter=(
        replace(
            QUESTION,
            name="the same with the standard error of the samples alone",
            truth=lambda settings, truth: _best(settings, truth, test_rows=False),
        ),
    ),
    numbers=(
        Question(
            "gain in balanced accuracy over doing nothing",
            _true_gains,
            {"trial": _trial_gains, "plan": _plan_gains},
            "trial",
            {name: constant(Amount(gain), lambda settings: len(SHORT_LIST)) for name, gain in _SIMPLE_GAINS.items()},
            parts=lambda settings: list(SHORT_LIST),
            unshipped=("trial",),  # the interval is converted
        ),
    ),
)
