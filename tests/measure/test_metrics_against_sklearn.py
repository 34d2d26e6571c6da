"""Values and influences of the metrics against scikit-learn's own functions, which take weights of examples."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn import metrics as sk

from lopsided.core.errors import InputError
from lopsided.core.partition import Partition
from lopsided.measure.metrics.contract import Answers, Judged
from lopsided.measure.metrics.named import metric_named
from lopsided.measure.paired_scores import estimate, gain
from tests.measure.test_metrics import CLASSES, JUDGED, answers, chosen, made

COSTS = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 5.0, -1.0]])
PREDICTED = {
    "f1": partial(sk.f1_score, average="macro"),
    "f1:b": partial(sk.f1_score, labels=[1], average="macro"),
    "f2:c": partial(sk.fbeta_score, beta=2, labels=[2], average="macro"),
    "precision": partial(sk.precision_score, average="macro"),
    "precision:c": partial(sk.precision_score, labels=[2], average="macro"),
    "recall:c": partial(sk.recall_score, labels=[2], average="macro"),
    "recall": sk.balanced_accuracy_score,
    "balanced": sk.balanced_accuracy_score,
    "overall": sk.accuracy_score,
    "mcc": sk.matthews_corrcoef,
    "cost": lambda y, p, sample_weight=None: np.average(COSTS[y, p], weights=sample_weight),
}
SAID = {
    "brier": sk.brier_score_loss,
    "log-loss": sk.log_loss,
    "roc-auc": partial(sk.roc_auc_score, multi_class="ovr"),
    "roc-auc:c": lambda y, p, sample_weight=None: sk.roc_auc_score(y == 2, p[:, 2], sample_weight=sample_weight),
    "average-precision": lambda y, p, sample_weight=None: np.mean(
        [sk.average_precision_score(y == k, p[:, k], sample_weight=sample_weight) for k in range(3)]
    ),
    "average-precision:b": lambda y, p, sample_weight=None: sk.average_precision_score(
        y == 1, p[:, 1], sample_weight=sample_weight
    ),
}


def named(word):
    return metric_named(word, CLASSES, COSTS if word == "cost" else None)


def score(word, given: Answers, repeat: int, weights=None) -> float:
    if word in PREDICTED:
        return float(PREDICTED[word](given.classes, given.predicted[repeat], sample_weight=weights))
    return float(SAID[word](given.classes, given.chances[repeat], sample_weight=weights))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("word", [*PREDICTED, *SAID])
def test_values_and_influences_are_those_of_scikit_learn(word, weighted) -> None:
    given, own = answers(5, rows=300, folds=1), np.ones(300)
    if weighted:
        own = np.random.default_rng(1).gamma(2.0, size=300) * (np.arange(300) % 9 > 0)  # some count nothing
        given = replace(given, weights=3.0 * own)
    found = named(word).influence(given, JUDGED)
    value = np.mean([score(word, given, repeat, own) for repeat in range(2)])
    assert found.value == pytest.approx(value, abs=1e-12)
    for first, second in ((4, 7), (3, 200), (50, 123)):
        changes = []
        for place in (first, second):
            more = own.copy()
            more[place] *= 1 + 1e-4
            changes.append((np.mean([score(word, given, r, more) for r in range(2)]) - value) / 1e-4)
        moves = found.moves.mean(axis=0)
        step = np.abs(moves).max()  # a finite difference of 1e-4 is off by 1e-4 of what a doubled weight would move
        assert moves[first] - moves[second] == pytest.approx(changes[0] - changes[1], abs=1e-3 * step)


def test_whole_weights_are_copies() -> None:
    """Also of what scikit-learn has no name for: the worst part, points of curves, scorers."""
    given, often = two_classes(4, rows=120), np.random.default_rng(2).integers(0, 4, 120)
    copied = chosen(given, np.repeat(np.arange(120), often))
    classes, judged = Partition("class", given.classes, ("ok", "fraud")), Judged((0, 1), (0,))
    weighted = replace(given, weights=often.astype(float))
    for word in ("worst-class", "worst-group", "precision@recall=0.8", "recall@precision=0.5", "jaccard_macro"):
        metric = metric_named(word, classes)
        assert metric.value(weighted, judged) == pytest.approx(metric.value(copied, judged), abs=1e-12)
        assert metric.value(weighted.among(slice(1)), judged) == pytest.approx(
            metric.value(copied.among(slice(1)), judged), abs=1e-12
        )
    unable = metric_named(lambda model, X, y: float((model.predict(X) == y).mean()), classes)
    with pytest.raises(InputError, match="sample_weight"):
        unable.value(weighted, judged)


@pytest.mark.parametrize("word", ["roc-auc", "average-precision:b"])
def test_rankings_are_compared_within_folds(word) -> None:
    """The mean of scikit-learn's value over the folds, weighed by pairs or positives."""
    given = answers(6, rows=300)
    value = 0.0
    for repeat, k in np.ndindex(2, 3):
        if word == "average-precision:b" and k != 1:
            continue
        positive = given.classes == k
        folds = [np.flatnonzero(given.fold[repeat] == fold) for fold in range(5)]
        score_of = sk.roc_auc_score if word == "roc-auc" else sk.average_precision_score
        values = [score_of(positive[own], given.chances[repeat][own, k]) for own in folds]
        hits = np.array([positive[own].sum() for own in folds])
        weights = hits * (60 - hits) if word == "roc-auc" else hits
        value += np.average(values, weights=weights) / (6 if word == "roc-auc" else 2)
    assert metric_named(word, CLASSES).influence(given, JUDGED).value == pytest.approx(value, abs=1e-12)


