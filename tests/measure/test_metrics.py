"""The contract that every metric keeps. A metric in `METRICS` is tested here; nothing else is needed."""

import numpy as np
import pytest

from lopsided.core.partition import Partition
from lopsided.measure.metrics import METRICS
from lopsided.measure.metrics.contract import Answers, Judged
from lopsided.measure.metrics.named import metric_named
from lopsided.measure.metrics.resampled import ResampledMetric
from lopsided.measure.metrics.shares import class_recall, group_accuracy
from lopsided.measure.paired_scores import estimate, gain

JUDGED = Judged((0, 1, 2), (0, 1))
NAMES = ("a", "b", "c")
CLASSES = Partition("class", np.repeat(np.arange(3), [6, 3, 1]), NAMES)
WORDS = ["f1", "f1:b", "f0.5:c", "precision", "precision:a", "average-precision", "average-precision:c", "roc-auc"]
WORDS += ["roc-auc:b", "precision@recall=0.8", "recall@precision=0.5:b", "cost:[[0, 1, 2], [3, 0, 1], [9, 5, -1]]"]
ALL = {
    **METRICS,
    **{word: metric_named(word, CLASSES) for word in [*WORDS, "neg_log_loss"]},
    "recall of a class": class_recall("1", 1),
    "accuracy on a group": group_accuracy("b", 1),
}
SMOOTH = {word: metric for word, metric in ALL.items() if not isinstance(metric, ResampledMetric)}


def answers(seed: int, rows: int = 240, folds: int = 5) -> Answers:
    """Three classes that overlap; those of group 1 are a little easier."""
    random = np.random.default_rng(seed)
    classes = np.concatenate([np.arange(3), random.choice(3, rows - 3, p=[0.6, 0.3, 0.1])])
    groups = np.concatenate([np.arange(3) % 2, random.choice(2, rows - 3, p=[0.7, 0.3])])
    fold = np.stack([random.permutation(np.arange(rows) % folds) for _ in range(2)])
    scores = random.standard_normal((2, rows, 3)) + (1.5 + 0.3 * groups)[:, None] * np.eye(3)[classes]
    return made(scores, fold, classes, groups)


def made(scores, fold, classes, groups) -> Answers:
    """Answers of a model that says the softmax of the scores."""
    chances = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
    predicted = chances.argmax(axis=2)
    return Answers(predicted == classes, fold, classes, groups, predicted, chances.astype(np.float32))


def chosen(given: Answers, rows) -> Answers:
    return Answers(
        given.right[:, rows],
        given.fold[:, rows],
        given.classes[rows],
        given.groups[rows],
        given.predicted[:, rows],
        given.probabilities[:, rows],
    )


def sure(given: Answers, predicted) -> Answers:
    """The same examples, answered with certainty."""
    predicted = np.tile(predicted, (2, 1))
    chances = np.eye(3, dtype=np.float32)[predicted]
    return Answers(predicted == given.classes, given.fold, given.classes, given.groups, predicted, chances)


@pytest.mark.parametrize("metric", ALL.values(), ids=list(ALL))
def test_the_value_is_between_right_and_wrong_answers_and_the_influences_cancel(metric) -> None:
    given = answers(0)
    found = metric.influence(given, JUDGED)
    low, high = metric.bounds
    assert low <= found.value <= high
    assert found.moves.shape == (2, 240)
    assert abs(found.moves.sum()) < 1e-11  # a sum of 480 numbers of size 0.01, costs up to 9
    assert (found.unbiased >= 1).all()
    assert found.floor > 0
    for wrong, side in ((0, 1), (1, -1)):
        other = sure(given, (given.classes + wrong) % 3)
        assert side * gain(metric, other, given, JUDGED).value > 0.005
        value = metric.influence(other, JUDGED).value
        assert side * (value - found.value) * (1 if metric.larger_is_better else -1) > 0.005


