"""Which remedy gives the best balanced accuracy, and which the best worst class?

Random picture classes or census rows, class sizes (long tail or two sizes), learners and their strength. A forecaster
sees the class counts and one training sample: right answers by class in a three-fold trial of every arm on it, and
those of a plain logistic pilot moved to other priors. The truth is the mean over six other samples, on test rows.

An answer is right if the chosen arm's mean lies within one standard error of the best arm's mean (the rule of Breiman
et al. 1984). The error is that of the best arm's accuracy: its variance over the samples, and the binomial one of the
test rows. (A first form counted the samples alone; it was changed when 26 tasks of the development half had been seen,
and is kept as the stricter measure.)
"""

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray
from lopsided.engine.task import Numbers, Settings
from lopsided.skill.family import (
    Choice,
    ChoiceForecaster,
    ChoiceQuestion,
    Estimate,
    Family,
    NumberForecaster,
    NumberQuestion,
)
from lopsided.skill.remedy_arms import (
    ADJUST,
    ARMS,
    BALANCE,
    METRICS,
    PLAIN,
    SQUARE_ROOT,
    THRESHOLD,
    Sample,
    arm_scores,
    of_metric,
    right_by_class,
)
from lopsided.skill.small_tables import Pool, census_pool, fitted, folds, log_chances, picture_pool

TASKS = 80
SAMPLES = 6
TRIAL_FOLDS = 3
TEST_PER_CLASS = 300
SHORT_LIST = (BALANCE, ADJUST, THRESHOLD)
# Chosen on the development half: the head start of logit adjustment, how sure the choice is at equal values (in
# deviations), and how many deviations of a trial hold nine of ten gains.
HEAD_START, SURE, GAIN_WIDTH = 0.02, 0.8, 1.5
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)  # s of the offsets -s log n_k


def tasks() -> Sequence[Settings]:
    """Specifications drawn by a generator of their own."""
    random = generator(70119, "skill", "remedies")
    made = []
    for index in range(TASKS):
        data = str(random.choice(["digits", "mnist", "fashion-mnist", "cifar-10", "adult"]))
        classes = 2 if data == "adult" else int(random.integers(2, 11))
        learner = str(random.choice(["logistic", "network", "forest", "boosting"], p=[0.35, 0.35, 0.2, 0.1]))
        if learner == "boosting" and classes > 3:
            learner = "logistic"
        largest = 80 if data == "digits" else int(random.choice([150, 300, 600]))
        ratio = float(round(np.exp(random.uniform(np.log(4), np.log(min(100.0, largest / 4)))), 1))
        profile = str(random.choice(["long tail", "two sizes"]))
        made.append(
            {
                "index": index,
                "data": data,
                "members": [0, 1] if data == "adult" else random.permutation(10)[:classes].tolist(),
                "counts": _counts(profile, classes, largest, ratio, random),
                "learner": learner,
                "strength": float(
                    random.choice([0.01, 0.1, 1.0]) if learner == "logistic" else random.choice([0.4, 1.0])
                ),
            }
        )
    return made


def _counts(profile: str, classes: int, largest: int, ratio: float, random: np.random.Generator) -> list[int]:
    if profile == "long tail" or classes == 2:
        return [max(4, round(largest * ratio ** (-k / (classes - 1)))) for k in range(classes)]
    small = int(random.integers(1, classes))
    return [largest] * (classes - small) + [max(4, round(largest / ratio))] * small


def _pool(settings: Settings) -> Pool:
    return census_pool() if settings["data"] == "adult" else picture_pool(settings["data"])


def _sample(settings: Settings, pool: Pool, random: np.random.Generator) -> Sample:
    """Class k of the task is class members[k] of the set."""
    rows, codes = [], []
    for code, (member, count) in enumerate(zip(settings["members"], settings["counts"], strict=True)):
        rows.append(random.choice(np.flatnonzero(pool.labels == member), count, replace=False))
        codes.append(np.full(count, code))
    chosen, found = np.concatenate(rows), np.concatenate(codes)
    cells = found
    if settings["data"] == "adult":
        cells = 2 * found + (pool.words["sex"][chosen] == "Female")
    return Sample(pool.features[chosen], found, cells, len(settings["counts"]))


