"""Remedies of networks as arms of a trial: listed and trained where the learner is one, refused where it is not."""

import numpy as np
import pytest

import lopsided
from lopsided.core.errors import InputError
from lopsided.learners.network_classifiers import DeepClassifier
from lopsided.remedies.classifier_retraining import ClassifierRetraining
from lopsided.remedies.every import EVERY
from lopsided.remedies.ldam import Ldam
from lopsided.remedies.tau_normalisation import TauNormalisation

NAMES = [str(kind.name) for kind in EVERY if kind.needs_network]


def tail(seed: int = 0):
    random = np.random.default_rng(seed)
    codes = np.repeat([0, 1, 2], [120, 30, 15])
    return random.standard_normal((codes.size, 4)) + 1.5 * np.eye(4)[codes], np.array(["often", "seldom", "rare"])[
        codes
    ]


def test_a_trial_of_a_network_lists_and_trains_them(tmp_path) -> None:
    features, labels = tail()
    listed = {planned.name for planned in lopsided.plan(features, labels=labels, learner="deep").remedies}
    assert {*NAMES, "logit adjustment"} < listed
    settings = {"store": tmp_path, "forecasts": False, "folds": 3, "repeats": 1, "arms": NAMES}
    found = lopsided.trial(features, labels=labels, learner=DeepClassifier(steps=20), **settings)
    assert [(arm.name, arm.skipped) for arm in found.arms] == [(name, None) for name in ["plain", *NAMES]]
    scores = [round(arm.metrics["balanced accuracy"].estimate.value, 6) for arm in found.arms]
    assert len(set(scores)) > 3  # each was trained in its own way


def test_a_learner_that_is_no_network_is_told_so(tmp_path) -> None:
    features, labels = tail()
    settings = {"labels": labels, "store": tmp_path, "forecasts": False, "folds": 3, "repeats": 1}
    found = lopsided.trial(features, learner="logistic", arms=["LDAM", "logit adjustment"], **settings)
    skipped = {arm.name: arm.skipped for arm in found.arms}
    assert skipped["LDAM"] is not None
    assert skipped["LDAM"].endswith("which LogisticRegression is not: use the learner deep.")
    assert skipped["logit adjustment"] is None
    assert not set(NAMES) & {planned.name for planned in found.plan.remedies if planned.name != "LDAM"}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_enough_for_the_mended_classifier(name) -> None:
    features, labels = tail()
    model = lopsided.MendedClassifier(DeepClassifier(steps=30), name, seed=0).fit(features, labels)
    assert model.remedy_.name == name
    assert set(model.predict(features)) <= {"often", "seldom", "rare"}


def test_what_is_done_to_the_network() -> None:
    """LDAM defers to the last fifth of the epochs, tau-normalisation makes classifiers equally long, and retraining
    gives the rare class more."""
    features, labels = tail(1)
    plain, equal, again = (
        lopsided.MendedClassifier(DeepClassifier(steps=60), remedy, seed=0).fit(features, labels)
        for remedy in (None, TauNormalisation(), ClassifierRetraining())
    )
    lengths = np.linalg.norm(equal.estimator_.trained_.classifier, axis=1)
    np.testing.assert_allclose(lengths, lengths[0], rtol=1e-5)  # weights are float32
    rare = labels == "rare"
    assert np.mean(again.predict(features)[rare] == "rare") >= np.mean(plain.predict(features)[rare] == "rare")
    from lopsided.checkup.inputs.gather import gather
    from lopsided.checkup.inputs.training_set import training_set
    from lopsided.remedies.learner import Learner

    training = training_set(gather(features, labels=labels))
    loss = Ldam().form(training, Learner(DeepClassifier(steps=60), 0), 0)
    assert loss.reweight_from == round(0.8 * 60 * 128 / 165)


def test_a_loss_takes_no_weights_beside_it() -> None:
    features, labels = tail()
    with pytest.raises(InputError, match="a loss, or weights and adjustment of cross entropy, but got both"):
        DeepClassifier(steps=5).fit(features, labels, np.ones(len(labels)), loss=lambda logits, codes: logits.sum())
