"""The prior of gains: what it says about learners, arms and metrics."""

import json
from importlib.resources import files

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lopsided.checkup.decision import prior as module
from lopsided.checkup.decision.prior import (
    GainPrior,
    after_forecasts,
    context,
    gain_prior,
    learner_kind,
    one_example,
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
    prior = GainPrior(("a", "b", "new"), np.zeros(3), np.eye(3), example=0.04)
    found = prior.pilot_errors({"common": 0.03, "own": {"a": 0.01, "b": 0.02}})
    expected = 0.03**2 + 0.04**2 + np.diag(0.04**2 + np.array([0.01**2, 0.02**2, 0.015**2]))
    assert found == pytest.approx(expected)


def test_errors_of_a_trial_are_never_less_than_an_example_of_the_smallest_class(monkeypatch) -> None:
    monkeypatch.setattr(module, "_stored", lambda: {"trial": 0.01})
    prior = GainPrior(("a", "b"), np.zeros(2), np.eye(2), example=one_example("balanced", np.array([100, 10])))
    stated = np.array([[0.02, 0.01], [0.01, 0.03]])
    # of plain training, which both arms share; of each arm; and the deviation of each
    assert prior.trial_errors(stated) == pytest.approx(stated + 0.05**2 + (0.05**2 + 0.01**2) * np.eye(2))


@pytest.mark.parametrize(
    ("metric", "change"), [("balanced", 1 / 30), ("worst-class", 0.1), ("f1", 0.1), ("overall", 1 / 130)]
)
def test_what_one_example_of_the_smallest_class_changes(metric, change) -> None:
    assert one_example(metric, np.array([100, 20, 0, 10])) == pytest.approx(change)


def test_a_sure_forecast_moves_an_arm_more_than_an_unsure_one() -> None:
    prior = GainPrior(("a", "b"), np.zeros(2), np.eye(2) * 0.05**2)
    errors = prior.pilot_errors({"common": 0.0, "own": {"a": 0.01, "b": 0.05}})
    expected = after_forecasts(prior, {"a": 0.1, "b": 0.1}, errors).mean
    assert expected == pytest.approx([0.1 * 0.05**2 / (0.05**2 + 0.01**2), 0.05])


def test_an_arm_without_a_forecast_follows_those_that_it_goes_with() -> None:
    prior = GainPrior(("a", "b"), np.zeros(2), np.full((2, 2), 0.05**2) + np.eye(2) * 1e-6)
    found = after_forecasts(prior, {"a": 0.1}, prior.pilot_errors({"common": 0.0, "own": {"a": 0.01, "b": 0.01}}))
    assert found.mean[1] == pytest.approx(found.mean[0], abs=1e-3)


def test_the_scale_is_learnt_from_what_is_measured() -> None:
    """Two tables with the same order of remedies: where gains are small, so are the intervals."""
    prior = GainPrior(("a", "b"), np.array([1.0, 0.5]), np.eye(2) * 0.3**2, (0.01, 0.1), (0.5, 0.5))
    noise = np.eye(2) * 0.01**2
    small, large = (prior.posterior(np.array([1.0, 0.5]) * scale, noise) for scale in (0.01, 0.1))
    assert small.chances[0] > 0.9
    assert large.chances[1] > 0.99
    width = [np.subtract(*found.interval()[::-1]) for found in (small, large)]
    assert (width[0] < width[1]).all()


def test_the_posterior_of_scales_is_bayes_rule_by_integration() -> None:
    """One arm: mean, deviation and interval by sums over a fine grid of gains."""
    prior = GainPrior(("a",), np.array([0.5]), np.array([[0.2]]), (0.1, 1.0, 3.0), (0.5, 0.3, 0.2), floor=0.05)
    found = prior.posterior(np.array([0.4]), np.array([[0.04]]))
    gains = np.linspace(-12, 15, 540_001)
    density = sum(
        chance * norm(0.5 * scale, np.sqrt(0.2 * scale**2 + 0.05**2)).pdf(gains)
        for scale, chance in zip(prior.scales, prior.chances, strict=True)
    ) * norm(gains, 0.2).pdf(0.4)
    density /= density.sum()
    mean = float(density @ gains)
    assert found.mean[0] == pytest.approx(mean, abs=1e-6)  # the grid's step is 5e-5
    assert found.covariance[0, 0] == pytest.approx(float(density @ (gains - mean) ** 2), rel=1e-5)
    bounds = np.interp([0.05, 0.95], np.cumsum(density), gains)
    # 4,000 draws: four deviations of a share of 5% are 1.4%, here about 0.02
    assert [bound[0] for bound in found.interval()] == pytest.approx(bounds, abs=0.02)


def test_where_plain_training_is_nearly_perfect_little_is_expected() -> None:
    known = [gain_prior(ARMS, "balanced", "trees", COUNTS, room) for room in (0.0, 0.05, 0.4)]
    expected = [prior.posterior(np.zeros(len(ARMS)), 1e6 * np.eye(len(ARMS))).mean for prior in known]
    assert (expected[0] < expected[1]).all()
    assert (expected[1] < expected[2]).all()
    assert (expected[0] < 0.01).all()  # points there are none to gain
    # a plan, which does not know the room, expects what lies between
    blind = gain_prior(ARMS, "balanced", "trees", COUNTS).posterior(np.zeros(len(ARMS)), 1e6 * np.eye(len(ARMS))).mean
    assert ((expected[0] < blind) & (blind < expected[2])).all()


def test_with_several_classes_the_room_says_nothing() -> None:
    counts = np.array([300, 80, 20])
    one, other = (gain_prior(ARMS, "balanced", "linear", counts, room) for room in (0.1, 0.8))
    assert one.scales == other.scales == gain_prior(ARMS, "balanced", "linear", counts).scales


def test_learners_of_another_kind_are_less_certain_than_either() -> None:
    linear, trees, other = (gain_prior(ARMS, "balanced", kind, COUNTS) for kind in ("linear", "trees", "other"))
    assert other.mean == pytest.approx((linear.mean + trees.mean) / 2)
    between = (np.diag(linear.covariance) + np.diag(trees.covariance)) / 2
    assert (np.diag(other.covariance) >= between).all()


def test_a_metric_that_was_not_studied_has_a_weak_prior() -> None:
    found = gain_prior(ARMS, "cost", "linear", COUNTS)
    assert found.weak
    gains, errors = np.array([1.0, 2.0, 3.0]), np.eye(3)
    after = found.posterior(gains, errors)
    assert np.array_equal(after.mean, gains)
    assert np.array_equal(after.covariance, errors)


def test_the_stored_prior_is_complete() -> None:
    stored = json.loads(files(module.__package__).joinpath("prior.json").read_text())
    assert len(stored["steps"]) == len(stored["chances"])
    assert sum(stored["chances"]) == pytest.approx(1.0, abs=1e-4)  # written with five digits
    for by_kind in stored["metrics"].values():
        for found in by_kind.values():
            size = len(found["arms"])
            assert np.array(found["effects"]).shape == (size, 4)
            assert np.array(found["covariance"]).shape == (size, size)