def measure(settings: Settings, seed: int) -> Numbers:
    """Accuracies of every arm over six samples, and what one more sample shows."""
    pool, world = _pool(settings), settings["index"]
    tested, codes = [], []
    for code, member in enumerate(settings["members"]):
        own = np.flatnonzero(pool.test_labels == member)[:TEST_PER_CLASS]
        tested.append(own)
        codes.append(np.full(own.size, code))
    test, truth_codes = pool.test_features[np.concatenate(tested)], np.concatenate(codes)
    totals = np.bincount(truth_codes)
    found: dict[str, dict[str, list[float]]] = {metric: {arm: [] for arm in ARMS} for metric in METRICS}
    for number in range(SAMPLES):
        sample = _sample(settings, pool, generator(seed, "remedy sample", world, number))
        scores = arm_scores(sample, test, settings["learner"], settings["strength"], number)
        for metric in METRICS:
            for arm, values in of_metric(ARMS, scores, metric).items():
                recall = right_by_class(values, truth_codes, sample.classes) / totals
                found[metric][arm].append(float(recall.mean() if metric == "balanced" else recall.min()))
    seen = _seen(settings, _sample(settings, pool, generator(seed, "remedy sample", world, "seen")))
    return {"seen": seen, "truth": found}


def _seen(settings: Settings, sample: Sample) -> dict[str, Any]:
    """Right answers by class of every arm over three folds; of the plain learner on its own training rows; of a plain
    logistic pilot and of the plain learner, held out, with offsets -s log n_k."""
    fold = folds(sample.codes, TRIAL_FOLDS, generator(settings["index"], "trial folds"))
    learner, strength, classes = settings["learner"], settings["strength"], sample.classes
    trial: dict[str, FloatArray] = {}
    pilot, own = (np.zeros((sample.codes.size, classes)) for _ in range(2))
    for number in range(TRIAL_FOLDS):
        inside = fold != number
        part, held_out = sample.rows(inside), sample.rows(~inside)
        all_scores = arm_scores(part, held_out.features, learner, strength, number)
        own[~inside] = all_scores[PLAIN]
        for arm, scores in all_scores.items():
            trial[arm] = trial.get(arm, 0.0) + right_by_class(scores, held_out.codes, classes)
        model = fitted("logistic", 1.0, part.features, part.codes)
        pilot[~inside] = log_chances(model, held_out.features, classes)
    plain = fitted(learner, strength, sample.features, sample.codes)
    trained = right_by_class(log_chances(plain, sample.features, classes), sample.codes, classes)
    logs = np.log(sample.counts)
    return {
        "trial": {arm: right.tolist() for arm, right in trial.items()},
        "trained": trained.tolist(),
        "pilot": {str(s): right_by_class(pilot - s * logs, sample.codes, classes).tolist() for s in STRENGTHS},
        "own": {str(s): right_by_class(own - s * logs, sample.codes, classes).tolist() for s in STRENGTHS},
    }


def _test_rows(settings: Settings) -> int:
    """Test rows of each class; digits has about 45."""
    return 45 if settings["data"] == "digits" else TEST_PER_CLASS


def _best(settings: Settings, truth: Mapping[str, Any], test_rows: bool = True) -> list[Choice]:
    """The arm with the best mean, and all within a standard error of it: of the samples, and of the test rows."""
    answers = []
    for metric in METRICS:
        means = {arm: float(np.mean(values)) for arm, values in truth[metric].items()}
        best = max(means, key=lambda arm: means[arm])
        rows = _test_rows(settings) * (len(settings["counts"]) if metric == "balanced" else 1)
        samples = float(np.var(truth[metric][best], ddof=1)) / SAMPLES
        error = np.sqrt(samples + (means[best] * (1 - means[best]) / rows if test_rows else 0.0))
        answers.append(Choice(best, tuple(arm for arm in ARMS if means[arm] >= means[best] - error)))
    return answers


def _value(right: Sequence[float], counts: Sequence[int], metric: str) -> float:
    """The metric of right answers by class."""
    recall = np.array(right) / np.array(counts)
    return float(recall.mean() if metric == "balanced" else recall.min())


def _trial_values(settings: Settings, seen: Mapping[str, Any], metric: str) -> dict[str, float]:
    arms = of_metric(ARMS, seen["trial"], metric)
    return {arm: _value(right, settings["counts"], metric) for arm, right in arms.items()}


