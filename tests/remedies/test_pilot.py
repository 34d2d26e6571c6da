"""The pilot behind forecasts: trained with weights for linear learners, under a changed prior for others."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lopsided.checkup.plan.arms import default_kinds
from lopsided.checkup.plan.plan import plan_for
from lopsided.core.partition import Partition
from lopsided.data.labelled_set import LabelledSet
from lopsided.remedies.contract import PRIOR_SHIFT
from lopsided.remedies.pilot import FOLDS, TRAINED, run_pilot


def curved(seed: int = 0) -> LabelledSet:
    """A small class inside a ring of the large one and beside it: no line tells them apart."""
    random = np.random.default_rng(seed)
    codes = np.repeat([0, 1], [200, 40])
    features = random.standard_normal((240, 2))
    features[:200] *= 2.0 / np.linalg.norm(features[:200], axis=1, keepdims=True) ** 0.7
    features[200:] = 0.6 * features[200:] + [0.8, 0.3]
    return LabelledSet(np.arange(240), Partition("class", codes, ("often", "rare")), None, features, "curved")


def test_a_linear_learner_s_forecast_is_a_cross_validation_with_the_weights() -> None:
    training = curved()
    weights = np.array([0.6, 3.0])
    pilot = run_pilot(training, 0, linear=True)
    scores, ground = pilot.weighted(weights)
    assert ground == TRAINED
    codes, accuracies = training.classes.codes, []
    for repeat, number in np.ndindex(2, FOLDS):
        tested = pilot.fold[repeat] == number
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=100, tol=1e-3))
        model.fit(training.features[~tested], codes[~tested], logisticregression__sample_weight=weights[codes[~tested]])
        assert scores[repeat, tested] == pytest.approx(model.predict_proba(training.features[tested]), abs=1e-12)
    for repeat in range(2):
        gained = [balanced_accuracy_score(codes, found[repeat].argmax(axis=1)) for found in (scores, pilot.plain())]
        accuracies.append(gained[0] - gained[1])
    assert pilot.forecast("balanced", scores, ground).gain == pytest.approx(np.mean(accuracies), abs=1e-12)


def test_for_other_learners_the_prior_is_changed() -> None:
    pilot = run_pilot(curved(), 0)
    weights = np.array([0.6, 3.0])
    scores, ground = pilot.weighted(weights)
    assert ground == PRIOR_SHIFT
    assert np.array_equal(scores, pilot.plain() * weights)


def test_a_plan_asks_the_pilot_for_what_its_learner_is() -> None:
    grounds = {
        learner: plan_for(curved(), learner=learner, arms=default_kinds())["class weights"].forecast.ground
        for learner in ("logistic", "boosting")
    }
    assert grounds == {"logistic": TRAINED, "boosting": PRIOR_SHIFT}
