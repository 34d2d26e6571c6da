"""Does removing the examples of high influence cost more than removing those of low influence, or random ones?

Random picture classes or census rows, learners, sample sizes, shares removed, and a share of wrong labels that
forecasters do not know. Scores are those of `measure.influence` (Xu and Chen 2025, eq 10) within each class. A
forecaster sees one sample: the shape of the scores, and the correct held-out answers over three folds after training
without the high, the low or a random share of the other folds. The truth is the mean accuracy over eight other samples,
on correctly labelled test rows.
"""

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import numpy as np

from lopsided.core.folds import dealt
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.engine.task import Numbers, Settings
from lopsided.skill.family import Amount, Choice, Family, Forecaster, Question, constant, drawn_tasks
from lopsided.skill.scoring import Z90
from lopsided.skill.small_tables import fitted, log_chances, pool_of

TASKS = 48
SAMPLES = 8
TRIAL_FOLDS, TRIAL_REPEATS = 3, 2
TEST_ROWS = 2000
CLEAR = 2.0  # standard errors of the measured difference
WRONG_LABELS = (0.0, 0.0, 0.1, 0.25)
WAYS = ("high", "low", "random", "none")
OTHERS = ("low", "random")
WIDTH = 3.0  # errors of the trial to either side, for a coverage of 0.9 (`bench/laws/groups_fit.py`), to 2 %


@drawn_tasks("skill-curation", TASKS)
def tasks(random: np.random.Generator, _: int) -> Settings:
    """Settings of one task."""
    data = str(random.choice(["digits", "mnist", "fashion-mnist", "cifar-10", "adult"]))
    classes = 2 if data == "adult" else int(random.integers(2, 11))
    learner = str(random.choice(["logistic", "network", "forest"], p=[0.4, 0.35, 0.25]))
    return {
        "data": data,
        "members": [0, 1] if data == "adult" else random.permutation(10)[:classes].tolist(),
        "per_class": 80 if data == "digits" else int(random.choice([50, 100, 200])),
        "share": float(round(random.uniform(0.1, 0.6), 2)),
        "learner": learner,
        "strength": float(random.choice([0.1, 1.0])),
    }


def wrong_share(settings: Settings) -> float:
    """The share of wrong labels of a task, which forecasters do not know."""
    return float(generator(settings["index"], "skill", "wrong labels").choice(WRONG_LABELS))


