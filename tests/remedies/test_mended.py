"""The classifier with a remedy around it, against doing the same by hand."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lopsided.checkup.mended import MendedClassifier
from lopsided.core.errors import InputError
from lopsided.remedies.class_weighting import ClassWeighting
from lopsided.remedies.group_weighting import GroupWeighting
from lopsided.remedies.logit_adjustment import LogitAdjustment
from lopsided.remedies.mended import shifted
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


# --- by name, and as scikit-learn's users expect


@pytest.mark.parametrize("written", ["logit adjustment", "Logit-Adjustment", "logit_adjustment"])
def test_remedies_by_name_are_those_of_the_data(sample, written) -> None:
    features, labels = sample
    named = MendedClassifier(LogisticRegression(), written).fit(features, labels)
    assert named.remedy_.name == "logit adjustment"
    assert named.recommendation_ is None
    # offsets are minus the logs of the classes' shares, up to a constant: ln 9 lies between 90 and 10 examples
    assert named.offsets_[1] - named.offsets_[0] == pytest.approx(np.log(9.0), abs=1e-12)


def test_misspelt_names_get_the_nearest(sample) -> None:
    with pytest.raises(InputError, match="did you mean 'class weights'"):
        MendedClassifier(LogisticRegression(), "clas weights").fit(*sample)


def test_even_classes_have_nothing_to_mend(sample) -> None:
    features, labels = sample
    model = MendedClassifier(LogisticRegression(), "class weights").fit(features[80:], labels[80:])
    assert model.remedy_ == Plain()
    assert "equal in size" in model.why_


def test_samplers_are_remedies(sample) -> None:
    sampler = pytest.importorskip("imblearn.over_sampling").RandomOverSampler(random_state=0)
    features, labels = sample
    mended = MendedClassifier(LogisticRegression(), sampler).fit(features, labels)
    by_hand = LogisticRegression().fit(*sampler.fit_resample(features, labels))
    np.testing.assert_allclose(mended.predict_proba(features), by_hand.predict_proba(features), atol=1e-12)


@pytest.mark.parametrize("name", ["logit adjustment", "class weights", "threshold moving"])
def test_a_weight_is_that_many_rows(sample, name) -> None:
    """Weights 1 and 2 on plain arrays are copies of rows (threshold moving tunes on folds, which differ a little)."""
    features, labels = sample
    times = np.random.default_rng(1).integers(1, 3, size=labels.size)
    copies = np.repeat(np.arange(labels.size), times)
    weighted = MendedClassifier(LogisticRegression(tol=1e-10), name).fit(features, labels, sample_weight=times)
    repeated = MendedClassifier(LogisticRegression(tol=1e-10), name).fit(features[copies], labels[copies])
    if name == "threshold moving":
        assert abs(weighted.offsets_ - repeated.offsets_).max() < 1.5
        return
    # 1e-6: both descend to a gradient of 1e-10, in another order of examples
    np.testing.assert_allclose(weighted.predict_proba(features), repeated.predict_proba(features), atol=1e-6)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"y": np.repeat("a", 100)}, "one class"),
        ({"y": np.repeat(["a", None], 50)}, "missing"),
        ({"sample_weight": np.full(100, np.nan)}, "finite weights"),
        ({"sample_weight": np.ones(7)}, "one entry of sample_weight"),
        ({"sample_weight": np.repeat("x", 100)}, "numbers in sample_weight"),
        ({"groups": ["a"]}, "one group for each"),
    ],
)
def test_bad_data_get_a_sentence(sample, given, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        MendedClassifier(LogisticRegression(), None).fit(**({"X": sample[0], "y": sample[1]} | given))


def test_labels_come_back_as_they_were(sample) -> None:
    features, labels = sample
    for given in (labels.astype(object), (labels == "dog").astype(int), labels == "dog"):
        predicted = MendedClassifier(LogisticRegression(), "logit adjustment").fit(features, given).predict(features)
        assert set(predicted.tolist()) == set(np.unique(given).tolist())


def test_weights_are_routed(sample) -> None:
    features, labels = sample
    weights = np.where(labels == "dog", 9.0, 1.0)
    with config_context(enable_metadata_routing=True):
        mended = MendedClassifier(LogisticRegression(), None).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        whole = make_pipeline(scaler, mended).fit(features, labels, sample_weight=weights)
        by_hand = make_pipeline(scaler, LogisticRegression().set_fit_request(sample_weight=True))
        by_hand.fit(features, labels, sample_weight=weights)
        inside = MendedClassifier("logistic", "class weights").fit(features, labels)  # passes weights to a pipeline
    outside = MendedClassifier("logistic", "class weights").fit(features, labels)
    np.testing.assert_array_equal(inside.predict_proba(features), outside.predict_proba(features))
    np.testing.assert_allclose(whole.predict_proba(features), by_hand.predict_proba(features), atol=1e-12)


def test_without_probabilities_there_are_none(sample) -> None:
    model = MendedClassifier(RidgeClassifier(), "class weights").fit(*sample)
    assert not hasattr(model, "predict_proba")
    assert set(model.predict(sample[0])) == {"cat", "dog"}
