"""The contract that every metric keeps. A metric in `METRICS` is tested here; nothing else is needed."""

import numpy as np
import pytest

from lopsided.measure.metrics import METRICS
from lopsided.measure.metrics.contract import Answers, Judged
from lopsided.measure.metrics.shares import class_recall, group_accuracy
from lopsided.measure.paired_scores import estimate, gain

ALL = {**METRICS, "recall of a class": class_recall("1", 1), "accuracy on a group": group_accuracy("b", 1)}
JUDGED = Judged((0, 1, 2), (0, 1))


def answers(seed: int, rows: int = 240, right: float = 0.7) -> Answers:
    random = np.random.default_rng(seed)
    classes = np.concatenate([np.arange(3), random.choice(3, rows - 3, p=[0.6, 0.3, 0.1])])
    groups = np.concatenate([np.arange(3) % 2, random.choice(2, rows - 3, p=[0.7, 0.3])])
    fold = np.stack([random.permutation(np.arange(rows) % 5) for _ in range(2)])
    return Answers(random.random((2, rows)) < right - 0.15 * classes + 0.05 * groups, fold, classes, groups)


@pytest.mark.parametrize("metric", ALL.values(), ids=list(ALL))
def test_the_value_is_a_share_and_the_influences_cancel(metric) -> None:
    found = metric.influence(answers(0), JUDGED)
    assert 0 <= found.value <= 1
    assert found.moves.shape == (2, 240)
    assert abs(found.moves.sum()) < 1e-12  # a sum of 480 numbers of size 0.01
    assert (found.unbiased >= 1).all()
    assert found.floor > 0
    assert metric.influence(Answers(np.ones((2, 240), bool), *_rest(0)), JUDGED).value == pytest.approx(1.0)
    assert metric.influence(Answers(np.zeros((2, 240), bool), *_rest(0)), JUDGED).value == pytest.approx(0.0)


def _rest(seed: int):
    found = answers(seed)
    return found.fold, found.classes, found.groups


@pytest.mark.parametrize("metric", ALL.values(), ids=list(ALL))
def test_influences_are_the_derivative(metric) -> None:
    """One more example like i moves the value by u_i (n - 1 of them are there already) to first order in 1/n: here by
    weighting the example twice, against the value of the data with it repeated."""
    given = answers(1, rows=600)
    found = metric.influence(given, JUDGED)
    moves = found.moves.mean(axis=0)
    for place in (5, 100, 333):
        chosen = np.append(np.arange(600), place)
        more = Answers(given.right[:, chosen], given.fold[:, chosen], given.classes[chosen], given.groups[chosen])
        change = metric.influence(more, JUDGED).value - found.value
        # the part of i grows from n_p to n_p + 1, so the change is u_i n_p / (n_p + 1): 1/n_p of it is lost, and parts
        # have 50 examples at least
        assert change == pytest.approx(moves[place], rel=0.03, abs=1e-9)


@pytest.mark.parametrize("metric", ALL.values(), ids=list(ALL))
def test_order_of_the_examples_does_not_matter(metric) -> None:
    given, order = answers(2), np.random.default_rng(3).permutation(240)
    shuffled = Answers(given.right[:, order], given.fold[:, order], given.classes[order], given.groups[order])
    first, second = estimate(metric, given, JUDGED), estimate(metric, shuffled, JUDGED)
    assert second.value == pytest.approx(first.value, abs=1e-12)
    assert second.error == pytest.approx(first.error, rel=1e-9)


@pytest.mark.parametrize("metric", ALL.values(), ids=list(ALL))
def test_an_arm_does_not_gain_on_itself(metric) -> None:
    given = answers(4)
    found = gain(metric, given, given, JUDGED)
    assert found.value == 0
    assert found.low < 0 < found.high


@pytest.mark.parametrize("metric", ALL.values(), ids=list(ALL))
def test_intervals_hold_the_truth(metric) -> None:
    """200 data sets of independent answers: 95% intervals hold the expected value in at least 89% (three standard
    errors of a share of 200 are 4.6%, and the lowest part is biased a little downwards)."""
    truth = metric.influence(answers(10_000, rows=200_000), JUDGED).value
    held = sum(
        found.low <= truth <= found.high
        for found in (estimate(metric, answers(seed, rows=900), JUDGED) for seed in range(200))
    )
    assert held >= 178