def two_classes(seed: int, rows: int = 400) -> Answers:
    random = np.random.default_rng(seed)
    classes = (random.random(rows) < 0.15).astype(np.int64)
    fold = np.stack([random.permutation(np.arange(rows) % 5) for _ in range(2)])
    scores = np.zeros((2, rows, 2))
    scores[:, :, 1] = 2 * classes - 2 + random.standard_normal((2, rows))
    return made(scores, fold, classes, np.zeros_like(classes))


def test_threshold_moves_leave_rankings_alone() -> None:
    given, random = two_classes(0), np.random.default_rng(1)
    offsets = random.normal(size=(2, 5))[np.arange(2)[:, None], given.fold]
    scores = np.log(given.chances) + np.stack([np.zeros_like(offsets), offsets], axis=2)
    moved = made(scores, given.fold, given.classes, given.groups)
    classes = Partition("class", given.classes, ("ok", "fraud"))
    for word in ("roc-auc", "average-precision", "precision@recall=0.8", "recall@precision=0.5"):
        metric = metric_named(word, classes)
        assert gain(metric, moved, given, Judged((0, 1), (0,))).value == pytest.approx(0.0, abs=1e-12)


def test_at_least_is_the_best_point_of_the_curve() -> None:
    given = two_classes(2)
    given = Answers(
        given.right, np.zeros_like(given.fold), given.classes, given.groups, given.predicted, given.probabilities
    )
    classes = Partition("class", given.classes, ("ok", "fraud"))
    for word, bounded in (("precision@recall=0.7", False), ("recall@precision=0.4", True)):
        best = []
        for repeat in range(2):
            p, r, _ = sk.precision_recall_curve(given.classes == 1, given.probabilities[repeat, :, 1])
            best.append(r[:-1][p[:-1] >= 0.4].max(initial=0.0) if bounded else p[:-1][r[:-1] >= 0.7].max())
        metric = metric_named(word, classes)
        value = np.mean([metric.value_on(given, repeat, np.arange(400)) for repeat in range(2)])
        assert value == pytest.approx(np.mean(best), abs=1e-12)