def _spread(settings: Settings) -> float:
    """Deviation of a trial's balanced accuracy at shares of one half, the most it can be."""
    counts = np.array(settings["counts"], dtype=float)
    return float(np.sqrt((1 / counts).sum()) / (2 * counts.size))


def _chosen(values: Mapping[str, float], settings: Settings) -> Choice:
    """The largest value, the surer the further it is ahead of the next."""
    first, second = sorted(values.values(), reverse=True)[:2]
    sure = NormalDist().cdf(SURE + (first - second) / _spread(settings))
    return Choice(max(values, key=lambda arm: values[arm]), confidence=sure)


def _by_trial(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
    """The arm that a three-fold trial on the sample puts first."""
    return [_chosen(_trial_values(settings, seen, metric), settings) for metric in METRICS]


def _by_short_trial(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
    """The same among three arms alone: one that changes training, one that corrects afterwards by rule, one that tunes.

    More arms add more chances to be misled by a few held-out examples than they add winners. For balanced accuracy
    the rule is right whenever the learner's probabilities are, so another arm has to be `HEAD_START` better.
    """
    answers = []
    for metric in METRICS:
        values = _trial_values(settings, seen, metric)
        listed = {arm: values[arm] for arm in SHORT_LIST}
        listed[ADJUST] += HEAD_START if metric == "balanced" else 0.0
        answers.append(_chosen(listed, settings))
    return answers


def _by_pilot(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
    """From a logistic pilot's held-out probabilities under other priors, as `lopsided.plan` forecasts: square-root
    sampling moves them half-way, logit adjustment (and whatever else balances) all the way, threshold moving as far as
    is best. The learner itself is not looked at."""
    answers = []
    for metric in METRICS:
        moved = {s: _value(seen["pilot"][str(s)], settings["counts"], metric) for s in STRENGTHS}
        values = {PLAIN: moved[0.0], SQUARE_ROOT: moved[0.5], ADJUST: moved[1.0], THRESHOLD: max(moved.values())}
        values[ADJUST] += HEAD_START if metric == "balanced" else 0.0
        answers.append(_chosen(values, settings))
    return answers


def _parts(settings: Settings) -> list[str]:
    return ["balanced accuracy", "worst class"]


def _true_gains(settings: Settings, truth: Mapping[str, Any]) -> list[Estimate]:
    means = {arm: float(np.mean(truth["balanced"][arm])) for arm in ARMS}
    return [Estimate(means[arm] - means[PLAIN]) for arm in SHORT_LIST]


def _gains(settings: Settings, seen: Mapping[str, Any]) -> list[Estimate]:
    values = _trial_values(settings, seen, "balanced")
    half = GAIN_WIDTH * _spread(settings)
    return [Estimate(gain := values[arm] - values[PLAIN], gain - half, gain + half) for arm in SHORT_LIST]


def _constant(value: float) -> NumberForecaster:
    return lambda settings, seen: [Estimate(value)] * len(SHORT_LIST)


def _always(arm: str) -> ChoiceForecaster:
    return lambda settings, seen: [Choice(arm)] * len(METRICS)


RECIPES: dict[str, ChoiceForecaster] = {
    "short trial": _by_short_trial,
    "trial": _by_trial,
    "pilot under other priors": _by_pilot,
}
BASELINES = {f"always {arm}": _always(arm) for arm in ARMS}
FAMILY = Family(
    id="skill-remedies",
    title="The best remedy for rare classes",
    tasks=tasks,
    measure=measure,
    needs=("mnist", "fashion-mnist", "cifar-10", "adult"),
    question=ChoiceQuestion(
        "which remedy is within a standard error of the best, for balanced accuracy and for the worst class",
        _best,
        RECIPES,
        "short trial",
        BASELINES,
        parts=_parts,
    ),
    stricter=(
        ChoiceQuestion(
            "the same with the standard error of the samples alone",
            lambda settings, truth: _best(settings, truth, test_rows=False),
            RECIPES,
            "short trial",
            BASELINES,
            parts=_parts,
        ),
    ),
    numbers=(
        NumberQuestion(
            "gain in balanced accuracy over doing nothing",
            _true_gains,
            {"trial": _gains},
            "trial",
            {"no gain": _constant(0.0), "a tenth": _constant(0.1)},
            parts=lambda settings: list(SHORT_LIST),
        ),
    ),
)
