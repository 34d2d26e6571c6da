"""The prior of gains: what it says about learners, arms and metrics."""

import json
from importlib.resources import files

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lopsided.checkup.decision import prior as module
from lopsided.checkup.decision.prior import (
    GainPrior,
    context,
    expected_gains,
    gain_prior,
    learner_kind,
    pilot_covariance,
)

ARMS = ("logit adjustment", "class weights", "threshold moving")
COUNTS = np.array([400, 40])


@pytest.mark.parametrize(
    ("learner", "kind"),
    [
        ("logistic", "linear"),
        ("boosting", "trees"),
        ("network", "other"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "linear"),
        (RandomForestClassifier(), "trees"),
        (GaussianNB(), "other"),
    ],
)
def test_kinds_of_learners(learner, kind) -> None:
    assert learner_kind(learner) == kind


def test_the_context_is_ratio_size_and_number_of_classes() -> None:
    assert context(np.array([200, 20, 0])) == pytest.approx([1.0, 0.0, 0.0010299957, 0.0])
    assert context(np.array([2000, 20, 20, 20]))[[1, 3]] == pytest.approx([1.0, np.log10(2)])


@pytest.mark.parametrize("kind", ["linear", "trees", "other"])
def test_covariances_are_positive_also_of_unknown_arms(kind) -> None:
    found = gain_prior([*ARMS, "mine", "another of mine"], "balanced", kind, COUNTS)
    assert np.linalg.eigvalsh(found.covariance).min() > 0
    known = gain_prior(ARMS, "balanced", kind, COUNTS)
    assert found.mean[:3] == pytest.approx(known.mean, abs=1e-12)
    assert found.covariance[:3, :3] == pytest.approx(known.covariance, abs=1e-12)
    # A stranger is more uncertain than an arm that was measured, and no better than a typical one.
    assert found.covariance[3, 3] > np.diag(known.covariance).mean()
    assert found.mean[3] <= found.mean[:3].max()


def test_the_order_of_arms_does_not_matter() -> None:
    one = gain_prior(ARMS, "balanced", "trees", COUNTS)
    other = gain_prior(ARMS[::-1], "balanced", "trees", COUNTS)
    assert np.array_equal(one.mean, other.mean[::-1])
    assert np.array_equal(one.covariance, other.covariance[::-1, ::-1])


def test_forecasts_err_together_and_each_by_itself() -> None:
    found = pilot_covariance(["a", "b", "new"], {"common": 0.03, "own": {"a": 0.01, "b": 0.02}})
    expected = 0.03**2 + np.diag([0.01**2, 0.02**2, 0.015**2])
    assert found == pytest.approx(expected)


def test_a_sure_forecast_moves_an_arm_more_than_an_unsure_one() -> None:
    prior = GainPrior(("a", "b"), np.zeros(2), np.eye(2) * 0.05**2)
    errors = pilot_covariance(["a", "b"], {"common": 0.0, "own": {"a": 0.01, "b": 0.05}})
    expected = expected_gains(prior, {"a": 0.1, "b": 0.1}, errors)
    assert expected["a"] == pytest.approx(0.1 * 0.05**2 / (0.05**2 + 0.01**2))
    assert expected["b"] == pytest.approx(0.05)


def test_learners_of_another_kind_are_less_certain_than_either() -> None:
    linear, trees, other = (gain_prior(ARMS, "balanced", kind, COUNTS) for kind in ("linear", "trees", "other"))
    assert other.mean == pytest.approx((linear.mean + trees.mean) / 2)
    between = (np.diag(linear.covariance) + np.diag(trees.covariance)) / 2
    assert (np.diag(other.covariance) >= between).all()


def test_a_metric_that_was_not_studied_has_a_weak_prior() -> None:
    found = gain_prior(ARMS, "cost", "linear", COUNTS)
    assert found.weak
    gains, errors = np.array([1.0, 2.0, 3.0]), np.eye(3)
    mean, covariance = found.posterior(gains, errors)
    assert np.array_equal(mean, gains)
    assert np.array_equal(covariance, errors)


def test_the_stored_prior_is_complete() -> None:
    stored = json.loads(files(module.__package__).joinpath("prior.json").read_text())
    for by_kind in stored["metrics"].values():
        for found in by_kind.values():
            size = len(found["arms"])
            assert np.array(found["effects"]).shape == (size, 4)
            assert np.array(found["covariance"]).shape == (size, size)