def test_scorers_see_the_kept_answers() -> None:
    """By name, by object, with the user's own labels; the error of a resampled mean is that of the formula."""
    given = two_classes(3, rows=300)
    classes = Partition("class", given.classes, ("7", "10"))
    judged = Judged((0, 1), (0,))
    by_name = metric_named("precision_macro", classes)
    expected = np.mean([sk.precision_score(given.classes, given.predicted[r], average="macro") for r in range(2)])
    assert by_name.influence(given, judged).value == pytest.approx(expected, abs=1e-12)
    labels = np.array([7, 10])[given.classes]
    own = sk.make_scorer(sk.f1_score, pos_label=10)
    expected = np.mean([sk.f1_score(labels, np.array([7, 10])[given.predicted[r]], pos_label=10) for r in range(2)])
    assert metric_named(own, classes).influence(given, judged).value == pytest.approx(expected, abs=1e-12)
    resampled = estimate(
        metric_named(lambda model, X, y: float((model.predict(X) == y).mean()), classes), given, judged
    )
    exact = estimate(metric_named("accuracy", classes), given, judged)
    assert resampled.value == pytest.approx(exact.value, abs=1e-12)
    assert resampled.error == pytest.approx(
        exact.error, rel=0.3
    )  # the deviation of 100 draws is known to 7%; four of it


def test_names_say_which_class() -> None:
    two = Partition("class", np.array([0, 0, 1]), ("ok", "fraud"))
    names = {
        word: metric_named(word, two).name for word in ("f1", "precision", "recall", "average_precision", "roc-auc")
    }
    assert list(names.values()) == [
        "F1 of fraud",
        "precision of fraud",
        "recall of fraud",
        "average precision of fraud",
        "ROC AUC of fraud",
    ]
    assert metric_named("f1", CLASSES).name == "macro F1"
    assert metric_named("f1:macro", two).name == "macro F1"
    assert metric_named("precision@recall=0.80", two).name == "precision of fraud at recall 0.8"
    assert metric_named("balanced_accuracy", two).word == "balanced"


def test_costs_in_every_form() -> None:
    two = Partition("class", np.array([0, 0, 1]), ("ok", "fraud"))
    forms = [
        [[0, 1], [100, 0]],
        {"fraud": {"ok": 100}},
        {("fraud", "ok"): 100, ("ok", "fraud"): 1},
        "fraud:ok=100, ok:fraud=1",
        '{"fraud": {"ok": 100}}',
    ]
    made_of = {metric_named("cost", two, form) for form in forms}
    assert len(made_of) == 1
    (metric,) = made_of
    assert metric.costs == ((0.0, 1.0), (100.0, 0.0))
    assert metric_named(metric.word, two) == metric


@pytest.mark.parametrize(
    ("word", "costs", "words"),
    [
        ("f1:fruad", None, "did you mean fraud"),
        ("avarage-precision", None, "did you mean average-precision"),
        ("nothing like it", None, "a metric among"),
        ("precision@recall=1.5", None, "above 0 and up to 1"),
        ("cost", None, "costs for the metric"),
        ("cost", [[1, 2, 3]], "2 x 2 costs"),
        ("cost", {"fraud": {"no": 1}}, "costs of pairs"),
        ("cost", "fraud=1", "true:predicted=cost"),
        ("cost", [[0, np.nan], [1, 0]], "finite costs"),
        ("f1", [[0, 1], [1, 0]], "leave the costs out"),
        (sk.f1_score, None, "make_scorer"),
        (3, None, "make_scorer"),
    ],
)
def test_refusals(word, costs, words) -> None:
    with pytest.raises(InputError, match=words):
        metric_named(word, Partition("class", np.array([0, 0, 1]), ("ok", "fraud")), costs)


def test_a_scorer_that_fails_says_so() -> None:
    of_two_classes = metric_named(sk.make_scorer(sk.f1_score), CLASSES)
    with pytest.raises(InputError, match="the scorer f1 score to score 3 classes"):
        of_two_classes.influence(answers(0), JUDGED)


def test_metrics_of_probabilities_need_them() -> None:
    given = answers(0)
    bare = Answers(given.right, given.fold, given.classes, given.groups, given.predicted)
    for word in ("brier", "roc-auc"):
        with pytest.raises(InputError, match="predict_proba"):
            metric_named(word, CLASSES).influence(bare, JUDGED)
