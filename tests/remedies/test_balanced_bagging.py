"""Balanced bagging: copies of the learner, and for boosting single random trees, on equally many examples per class."""

import numpy as np
import pytest

from lopsided.learners.random_trees import RandomTrees
from lopsided.remedies.balanced_bagging import LEAST_IN_BAG, AveragedModels, BalancedBagging

SIZES = (90, 12, 5)


@pytest.fixture(scope="module")
def sample():
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], SIZES)
    return random.standard_normal((labels.size, 3)) + 3.0 * np.eye(3)[labels], labels


@pytest.fixture(scope="module")
def forest(sample):
    return BalancedBagging().wrap("boosting", seed=3).fit(*sample)


def test_boosting_is_bagged_as_single_random_trees(sample, forest) -> None:
    """A bootstrap of every class as large as the smallest class: no least size as for other learners."""
    trees = forest.estimator_.trees
    assert isinstance(forest.estimator_, RandomTrees)
    assert len(trees) == 100
    assert {tree.max_features_ for tree in trees} == {1}  # the root of three columns
    for tree in trees:
        assert tree.tree_.weighted_n_node_samples[0] == 3 * SIZES[-1]
        np.testing.assert_allclose(tree.tree_.value[0, 0], 1 / 3)
    features, labels = sample
    assert np.mean([np.mean(forest.predict(features)[labels == code] == code) for code in range(3)]) > 0.8
    by_hand = np.mean([tree.predict_proba(features) for tree in trees], axis=0)
    np.testing.assert_array_equal(forest.estimator_.predict_proba(features), by_hand)


def test_other_learners_are_bagged_themselves(sample) -> None:
    """A tree of the user's own too: its settings are his."""
    for learner in ("logistic", "sklearn.tree:DecisionTreeClassifier"):
        fitted = BalancedBagging().wrap(learner, seed=3).fit(*sample).estimator_
        assert isinstance(fitted, AveragedModels)
        assert len(fitted.models) == BalancedBagging.bags
    assert fitted.models[0].tree_.weighted_n_node_samples[0] == 3 * LEAST_IN_BAG


def test_rows_of_weight_zero_count_for_nothing(sample) -> None:
    features, labels = sample
    rows = np.arange(labels.size) % 4 > 0
    mended = BalancedBagging().wrap("boosting", seed=3)
    without = mended.fit(features[rows], labels[rows]).predict_proba(features)
    again = mended.fit(features, labels, sample_weight=rows.astype(float)).predict_proba(features)
    np.testing.assert_array_equal(again, without)


def test_missing_and_huge_values_pass(sample) -> None:
    """Boosting takes both; trees compute in single precision, where 1e300 is infinite."""
    features, labels = sample[0].copy(), sample[1]
    features[::7, 0], features[1, 1] = np.nan, 1e300
    chances = BalancedBagging().wrap("boosting", seed=3).fit(features, labels).predict_proba(features)
    # a mean of a hundred shares, each with a sum of 1 to the last digit
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-12)