def _sample(settings: Settings, random: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Features and labels; a share of the labels is wrong."""
    pool, members, count = pool_of(settings["data"]), settings["members"], settings["per_class"]
    rows = np.concatenate([random.choice(np.flatnonzero(pool.labels == k), count, replace=False) for k in members])
    codes = np.repeat(np.arange(len(members)), count)
    wrong = random.random(codes.size) < wrong_share(settings)
    moved = (codes + random.integers(1, len(members), size=codes.size)) % len(members)
    return pool.features[rows], np.where(wrong, moved, codes)


def _kept(settings: Settings, features: FloatArray, codes: IntArray, way: str, random: np.random.Generator) -> IntArray:
    """The rows that remain when `share` of every class is removed; scores are computed in the units of the pictures."""
    from lopsided.measure.influence import class_scores

    kept, units = [], pool_of(settings["data"]).spread
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        gone = 0 if way == "none" else round(settings["share"] * own.size)
        if way == "random" or own.size < 4:
            order = random.permutation(own)
        else:
            scores = class_scores(features[own] * units)
            order = own[np.argsort(-scores if way == "high" else scores, kind="stable")]
        kept.append(order[gone:] if own.size - gone >= 1 else order[-1:])
    return np.sort(np.concatenate(kept))


def _scores(settings: Settings, features: FloatArray, codes: IntArray, kept: IntArray, test: FloatArray) -> FloatArray:
    model = fitted(settings["learner"], settings["strength"], features[kept], codes[kept])
    return log_chances(model, test, len(settings["members"]))


def measure(settings: Settings, seed: int) -> Numbers:
    """Accuracy after each way of removing examples, over eight samples, and what one more sample shows."""
    pool, members, world = pool_of(settings["data"]), settings["members"], settings["index"]
    tested = np.concatenate([np.flatnonzero(pool.test_labels == k)[: TEST_ROWS // len(members)] for k in members])
    test = pool.test_features[tested]
    answers = np.array([members.index(label) for label in pool.test_labels[tested]])
    truth: dict[str, Any] = {way: [] for way in WAYS}
    for number in range(SAMPLES):
        random = generator(seed, "curation sample", world, number)
        features, codes = _sample(settings, random)
        for way in WAYS:
            kept = _kept(settings, features, codes, way, random)
            predicted = _scores(settings, features, codes, kept, test).argmax(axis=1)
            truth[way].append(float((predicted == answers).mean()))
    truth["wrong"] = wrong_share(settings)
    return {"seen": _seen(settings, generator(seed, "curation sample", world, "seen")), "truth": truth}


def _seen(settings: Settings, random: np.random.Generator) -> dict[str, Any]:
    """Held-out answers of one sample: the correct ones after each way, and how two ways differ on the same rows."""
    from lopsided.measure.influence import class_scores

    features, codes = _sample(settings, random)
    right: dict[str, FloatArray] = {way: np.zeros(codes.size) for way in WAYS}
    sure: dict[str, FloatArray] = {way: np.zeros(codes.size) for way in WAYS}
    for _ in range(TRIAL_REPEATS):
        fold = dealt(random, TRIAL_FOLDS, codes)
        for number in range(TRIAL_FOLDS):
            inside = np.flatnonzero(fold != number)
            held_out = np.flatnonzero(fold == number)
            for way in WAYS:
                kept = inside[_kept(settings, features[inside], codes[inside], way, random)]
                logs = _scores(settings, features, codes, kept, features[held_out])
                right[way][held_out] += logs.argmax(axis=1) == codes[held_out]
                sure[way][held_out] += logs[np.arange(held_out.size), codes[held_out]]
    shapes = []
    for code in np.unique(codes):
        scores = np.sort(class_scores(features[codes == code] * pool_of(settings["data"]).spread))
        gone = round(settings["share"] * scores.size)
        span = max(float(scores[-1] - scores[0]), 1e-300)
        shapes.append([float(scores[-gone:].mean() - np.median(scores)) / span, float(np.mean(scores > 0))])
    found = {way: float(values.mean()) / TRIAL_REPEATS for way, values in right.items()}
    differences = {}
    for way, other in (("high", "low"), ("high", "random"), ("low", "random")):
        for name, values in (("right", right), ("log", sure)):
            change = (values[way] - values[other]) / TRIAL_REPEATS
            error = float(change.std(ddof=1)) / np.sqrt(change.size)
            differences[f"{way} - {other}, {name}"] = [float(change.mean()), error]
    return {"right": found, "differences": differences, "shapes": shapes, "rows": int(codes.size)}


def _change(truth: Mapping[str, Any], other: str) -> tuple[float, float]:
    """Accuracy without the high scores minus that without the others, and its error."""
    change = np.array(truth["high"]) - np.array(truth[other])
    return float(change.mean()), float(change.std(ddof=1) / np.sqrt(change.size))


def _costlier(settings: Settings, truth: Mapping[str, Any]) -> list[Choice]:
    answers = []
    for other in OTHERS:
        change, error = _change(truth, other)
        answers.append(Choice(None if abs(change) <= CLEAR * error else "high" if change < 0 else other))
    return answers


def _by_trial(name: str) -> Forecaster[Choice]:
    """Use the difference of held-out answers between training without the one and without the other."""

    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
        answers = []
        for other in OTHERS:
            change, error = seen["differences"][f"high - {other}, {name}"]
            sure = NormalDist().cdf(abs(change) / (error * WIDTH / Z90)) if error > 0 else None
            answers.append(Choice("high" if change <= 0 else other, confidence=sure))
        return answers

    return answer


def _parts(settings: Settings) -> list[str]:
    return [f"high against {other}" for other in OTHERS]


def _changes(settings: Settings, seen: Mapping[str, Any]) -> list[Amount]:
    found = []
    for other in OTHERS:
        change, error = seen["differences"][f"high - {other}, right"]
        found.append(Amount(change, change - WIDTH * error, change + WIDTH * error))
    return found


FAMILY = Family(
    id="skill-curation",
    title="Influence: which examples to keep",
    tasks=tasks,
    measure=measure,
    needs=("mnist", "fashion-mnist", "cifar-10", "adult"),
    question=Question(
        "does it cost more to lose the high scores than the low ones, and than as many at random",
        _costlier,
        {"trial": _by_trial("right"), "trial by log probability": _by_trial("log")},
        "trial",
        {
            "high scores matter": constant(Choice("high"), lambda settings: len(OTHERS)),
            "high scores are outliers": lambda settings, seen: [Choice(other) for other in OTHERS],
        },
        parts=_parts,
        unshipped=("trial", "trial by log probability"),
    ),
    numbers=(
        Question(
            "accuracy without the high scores less that without the others",
            lambda settings, truth: [Amount(_change(truth, other)[0]) for other in OTHERS],
            {"trial": _changes},
            "trial",
            {"no difference": constant(Amount(0.0), lambda settings: len(OTHERS))},
            parts=_parts,
            unshipped=("trial",),
        ),
    ),
)
