"""Recalibrated probabilities: undo a known change of prior, keep decisions, never cost more than they bring."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss

from lopsided.checkup.mended import MendedClassifier
from lopsided.remedies.class_weighting import ClassWeighting
from lopsided.remedies.contract import Remedy
from lopsided.remedies.logit_adjustment import LogitAdjustment
from lopsided.remedies.recalibration import ISOTONIC_FROM, Recalibration
from tests.remedies.test_learner_balance import ADJUSTMENT, TRAINING, two_classes


def true_chances(rows, sharp=1.0, seed=0):
    random = np.random.default_rng(seed)
    chances = random.dirichlet([3.0, 1.0, 0.5], rows)
    return chances, (random.random(rows)[:, None] > chances.cumsum(axis=1)).sum(axis=1)


@pytest.mark.parametrize("rows", [3000, 40_000], ids=["scaled", "isotonic"])
def test_a_known_change_of_prior_is_undone(rows) -> None:
    chances, codes = true_chances(rows)
    assert (np.bincount(codes).min() >= ISOTONIC_FROM) == (rows > 3000)
    changed = chances * [1.0, 5.0, 20.0]
    changed /= changed.sum(axis=1, keepdims=True)
    found = Recalibration().fit(changed, codes).apply(changed)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    # parameters of 3000 answers are known to about 0.07; one-against-rest maps see one column of three
    assert np.abs(found - chances).mean() < (0.015 if rows == 3000 else 0.05)
    assert log_loss(codes, found) < log_loss(codes, changed) - 0.1


def test_faultless_rows_leave_finite_parameters() -> None:
    codes = np.arange(50) % 2
    fit = Recalibration().fit(np.eye(2)[codes], codes)
    assert np.isfinite(fit.scale_)
    assert np.isfinite(fit.apply(np.eye(2)[codes])).all()


@pytest.mark.parametrize(
    "remedy", [ADJUSTMENT, ClassWeighting({"no": 1000 / 1900, "yes": 10.0})], ids=["adjustment", "weights"]
)
def test_the_brier_score_is_that_of_plain_training_and_decisions_are_the_remedys(remedy: Remedy) -> None:
    test = two_classes(1)
    names = np.array(["no", "yes"])
    fitted = {
        recalibrate: MendedClassifier(LogisticRegression(), remedy, recalibrate=recalibrate).fit_set(TRAINING)
        for recalibrate in (False, True)
    }
    np.testing.assert_array_equal(*(model.predict(test.features) for model in fitted.values()))
    brier = {
        key: brier_score_loss(test.classes.codes, model.predict_proba(test.features)[:, 1])
        for key, model in fitted.items()
    }
    peer = CalibratedClassifierCV(LogisticRegression()).fit(TRAINING.features, TRAINING.classes.codes)
    theirs = brier_score_loss(test.classes.codes, peer.predict_proba(test.features)[:, 1])
    assert brier[True] < brier[False] / 2
    # of 1000 rows with 50 positives the score is known to about 0.005
    assert brier[True] < theirs + 0.005
    by_name = MendedClassifier(LogisticRegression(), remedy, recalibrate=True)
    by_name.fit(TRAINING.features, names[TRAINING.classes.codes])
    np.testing.assert_allclose(by_name.predict_proba(test.features), fitted[True].predict_proba(test.features))


def test_sample_weight_acts_as_copies() -> None:
    weights = np.where(np.arange(TRAINING.size) % 3 == 0, 2.0, 1.0)
    twice = np.concatenate([np.arange(TRAINING.size), np.flatnonzero(weights == 2)])
    options = {"tol": 1e-10, "max_iter": 1000}
    weighted = (
        LogitAdjustment({})
        .wrap(LogisticRegression(**options))
        .fit(TRAINING.features, TRAINING.classes.codes, sample_weight=weights)
    )
    copied = LogisticRegression(**options).fit(TRAINING.features[twice], TRAINING.classes.codes[twice])
    np.testing.assert_allclose(weighted.estimator_.coef_, copied.coef_, rtol=1e-5)  # the optimiser's tolerance
