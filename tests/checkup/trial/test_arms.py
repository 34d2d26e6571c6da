"""Arms that a user asks for: by name, as remedies, samplers and estimators."""

import numpy as np
import pytest
from imblearn.over_sampling import ADASYN, RandomOverSampler
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from lopsided.checkup.plan.arms import proposals_for
from lopsided.checkup.trial.trial import trial
from lopsided.core.errors import InputError
from lopsided.core.folds import deal
from lopsided.remedies.contract import Occasion
from lopsided.remedies.every import EVERY
from lopsided.remedies.oversampling import Oversampling
from lopsided.remedies.own import OwnEstimator, OwnSampler
from lopsided.remedies.pilot import run_pilot
from tests.checkup.trial.helpers import two_gaussians
from tests.remedies.test_samplers import drawn_set

TRAINING = drawn_set()
OCCASION = Occasion(TRAINING, run_pilot(TRAINING, 0), "balanced", {})


def names(arms) -> list[str]:
    return [found.remedy.name for found in proposals_for(arms, OCCASION)[0]]


def test_names_in_the_spelling_of_people() -> None:
    assert names(["smote", "Half-way oversampling", "logit_adjustment", "random undersampling"]) == [
        "SMOTE",
        "half-way oversampling",
        "logit adjustment",
        "undersampling",
    ]
    assert names(None) == names(["default"]) == names("default")
    assert names(["plain", "default", "smote"]) == names(None)  # none twice
    assert set(names(None)) == {str(kind.name) for kind in EVERY[1:] if kind.default and not kind.needs_groups} - {
        next(str(kind.name) for kind in EVERY if kind.kind == "collect")
    }


def test_objects_and_pairs() -> None:
    given = [Oversampling({"b": 2.0}), ("nb", GaussianNB()), ADASYN(), ADASYN(n_neighbors=3), ADASYN(n_neighbors=3)]
    found = [one.remedy for one in proposals_for(given, OCCASION)[0]]
    assert [one.name for one in found[:4]] == ["oversampling", "nb", "ADASYN", "ADASYN(n_neighbors=3)"]
    assert isinstance(found[1], OwnEstimator)
    assert isinstance(found[2], OwnSampler)
    (imported,) = proposals_for(["imblearn.under_sampling:NearMiss"], OCCASION)[0]
    assert imported.remedy.name == "NearMiss"


@pytest.mark.parametrize(
    ("arms", "sentence"),
    [
        (["smoot"], "did you mean 'SMOTE'"),
        ([3], "names, remedies, samplers"),
        ([GaussianNB], "unfitted object"),
        ([], "arms to try"),
        (["plain"], "plain training is always there"),
        ([Oversampling({"b": 2.0}), "oversampling"], "'oversampling' twice"),
        (["sklearn.linear_model:Ridge"], "a classifier"),
    ],
)
def test_what_is_no_arm_is_refused(arms, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        proposals_for(arms, OCCASION)


def test_own_arms_are_trained_as_by_hand_and_stored_by_what_they_are(tmp_path) -> None:
    given = two_gaussians([120, 24], 1.5, np.random.default_rng(0))
    options = {"folds": 3, "repeats": 1, "forecasts": False, "store": tmp_path, "learner": LogisticRegression()}
    sampler = RandomOverSampler(sampling_strategy={"1": 40}, random_state=0)
    arms = ["class weights", sampler, ("bayes", GaussianNB())]
    outcome = trial(given, arms=arms, **options)
    assert {arm.name for arm in outcome.arms} == {"plain", "class weights", "RandomOverSampler", "bayes"}
    features, codes = given.table.features(), given.classes.codes
    fold = deal(codes, None, 3, 0, 0)
    right = {"bayes": [], "RandomOverSampler": []}
    for number in range(3):
        inside, tested = fold != number, fold == number
        bayes = GaussianNB().fit(features[inside], codes[inside])
        right["bayes"].append(bayes.predict(features[tested]) == codes[tested])
        own = clone(sampler).set_params(sampling_strategy={1: 40}).fit_resample(features[inside], codes[inside])
        right["RandomOverSampler"].append(LogisticRegression().fit(*own).predict(features[tested]) == codes[tested])
    for name, found in right.items():
        expected = np.concatenate(found).mean()
        assert outcome[name].metrics["overall accuracy"].estimate.value == pytest.approx(expected, abs=1e-12)
    again = trial(given, arms=arms, **options)
    assert again.reused == 12
    changed = trial(given, arms=[*arms[:2], ("bayes", GaussianNB(var_smoothing=0.1))], **options)
    assert changed.reused == 9


def test_a_plan_and_arms_at_once_are_refused(tmp_path) -> None:
    given = two_gaussians([40, 20], 1.5, np.random.default_rng(0))
    outcome = trial(given, arms=["undersampling"], folds=3, repeats=1, forecasts=False, store=tmp_path)
    with pytest.raises(InputError, match="a plan or arms"):
        trial(given, outcome.plan, arms=["smote"], store=tmp_path)
