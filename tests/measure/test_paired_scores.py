"""Metrics and intervals against brute force, closed forms and simulation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from lopsided.core.folds import deal
from lopsided.measure.metrics.contract import Answers, Judged, Metric, centred
from lopsided.measure.metrics.shares import BALANCED, OVERALL, WORST_CLASS, WORST_GROUP, class_recall
from lopsided.measure.paired_scores import estimate, gain, simultaneous

JUDGED = Judged((0, 1, 2), (0, 1))
SIZES = np.array([[40, 10], [30, 20], [9, 6]])


def some_answers(random, repeats=2, share=0.7) -> Answers:
    """Each example right by chance in every repeat."""
    classes = np.repeat(np.arange(3), SIZES.sum(axis=1))
    groups = np.concatenate([np.repeat([0, 1], row) for row in SIZES])
    fold = np.stack([deal(classes, groups, 5, 0, repeat) for repeat in range(repeats)])
    return Answers(random.random((repeats, classes.size)) < share, fold, classes, groups)


class Loss(Metric):
    """The mean of given losses, repeats x n."""

    def __init__(self, losses) -> None:
        self.losses, self.name, self.word = losses, "loss", "loss"

    bounds = (-np.inf, np.inf)

    def influence(self, answers, judged):
        n = answers.classes.size
        found = centred(float(self.losses.mean()), self.losses / n, np.full(n, 1.0 / n**2), answers)
        return replace(found, smooth=True)


def training_term(moves, fold) -> float:
    """What is left of the variance between folds once their examples are taken off, by loops."""
    values = [5 * moves[r][fold[r] == f].sum() for r in range(len(fold)) for f in range(5)]
    noise = np.mean([25 * np.square(moves[r][fold[r] == f]).sum() for r in range(len(fold)) for f in range(5)])
    return max(0.0, np.var(values, ddof=1) - noise) / 4


def test_metrics_are_shares_of_all_answers() -> None:
    answers = some_answers(np.random.default_rng(0))
    recalls = np.array([answers.right[:, answers.classes == code].mean() for code in range(3)])
    accuracies = np.array([answers.right[:, answers.groups == code].mean() for code in range(2)])
    expected = {
        OVERALL: answers.right.mean(),
        BALANCED: recalls.mean(),
        WORST_CLASS: recalls.min(),
        WORST_GROUP: accuracies.min(),
        class_recall("x", 1): recalls[1],
    }
    for metric, value in expected.items():
        assert estimate(metric, answers, JUDGED).value == pytest.approx(value, abs=1e-12)  # rounding only


def test_interval_is_the_paired_t_over_examples() -> None:
    """Overall accuracy: the textbook paired t of the examples' differences, with the variance that training adds and
    one changed answer."""
    random = np.random.default_rng(1)
    arm, plain = some_answers(random), some_answers(random)
    difference = arm.right.mean(axis=0) - plain.right.mean(axis=0)
    textbook = stats.ttest_1samp(difference, 0.0)
    changes = arm.right.astype(float) - plain.right
    training = training_term((changes - difference.mean()) / difference.size, arm.fold)
    error = np.sqrt(difference.var(ddof=1) / difference.size + training + 1 / difference.size**2)
    found = gain(OVERALL, arm, plain, JUDGED)
    assert found.value == pytest.approx(difference.mean(), abs=1e-12)
    assert found.error == pytest.approx(error, rel=1e-12)
    assert found.degrees == textbook.df
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, difference.size - 1) * error, rel=1e-12)
    low, high = found.within(2.0)
    assert (found.value - low, high - found.value) == pytest.approx((2 * error, 2 * error), rel=1e-12)


@pytest.mark.parametrize(
    ("correlation", "degrees", "expected"),
    [
        (0.0, np.inf, stats.norm.ppf(0.95 ** (1 / 6))),  # independent: all six below q with a chance of Phi(q)^6
        (1.0, np.inf, stats.norm.ppf(0.95)),  # one and the same number
        (1.0, 9, stats.t.ppf(0.95, 9)),
    ],
)
def test_the_interval_for_all_at_once_knows_how_errors_go_together(correlation, degrees, expected) -> None:
    deviations = np.array([0.1, 0.2, 0.3, 1.0, 2.0, 5.0])
    errors = ((1 - correlation) * np.eye(6) + correlation) * np.outer(deviations, deviations)
    # 20,000 draws: the standard error of a 95% quantile is about 0.02
    assert simultaneous(errors, degrees) == pytest.approx(expected, abs=0.06)


def test_balanced_error_adds_up_over_classes() -> None:
    random = np.random.default_rng(2)
    arm, plain = some_answers(random), some_answers(random)
    difference = arm.right.mean(axis=0) - plain.right.mean(axis=0)
    parts = [difference[arm.classes == code] for code in range(3)]
    variance = sum(part.var(ddof=1) / part.size for part in parts) / 9
    floor = sum(1 / (9 * part.size * difference.size) for part in parts)
    means = np.array([part.mean() for part in parts])[arm.classes]
    moves = (arm.right.astype(float) - plain.right - means) / (3 * np.bincount(arm.classes)[arm.classes])
    found = gain(BALANCED, arm, plain, JUDGED)
    assert found.error == pytest.approx(np.sqrt(variance + training_term(moves, arm.fold) + floor), rel=1e-12)


def test_errors_cover_chance() -> None:
    """Two arms that answer at random, over 400 draws: 95% intervals leave out zero in at most 5% of them, give or take
    three binomial standard errors, and in some, or they would be idle."""
    random = np.random.default_rng(3)
    out = 0
    for _ in range(400):
        found = gain(BALANCED, some_answers(random), some_answers(random), JUDGED)
        out += not found.low <= 0 <= found.high
    assert 0 < out <= 400 * 0.05 + 3 * np.sqrt(400 * 0.05 * 0.95)


def test_folds_that_swing_together_widen_the_interval() -> None:
    """The same changed answers, spread over folds or all in one: the latter is a model's doing, not its examples'."""
    answers = some_answers(np.random.default_rng(4), repeats=1, share=0.0)
    spread, lumped = answers.right.copy(), answers.right.copy()
    inside = np.flatnonzero(answers.fold[0] == 2)[:15]
    lumped[0, inside] = True
    for number in range(5):
        spread[0, np.flatnonzero(answers.fold[0] == number)[:3]] = True
    errors = [
        gain(OVERALL, Answers(right, answers.fold, answers.classes, answers.groups), answers, JUDGED).error
        for right in (spread, lumped)
    ]
    assert errors[1] > 1.5 * errors[0]


def test_errors_of_a_smooth_loss_hold_what_training_sets_add() -> None:
    """Every example adds t_j to the loss of all that are tested by a model trained on it. The mean loss then has the
    variance n (s^2 / n^2 + (4/5)^2 v^2) over data sets, s and v the deviations of single losses and of t."""
    random, n, own, effect = np.random.default_rng(5), 100, 1.0, 0.05
    found = []
    for _ in range(300):
        given = some_answers(random, repeats=3)
        kept = np.arange(n) % given.classes.size
        fold = given.fold[:, kept]
        moved = effect * random.standard_normal(n)
        trained = np.stack([moved.sum() - np.bincount(row, weights=moved)[row] for row in fold])
        losses = own * random.standard_normal(n) + trained
        answers = Answers(losses > 0, fold, given.classes[kept], given.groups[kept])
        found.append(estimate(Loss(losses), answers, JUDGED).error ** 2)
    expected = own**2 / n + 0.8**2 * n * effect**2
    # the mean of 300 estimates is known to 4%
    assert np.mean(found) == pytest.approx(expected, rel=0.12)


def test_equal_answers_have_no_gain_to_within_a_changed_answer() -> None:
    answers = some_answers(np.random.default_rng(2))
    found = gain(OVERALL, answers, answers, JUDGED)
    assert (found.value, found.p) == (0.0, 1.0)
    assert found.error == pytest.approx(1 / answers.classes.size)


def test_few_examples_are_no_certainty() -> None:
    """Five examples, always wrong before and always right after: certain only to within one answer."""
    classes = np.zeros(5, dtype=np.int64)
    wrong = np.zeros((2, 5), dtype=bool)
    fold = np.tile(np.arange(5), (2, 1))
    before, after = Answers(wrong, fold, classes, classes), Answers(~wrong, fold, classes, classes)
    found = gain(WORST_CLASS, after, before, Judged((0,), (0,)))
    assert found.value == 1.0
    assert found.error == pytest.approx(1 / 5)
    assert found.low < 0.5


@pytest.mark.parametrize("folds", [2, 5, 7])
def test_deal_is_even_in_every_class_and_cell(folds) -> None:
    random = np.random.default_rng(3)
    classes, groups = random.integers(0, 4, 203), random.integers(0, 3, 203)
    fold = deal(classes, groups, folds, 0, 0)
    for code in range(4):
        counts = np.bincount(fold[classes == code], minlength=folds)
        assert counts.max() - counts.min() <= 1
        for group in range(3):
            cells = np.bincount(fold[(classes == code) & (groups == group)], minlength=folds)
            assert cells.max() - cells.min() <= 1
    assert (fold != deal(classes, groups, folds, 0, 1)).any()
    np.testing.assert_array_equal(fold, deal(classes, groups, folds, 0, 0))
