"""Trials asked for other metrics, during and after; what is in every trial; precision that collapses."""

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.svm import LinearSVC

import lopsided
from lopsided.checkup.trial.arm import Arm, Measured, precision_collapse
from lopsided.checkup.trial.trial import trial as run_trial
from lopsided.core.errors import InputError
from lopsided.measure.paired_scores import Estimate
from lopsided.remedies.plain import Plain

ARMS = ["class weights", "threshold moving"]


def fraud(seed: int = 0, rows: int = 400, share: float = 0.06):
    random = np.random.default_rng(seed)
    rare = random.random(rows) < share
    return random.standard_normal((rows, 3)) + 1.6 * rare[:, None] * [1, 0, 0], np.where(rare, "fraud", "ok")


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    features, labels = fraud()
    store = tmp_path_factory.mktemp("store")
    return run_trial(features, labels=labels, arms=ARMS, store=store, forecasts=False), store


def test_another_metric_after_the_trial_is_that_of_a_trial_asked_for_it(tried) -> None:
    """The arm that is tuned for the metric differs; plain training and class weights are the same to the last digit."""
    outcome, store = tried
    features, labels = fraud()
    asked = run_trial(features, labels=labels, arms=ARMS, store=store, forecasts=False, metric="f1")
    later = outcome.judge("f1")
    assert later.metric == asked.metric == "F1 of fraud"
    assert later["class weights"].metrics == asked["class weights"].metrics
    assert later["threshold moving"].remedy.tuned_for == "balanced"
    assert asked["threshold moving"].remedy.tuned_for == "f1:fraud"
    assert any("forecasts made for balanced accuracy" in note for note in later.notes)
    assert (
        later.judge("balanced")["plain"].metrics["balanced accuracy"] == outcome["plain"].metrics["balanced accuracy"]
    )
    assert asked.to_dict()["metric_word"] == "f1:fraud"


def test_every_arm_has_precision_recall_average_precision_and_brier_score(tried) -> None:
    outcome, _ = tried
    expected = ["precision of fraud", "recall of fraud", "average precision of fraud", "Brier score"]
    assert outcome.other_metrics() == expected
    for arm in outcome.to_dict()["arms"]:
        assert set(expected) <= arm["metrics"].keys()
    rare = outcome["plain"].metrics
    assert (
        rare["precision of fraud"].estimate.value
        > outcome["class weights"].metrics["precision of fraud"].estimate.value
    )


def test_a_gain_in_a_loss_is_a_fall(tried) -> None:
    outcome, _ = tried
    plain, arm = (outcome[name].metrics["Brier score"] for name in ("plain", "class weights"))
    assert arm.gain.value == pytest.approx(plain.estimate.value - arm.estimate.value, abs=1e-15)
    dear = outcome.judge("cost", costs={"fraud": {"ok": 40}})
    assert dear.winner is not None
    assert "expected cost lower by" in dear.sentence()
    assert dear.measured_in.costs == ((0.0, 40.0), (1.0, 0.0))  # fraud comes before ok


def test_scorers_of_the_user(tried) -> None:
    outcome, _ = tried
    by_object = outcome.judge(sk.make_scorer(sk.fbeta_score, beta=2, pos_label="fraud"))
    by_word = outcome.judge("f2")
    for name in ("plain", *ARMS):
        first = by_object[name].metrics[by_object.metric].estimate.value
        assert first == pytest.approx(by_word[name].metrics["F2 of fraud"].estimate.value, abs=1e-12)


def test_the_winner_is_printed_with_the_interval_that_decided(tried) -> None:
    outcome, _ = tried
    assert outcome.winner is not None
    low, high = outcome[outcome.winner].widened
    assert f"[{low:+.3f}, {high:+.3f}], a 90% interval for all 2 arms at once" in outcome.sentence()


def test_probabilities_are_asked_for_before_training(tmp_path) -> None:
    features, labels = fraud(rows=120)
    with pytest.raises(InputError, match="probabilities for Brier score, but got LinearSVC without"):
        run_trial(features, labels=labels, learner=LinearSVC(), metric="brier", store=tmp_path)
    found = run_trial(features, labels=labels, learner=LinearSVC(), arms=["class weights"], store=tmp_path)
    assert "Brier score" not in found["plain"].metrics
    assert "precision of fraud" in found["plain"].metrics
    with pytest.raises(InputError, match="predict_proba"):
        found.judge("roc-auc")


def test_a_plan_forecasts_any_metric_but_scorers() -> None:
    features, labels = fraud()
    for word, name in (("f1", "F1 of fraud"), ("brier", "Brier score"), ("cost", "expected cost")):
        made = lopsided.plan(features, labels=labels, metric=word, costs="fraud:ok=9" if word == "cost" else None)
        assert made["class weights"].forecast.metric == made.metric_name == name
    scored = lopsided.plan(features, labels=labels, metric="jaccard_macro")
    assert scored["class weights"].forecast is None
    assert "only a trial can tell" in scored["class weights"].why


def arm(precision: float, name: str = "precision of fraud") -> Arm:
    value = Estimate(precision, 0.0, 1.0, 0.1, 0.5)
    return Arm(Plain(), {name: Measured(value, None)}, name, None, "")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (0.41, 0.0093, "precision of fraud falls from 0.41 to 0.0093: 107 false alarms per fraud found"),
        (0.0, 0.1, "precision of fraud is 0.10: 9 false alarms per fraud found"),
        (0.41, 0.0, "precision of fraud falls from 0.41 to 0: none is found"),
        (0.41, 0.21, None),  # not below 0.2
        (0.3, 0.16, None),  # more than half is kept
    ],
)
def test_precision_that_collapses_is_said(before, after, words) -> None:
    assert precision_collapse(arm(after), arm(before)) == words


def test_other_classes_have_macro_precision() -> None:
    name = "macro precision"
    assert precision_collapse(arm(0.1, name), arm(0.6, name)) == "macro precision falls from 0.60 to 0.10"
    assert precision_collapse(arm(0.1, "overall accuracy"), arm(0.6, "overall accuracy")) is None
