"""Margins, ranks and nearest means against scikit-learn and loops that leave examples out one by one."""

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from lopsided.core.errors import InputError
from lopsided.core.folds import deal
from lopsided.measure.class_overlap import class_overlap
from lopsided.measure.class_separation import adjusted_recalls, class_aucs, class_margins, nearest_recalls


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    codes = random.permutation(np.repeat(np.arange(4), [150, 60, 20, 5]))
    logits = np.round(random.normal(size=(codes.size, 4)) + np.eye(4)[codes], 1)  # rounded: ties
    return random.normal(size=(codes.size, 3)) + codes[:, None], logits, codes


def test_aucs_are_the_mean_over_other_classes(rows) -> None:
    _, logits, codes = rows
    for k, found in enumerate(class_aucs(logits, codes)):
        pairs = [
            roc_auc_score(codes[both] == k, logits[both, k])
            for j in range(4)
            if j != k
            for both in [(codes == k) | (codes == j)]
        ]
        assert found == pytest.approx(np.mean(pairs), abs=1e-12)  # rounding of sums of a few hundred terms


def test_margins_and_adjusted_recalls(rows) -> None:
    _, logits, codes = rows
    counts = np.bincount(codes).astype(float)
    for k in range(4):
        own = logits[codes == k]
        others = np.delete(own, k, axis=1).max(axis=1)
        assert class_margins(logits, codes)[k] == pytest.approx((own[:, k] - others).mean(), abs=1e-12)
        right = ((own - np.log(counts)).argmax(axis=1) == k).mean()
        assert adjusted_recalls(logits, codes, counts)[k] == pytest.approx(right, abs=1e-15)


def test_nearest_means_leave_each_example_out(rows) -> None:
    features, _, codes = rows
    means = np.array([features[codes == k].mean(axis=0) for k in range(4)])
    right = []
    for i, k in enumerate(codes):
        rest = (codes == k) & (np.arange(codes.size) != i)
        moved = np.where(np.arange(4)[:, None] == k, features[rest].mean(axis=0), means)
        right.append(np.square(features[i] - moved).sum(axis=1).argmin() == k)
    found = nearest_recalls(features, codes, means, np.bincount(codes))
    assert found == pytest.approx([np.mean(np.array(right)[codes == k]) for k in range(4)], abs=1e-15)


def test_a_class_of_one_example_or_none() -> None:
    features, codes = np.array([[0.0], [0.2], [5.0]]), np.array([0, 0, 1])
    means = np.array([[0.1], [5.0], [np.nan]])
    found = nearest_recalls(features, codes, means, np.array([2, 1, 0]))
    assert found[:2].tolist() == [1.0, 0.0]
    assert np.isnan(found[2])
    assert np.isnan(class_aucs(np.zeros((2, 3)), np.array([1, 1]))).all()
    assert np.isnan(nearest_recalls(features, codes, np.full((3, 1), np.nan))).all()


def test_overlap_is_that_of_a_neighbour_search_and_does_not_depend_on_the_order(rows) -> None:
    features, _, codes = rows
    found = class_overlap(features, codes)
    near = KNeighborsClassifier(2).fit(features, codes).kneighbors(features, return_distance=False)[:, 1]
    right = codes[near] == codes
    assert found.nearest_neighbour == pytest.approx([right[codes == k].mean() for k in range(4)], abs=1e-15)
    order = np.random.default_rng(1).permutation(codes.size)
    again = class_overlap(features[order], codes[order])
    for name in ("nearest_mean", "nearest_neighbour"):
        assert getattr(again, name) == pytest.approx(getattr(found, name), abs=1e-12)
    # the linear rule deals folds anew: a class of 150 may change by a few examples
    assert again.linear[0] == pytest.approx(found.linear[0], abs=0.05)


def test_the_linear_rule_is_that_of_scikit_learn_on_the_folds() -> None:
    random = np.random.default_rng(0)
    codes = np.repeat(np.arange(4), [60, 30, 10, 5])
    features = random.normal(size=(codes.size, 12)) @ random.normal(size=(12, 12)) + 3 * np.eye(12)[codes]
    fold = deal(codes, None, 5, 0, 0)
    right = np.zeros(codes.size)
    for number in range(5):
        train, test = fold != number, fold == number
        means = np.stack([features[train & (codes == k)].mean(axis=0) for k in range(4)])
        covariance, _ = ledoit_wolf(features[train] - means[codes[train]], assume_centered=True)
        rule = np.linalg.solve(covariance, means.T)
        scores = features[test] @ rule - (means.T * rule).sum(axis=0) / 2 + np.log(np.bincount(codes[train]))
        right[test] = scores.argmax(axis=1) == codes[test]
    expected = [right[codes == k].mean() for k in range(4)]
    assert class_overlap(features, codes).linear == pytest.approx(expected, abs=1e-15)


def test_classes_without_spread_are_told_apart() -> None:
    found = class_overlap(np.repeat(np.eye(3), 10, axis=0), np.repeat(np.arange(3), 10))
    assert found.linear.tolist() == found.nearest_mean.tolist() == [1.0, 1.0, 1.0]


def test_bad_labels_and_inputs_are_refused() -> None:
    with pytest.raises(InputError, match="labels coded"):
        class_overlap(np.zeros((3, 2)), np.array([0.0, 1.0, 2.0]))
    with pytest.raises(InputError, match="finite inputs"):
        class_overlap(np.full((2, 2), np.nan), np.array([0, 1]))