@pytest.mark.parametrize("metric", METRICS.values(), ids=list(METRICS))
def test_a_word_finds_its_metric(metric) -> None:
    assert METRICS[metric.word] is metric
    assert metric_named(metric.word, CLASSES) is metric


@pytest.mark.parametrize("word", WORDS)
def test_a_metric_is_found_again_by_its_word(word) -> None:
    """Tasks in other processes know it by that alone."""
    assert metric_named(ALL[word].word, CLASSES) == ALL[word]


@pytest.mark.parametrize("metric", SMOOTH.values(), ids=list(SMOOTH))
def test_influences_are_the_derivative(metric) -> None:
    """An example that becomes a copy of another one of its class and group moves the value by the difference of their
    influences, to first order in 1/n."""
    given = answers(1, rows=3000, folds=1)
    found = metric.influence(given, JUDGED)
    moves = found.moves.mean(axis=0)
    for place in (5, 100, 333, 666):
        alike = np.flatnonzero((given.classes == given.classes[place]) & (given.groups == given.groups[place]))
        rows = np.arange(3000)
        rows[alike[-1]] = place
        change = metric.influence(chosen(given, rows), JUDGED).value - found.value
        # second order: the smallest part has about 90 examples, so 1/90 of the largest influences of a part
        assert change == pytest.approx(moves[place] - moves[alike[-1]], rel=0.03, abs=2 * np.abs(moves).max() / 90)


@pytest.mark.parametrize("metric", ALL.values(), ids=list(ALL))
def test_order_of_the_examples_does_not_matter(metric) -> None:
    given, order = answers(2), np.random.default_rng(3).permutation(240)
    first, second = estimate(metric, given, JUDGED), estimate(metric, chosen(given, order), JUDGED)
    assert second.value == pytest.approx(first.value, abs=1e-12)
    # other resamples: the deviations of 100 are known to 7% each, and four standard errors of a ratio are 40%
    assert second.error == pytest.approx(first.error, rel=0.4 if isinstance(metric, ResampledMetric) else 1e-9)


@pytest.mark.parametrize("word", [*METRICS, *WORDS])
def test_names_of_classes_do_not_matter(word) -> None:
    """Classes in another order, under other names: the same value and error."""
    if word == "cost:[[0, 1, 2], [3, 0, 1], [9, 5, -1]]":
        other = "cost:[[-1, 5, 9], [1, 0, 3], [2, 1, 0]]"
    else:
        other = word.replace(":a", ":z").replace(":c", ":x").replace(":b", ":y")
    given, turn = answers(2), np.array([2, 1, 0])
    renamed = Answers(
        given.right,
        given.fold,
        turn[given.classes],
        given.groups,
        turn[given.predicted],
        given.probabilities[:, :, turn],
    )
    names = Partition("class", turn[CLASSES.codes], ("x", "y", "z"))
    first = estimate(metric_named(word, CLASSES), given, JUDGED)
    second = estimate(metric_named(other, names), renamed, JUDGED)
    assert second.value == pytest.approx(first.value, abs=1e-12)
    resampled = isinstance(ALL[word], ResampledMetric)
    assert second.error == pytest.approx(first.error, rel=0.4 if resampled else 1e-9)  # as above


@pytest.mark.parametrize("metric", ALL.values(), ids=list(ALL))
def test_an_arm_does_not_gain_on_itself(metric) -> None:
    given = answers(4)
    found = gain(metric, given, given, JUDGED)
    assert found.value == 0
    assert found.low < 0 < found.high


@pytest.mark.parametrize("metric", SMOOTH.values(), ids=list(SMOOTH))
def test_intervals_hold_the_truth(metric) -> None:
    """100 data sets of independent answers: 95% intervals hold the expected value in at least 88% (three standard
    errors of a share of 100 are 6.5%, and the lowest part is biased a little downwards)."""
    truth = metric.influence(answers(10_000, rows=100_000), JUDGED).value
    held = sum(
        found.low <= truth <= found.high
        for found in (estimate(metric, answers(seed, rows=900), JUDGED) for seed in range(100))
    )
    assert held >= 88
