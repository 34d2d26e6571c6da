"""Learners that balance classes by themselves: the prior they see, and remedies that count from there."""

import numpy as np
import pytest
from imblearn.ensemble import BalancedRandomForestClassifier
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.pipeline import make_pipeline as resampling_pipeline
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lopsided.core.partition import Partition
from lopsided.data.labelled_set import LabelledSet
from lopsided.learners.named_learner import takes_weights
from lopsided.remedies.class_weighting import ClassWeighting
from lopsided.remedies.learner_balance import by_codes, own_factors
from lopsided.remedies.logit_adjustment import LogitAdjustment
from lopsided.remedies.threshold_moving import ThresholdMoving

SIZES = np.array([950, 50])


def two_classes(seed=0) -> LabelledSet:
    codes = np.repeat([0, 1], SIZES)
    features = np.random.default_rng(seed).normal(size=(codes.size, 2)) + 1.5 * codes[:, None]
    return LabelledSet(np.arange(codes.size), Partition("class", codes, ("no", "yes")), None, features)


TRAINING = two_classes()
ADJUSTMENT = LogitAdjustment({"no": -np.log(0.95), "yes": -np.log(0.05)})


@pytest.mark.parametrize(
    ("learner", "ratio"),
    [
        (LogisticRegression(), None),
        (LogisticRegression(class_weight="balanced"), 19.0),
        (make_pipeline(StandardScaler(), LogisticRegression(class_weight={"no": 1, "yes": 7})), 7.0),
        (resampling_pipeline(StandardScaler(), SMOTE(), LogisticRegression()), 19.0),
        (resampling_pipeline(RandomOverSampler(sampling_strategy=0.5), LogisticRegression()), 9.5),
        (resampling_pipeline(SMOTE(), LogisticRegression(class_weight="balanced")), 19.0),
        (BalancedRandomForestClassifier(), 19.0),
    ],
)
def test_the_prior_that_it_sees(learner, ratio) -> None:
    factors, words = own_factors(by_codes(learner, TRAINING.classes.names), TRAINING)
    if ratio is None:
        assert factors is None
        assert words == ""
    else:
        assert factors[1] / factors[0] == pytest.approx(ratio)
        assert words.endswith("the classes")


BALANCED = [
    pytest.param(LogisticRegression(class_weight="balanced"), id="weights"),
    pytest.param(resampling_pipeline(SMOTE(random_state=0), LogisticRegression()), id="SMOTE"),
]


@pytest.mark.parametrize("learner", BALANCED)
def test_adjustment_does_not_count_the_prior_twice(learner) -> None:
    """Over a balanced learner nothing is left to adjust, and balanced accuracy stays; the offsets of the data's prior
    on top of it lose more than five points."""
    test = two_classes(1)
    alone = by_codes(learner, ("no", "yes")).fit(TRAINING.features, TRAINING.classes.codes)
    model = ADJUSTMENT.wrap(learner, seed=0).fit_set(TRAINING)
    np.testing.assert_allclose(model.offsets_, 0.0, atol=1e-12)  # logarithms of equal counts
    codes = test.classes.codes
    kept = balanced_accuracy_score(codes, model.predict(test.features))
    assert kept == balanced_accuracy_score(codes, alone.predict(test.features))
    twice = np.log(alone.predict_proba(test.features)) + ADJUSTMENT.class_offsets(TRAINING)
    assert balanced_accuracy_score(codes, twice.argmax(axis=1)) < kept - 0.05


def test_class_weights_over_class_weights_are_the_same_model() -> None:
    balanced = ClassWeighting({"no": 1000 / 1900, "yes": 10.0})
    once = balanced.wrap(LogisticRegression(), seed=0).fit_set(TRAINING)
    both = balanced.wrap(LogisticRegression(class_weight="balanced"), seed=0).fit_set(TRAINING)
    # lbfgs stops at a gradient of 1e-4
    np.testing.assert_allclose(both.estimator_.coef_, once.estimator_.coef_, rtol=1e-2)


def test_thresholds_are_tuned_from_the_prior_that_it_sees() -> None:
    plain = ThresholdMoving().wrap(LogisticRegression(), seed=0).fit_set(TRAINING)
    weighted = ThresholdMoving().wrap(LogisticRegression(class_weight="balanced"), seed=0).fit_set(TRAINING)
    test = two_classes(1)
    scores = [balanced_accuracy_score(test.classes.codes, one.predict(test.features)) for one in (plain, weighted)]
    # the recall of 50 positives has a standard error of 0.05, half of it here; thresholds differ within it
    assert abs(scores[0] - scores[1]) < 0.05
    assert abs(weighted.offsets_[1] - weighted.offsets_[0]) < 1.5  # and not log 19 = 2.9


def test_a_pipeline_that_resamples_takes_no_weights() -> None:
    assert not takes_weights(resampling_pipeline(SMOTE(), LogisticRegression()))
    assert takes_weights(make_pipeline(StandardScaler(), LogisticRegression()))
