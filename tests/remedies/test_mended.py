"""The classifier with a remedy around it, against doing the same by hand."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from lopsided.core.errors import InputError
from lopsided.remedies.class_weighting import ClassWeighting
from lopsided.remedies.group_weighting import GroupWeighting
from lopsided.remedies.logit_adjustment import LogitAdjustment
from lopsided.remedies.mended import MendedClassifier, shifted
from lopsided.remedies.noisy_oversampling import NoisyOversampling
from lopsided.remedies.oversampling import Oversampling
from lopsided.remedies.plain import Plain
from lopsided.remedies.threshold_moving import ThresholdMoving


@pytest.fixture(scope="module")
def sample():
    random = np.random.default_rng(0)
    labels = np.repeat(["cat", "dog"], [90, 10])
    features = random.standard_normal((100, 3)) + (labels == "dog")[:, None]
    return features, labels


def test_nothing_asked_is_plain(sample) -> None:
    features, labels = sample
    mended = MendedClassifier(LogisticRegression(), None).fit(features, labels)
    plain = LogisticRegression().fit(features, labels)
    np.testing.assert_array_equal(mended.predict(features), plain.predict(features))
    np.testing.assert_allclose(mended.predict_proba(features), plain.predict_proba(features), atol=1e-12)


def test_whole_rates_are_weights_and_copies(sample) -> None:
    """Rate 3 on a class, weight 3 on it and three copies by hand give one optimum (Proposition 1 of Fang et al.).

    Weights have mean 1, so the penalty of the loss's sum is rescaled to match.
    """
    features, labels = sample
    copies = np.concatenate([np.arange(100), np.repeat(np.flatnonzero(labels == "dog"), 2)])
    by_hand = LogisticRegression(tol=1e-10).fit(features[copies], labels[copies])
    rated = Oversampling({"dog": 3.0}).wrap(LogisticRegression(tol=1e-10)).fit(features, labels)
    # 1e-6: both descend to a gradient of 1e-10, in another order of examples
    np.testing.assert_allclose(rated.estimator_.coef_, by_hand.coef_, atol=1e-6)
    strength = 1.2  # mean weight: (90 + 3 * 10) / 100
    weighted = ClassWeighting({"dog": 3.0}).wrap(LogisticRegression(tol=1e-10, C=strength))
    np.testing.assert_allclose(weighted.fit(features, labels).estimator_.coef_, by_hand.coef_, atol=1e-6)


def test_offsets_move_the_threshold(sample) -> None:
    features, labels = sample
    offset = 1.5
    moved = LogitAdjustment({"dog": offset}).wrap(LogisticRegression()).fit(features, labels)
    plain = LogisticRegression().fit(features, labels)
    threshold = 1 / (1 + np.exp(offset))  # p e^o > 1 - p
    expected = plain.predict_proba(features)[:, 1] > threshold
    np.testing.assert_array_equal(moved.predict(features) == "dog", expected)
    np.testing.assert_allclose(moved.predict_proba(features).sum(axis=1), 1.0, atol=1e-12)


def test_noise_moves_only_copies(sample) -> None:
    features, labels = sample

    class Remember(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            self.seen_ = X
            return super().fit(X, y, sample_weight)

    noisy = NoisyOversampling({"dog": 4.0}, noise=0.5).wrap(Remember(), seed=1).fit(features, labels)
    seen = noisy.estimator_.seen_
    assert seen.shape[0] == 130
    originals = {tuple(row) for row in features}
    assert sum(tuple(row) in originals for row in seen) == 100
    again = NoisyOversampling({"dog": 4.0}, noise=0.5).wrap(Remember(), seed=1).fit(features, labels)
    np.testing.assert_array_equal(seen, again.estimator_.seen_)


def test_tuning_finds_the_small_class(sample) -> None:
    features, labels = sample
    recall = {}
    for tuned, remedy in ((None, Plain()), ("balanced", ThresholdMoving(tuned_for="balanced"))):
        fitted = remedy.wrap(LogisticRegression()).fit(features, labels)
        recall[tuned] = np.mean(fitted.predict(features)[labels == "dog"] == "dog")
    assert recall["balanced"] > recall[None]


def test_group_weights_need_groups(sample) -> None:
    with pytest.raises(InputError, match="groups"):
        GroupWeighting("group", {"a": 2.0}).wrap().fit(*sample)


def test_learners_without_weights_or_probabilities_say_so(sample) -> None:
    with pytest.raises(InputError, match="sample_weight"):
        ClassWeighting({"dog": 2.0}).wrap(KNeighborsClassifier()).fit(*sample)


def test_it_clones(sample) -> None:
    made = Oversampling({"dog": 2.0}).wrap(LogisticRegression(), seed=3)
    copied = clone(made).get_params(deep=False)
    assert copied["remedy"] == Oversampling({"dog": 2.0})
    assert copied["seed"] == 3


def test_shift_is_bayes_rule() -> None:
    random = np.random.default_rng(4)
    chances, offsets = random.dirichlet(np.ones(4), 20), random.standard_normal(4)
    expected = chances * np.exp(offsets)
    np.testing.assert_allclose(shifted(chances, offsets), expected / expected.sum(axis=1, keepdims=True), atol=1e-14)
