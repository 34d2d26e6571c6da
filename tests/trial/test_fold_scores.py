"""Metrics and intervals against brute force, closed forms and simulation."""

import numpy as np
import pytest
from scipy import stats

from lopsided.checkup.fold_scores import (
    BALANCED,
    OVERALL,
    WORST_CLASS,
    WORST_GROUP,
    Answers,
    Judged,
    class_recall,
    estimate,
    gain,
)
from lopsided.checkup.folds import deal

JUDGED = Judged((0, 1, 2), (0, 1))


def some_answers(random, folds=5, repeats=2, sizes=((40, 10), (30, 20), (9, 6))) -> Answers:
    """Binomial answers; the cells are dealt evenly over the folds."""
    whole = np.array(sizes, dtype=float)
    total = np.stack([whole / folds] * (folds * repeats))
    right = random.binomial(total.astype(int), 0.7).astype(float)
    return Answers(right, total, folds)


def test_metrics_are_shares_of_all_answers() -> None:
    answers = some_answers(np.random.default_rng(0))
    right, total = answers.right.sum(axis=0), answers.total.sum(axis=0)
    recalls = right.sum(axis=1) / total.sum(axis=1)
    accuracies = right.sum(axis=0) / total.sum(axis=0)
    expected = {
        OVERALL: right.sum() / total.sum(),
        BALANCED: recalls.mean(),
        WORST_CLASS: recalls.min(),
        WORST_GROUP: accuracies.min(),
        class_recall("x", 1): recalls[1],
    }
    for metric, value in expected.items():
        assert estimate(metric, answers, JUDGED).value == pytest.approx(value, abs=1e-12)  # rounding only


def test_interval_is_the_corrected_resampled_t() -> None:
    """With equal fold sizes the linearised values are the folds' own accuracies, so the textbook formula holds."""
    random = np.random.default_rng(1)
    arm, plain = some_answers(random), some_answers(random)
    difference = (arm.right - plain.right).sum(axis=(1, 2)) / plain.total.sum(axis=(1, 2))
    error = difference.std(ddof=1) * np.sqrt(1 / 10 + 1 / 4)  # J = 10, test size / training size = 1/4
    found = gain(OVERALL, arm, plain, JUDGED)
    assert found.value == pytest.approx(difference.mean(), abs=1e-12)
    assert found.error == pytest.approx(error, rel=1e-12)
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, 9) * error, rel=1e-12)
    low, _ = found.widened(4, 9)
    assert found.value - low == pytest.approx(stats.t.ppf(1 - 0.05 / 8, 9) * error, rel=1e-12)


def test_equal_answers_have_no_gain() -> None:
    answers = some_answers(np.random.default_rng(2))
    found = gain(BALANCED, answers, answers, JUDGED)
    assert (found.value, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_few_examples_are_no_certainty() -> None:
    """Five examples, always wrong before and always right after: certain only to within the binomial error."""
    total = np.zeros((10, 1, 1))
    total[::2] = 1.0  # five examples, each tested twice: two repeats of five folds
    before, after = Answers(np.zeros_like(total), total, 5), Answers(total.copy(), total, 5)
    found = gain(WORST_CLASS, after, before, Judged((0,), (0,)))
    share = 6 / 7
    assert found.value == 1.0
    assert found.error >= np.sqrt(share * (1 - share) / 5) - 1e-12
    assert found.low < 0.8


def test_folds_without_a_class_do_no_harm() -> None:
    """A class of three in five folds: its recall is that of its three examples."""
    total = np.zeros((5, 2, 1))
    total[:, 0] = 4.0
    total[:3, 1] = 1.0
    right = np.zeros_like(total)
    right[:, 0] = 3.0
    right[0, 1] = 1.0
    found = estimate(WORST_CLASS, Answers(right, total, 5), Judged((0, 1), (0,)))
    assert found.value == pytest.approx(1 / 3)


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
