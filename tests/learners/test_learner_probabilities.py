"""A learner whose probabilities are none is refused, with its name and what it gave."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lopsided.checkup.trial.trial import trial as run_trial
from lopsided.core.errors import InputError
from lopsided.remedies.logit_adjustment import LogitAdjustment
from tests.checkup.trial.helpers import two_gaussians


class Odd(LogisticRegression):
    """Predicts as it should; only its probabilities are odd."""

    def __init__(self, odd="", C=1.0):
        super().__init__(C=C)
        self.odd = odd

    def predict_proba(self, X):
        found = super().predict_proba(X)
        if self.odd == "NaN":
            found[:3] = np.nan
        elif self.odd == "infinite":
            found[0, 0] = np.inf
        elif self.odd == "below":
            found[0] = [-0.5, 1.5]
        elif self.odd == "one column":
            found = found[:, 1]
        elif self.odd == "sums":
            found = 3 * found
        elif self.odd == "words":
            found = [["a", "b"]] * len(found)
        elif self.odd == "rounded":
            found = np.round(found, 2).astype(np.float32)
        elif self.odd == "raises":
            raise NotImplementedError("not here")
        return found


@pytest.fixture(scope="module")
def given():
    return two_gaussians([60, 20], 1.0, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ("NaN", "NaN for 3 of 80 examples"),
        ("infinite", "infinite values for 1 of 80 examples"),
        ("below", "values below 0 for 1 of 80 examples"),
        ("one column", r"the shape \(80,\) for 80 examples of 2 classes"),
        ("sums", "a sum of 3"),
        ("words", "a list that is not an array of numbers"),
    ],
)
def test_odd_probabilities_are_refused(given, odd, words) -> None:
    features, codes = given.table.features(), given.classes.codes
    for estimator in (Odd(odd), make_pipeline(StandardScaler(), Odd(odd))):
        fitted = LogitAdjustment({"1": 1.0}).wrap(estimator).fit(features, codes)
        with pytest.raises(InputError, match=f"predict_proba of Odd .* but got {words}"):
            fitted.predict(features)


@pytest.mark.parametrize("odd", ["NaN", "sums"])
def test_a_trial_with_them_is_refused(tmp_path, given, odd) -> None:
    with pytest.raises(InputError, match=r"^Expected predict_proba of Odd to give [^;]*\.$"):
        run_trial(given, learner=Odd(odd), store=tmp_path, repeats=1, forecasts=False)


@pytest.mark.parametrize("odd", ["", "rounded"])
def test_sound_ones_pass(tmp_path, given, odd) -> None:
    outcome = run_trial(given, learner=Odd(odd), store=tmp_path, repeats=1, forecasts=False)
    assert outcome["logit adjustment"].skipped is None
    assert outcome["threshold moving"].skipped is None


def test_a_learner_that_gives_none_spoils_only_the_arms_that_ask(tmp_path, given) -> None:
    outcome = run_trial(given, learner=Odd("raises"), store=tmp_path, repeats=1, forecasts=False)
    assert "not here" in outcome["logit adjustment"].skipped
    assert outcome["class weights"].skipped is None
