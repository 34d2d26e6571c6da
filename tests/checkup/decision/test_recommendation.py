"""Recommendations against Bayes' rule by hand, brute force, and invariances."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from lopsided.checkup.decision.prior import GainPrior
from lopsided.checkup.decision.recommendation import (
    PLAIN,
    MeasuredGains,
    measured_gains,
    recommend,
)
from lopsided.core.folds import deal
from lopsided.measure.metrics.contract import Answers, Judged
from lopsided.measure.metrics.shares import BALANCED
from lopsided.measure.paired_scores import gain


def answers(random, accuracy, codes, repeats=2, like=None, change=0.3):
    """Right answers of an arm; with `like`, those of another arm of which some are drawn again."""
    right = random.random((repeats, codes.size)) < accuracy
    if like is not None:
        right = np.where(random.random(right.shape) < change, right, like.right)
    fold = np.stack([deal(codes, None, 5, 0, repeat) for repeat in range(repeats)])
    return Answers(right, fold, codes, np.zeros_like(codes))


def three_arms(seed=0):
    random = np.random.default_rng(seed)
    codes = np.repeat([0, 1], [300, 60])
    plain = answers(random, 0.7, codes)
    good = answers(random, 0.95, codes, like=plain, change=0.6)
    return plain, {"good": good, "same": answers(random, 0.7, codes, like=plain), "twin": good}, Judged((0, 1), (0,))


def weak(arms):
    size = len(arms)
    return GainPrior(tuple(arms), np.zeros(size), np.zeros((size, size)), weak=True)


def test_the_joint_error_is_the_covariance_of_the_gains() -> None:
    plain, arms, judged = three_arms()
    found = measured_gains(BALANCED, plain, arms, judged)
    for place, name in enumerate(arms):
        own = gain(BALANCED, arms[name], plain, judged)
        assert found.values[place] == own.value
        # Clipping of the least eigenvalues at 1e-12 is all that may differ.
        assert found.errors[place, place] == pytest.approx(own.error**2, abs=1e-10)
    between = gain(BALANCED, arms["good"], arms["same"], judged).error ** 2
    assert found.errors[0, 0] + found.errors[1, 1] - 2 * found.errors[0, 1] == pytest.approx(between, abs=1e-10)


def test_the_room_is_what_plain_training_leaves() -> None:
    plain, arms, judged = three_arms()
    recalls = [plain.right[:, plain.classes == code].mean() for code in (0, 1)]
    # a mean of two recalls, up to rounding
    assert measured_gains(BALANCED, plain, arms, judged).room == pytest.approx(1.0 - np.mean(recalls), abs=1e-12)


def test_the_posterior_is_bayes_rule() -> None:
    random = np.random.default_rng(1)
    root = random.standard_normal((3, 3))
    prior = GainPrior(("a", "b", "c"), np.array([0.1, 0.0, -0.2]), root @ root.T)
    noise = np.diag([0.5, 1.0, 2.0]) + 0.2
    seen = np.array([0.7, -0.3, 0.4])
    found = prior.posterior(seen, noise)
    # log posterior = log prior + log likelihood + constant, at any point
    points = random.standard_normal((5, 3))
    ours = multivariate_normal(found.mean, found.covariance).logpdf(points)
    by_hand = multivariate_normal(prior.mean, prior.covariance).logpdf(points) + [
        multivariate_normal(point, noise).logpdf(seen) for point in points
    ]
    assert np.ptp(ours - by_hand) < 1e-9  # rounding of a few solves of 3 x 3


def test_chances_of_one_arm_are_the_normal_tail() -> None:
    measured = MeasuredGains(("only",), np.array([0.03]), np.array([[0.02**2]]))
    advice = recommend(measured, weak(["only"]), "balanced accuracy")
    # 4,000 draws: four deviations of a share are 0.032 at most
    assert advice.chance_worse == pytest.approx(norm.cdf(-1.5), abs=0.02)
    assert advice.chance_best == pytest.approx(1 - norm.cdf(-1.5), abs=0.02)
    assert (advice.arm, advice.gain) == ("only", pytest.approx(0.03))
    assert [advice.low, advice.high] == pytest.approx([0.03 - 1.645 * 0.02, 0.03 + 1.645 * 0.02], abs=0.004)


def test_a_prior_against_an_arm_keeps_a_lucky_measurement_from_winning() -> None:
    measured = MeasuredGains(("risky", "safe"), np.array([0.06, 0.05]), np.eye(2) * 0.05**2)
    assert recommend(measured, weak(["risky", "safe"]), "m").arm == "risky"
    known = GainPrior(("risky", "safe"), np.array([-0.2, 0.05]), np.eye(2) * 0.03**2)
    assert recommend(measured, known, "m").arm == "safe"


def test_where_nothing_gains_plain_training_stays() -> None:
    measured = MeasuredGains(("a", "b"), np.array([-0.05, -0.1]), np.eye(2) * 0.01**2)
    advice = recommend(measured, weak(["a", "b"]), "balanced accuracy")
    assert advice.arm == PLAIN
    assert advice.gain == 0.0
    assert advice.sentence().startswith("Keep plain training")


def test_the_order_and_the_names_of_arms_do_not_matter() -> None:
    plain, arms, judged = three_arms(3)
    del arms["twin"]  # equal arms are best in the order of the draws
    one = recommend(measured_gains(BALANCED, plain, arms, judged), weak(arms), "m")
    turned = dict(reversed(arms.items()))
    other = recommend(measured_gains(BALANCED, plain, turned, judged), weak(turned), "m")
    assert one.arm == other.arm
    assert one.gain == pytest.approx(other.gain, abs=1e-12)
    assert one.chance_best == pytest.approx(other.chance_best, abs=0.03)  # other draws


def test_more_repeats_are_said_to_decide_only_where_repeats_are_what_is_missing() -> None:
    values, split = np.array([0.05, 0.03]), np.eye(2) * 0.03**2
    by_repeats = MeasuredGains(("a", "b"), values, split / 2 + np.eye(2) * 1e-6, split, 2)
    assert "repeats (" in (recommend(by_repeats, weak(["a", "b"]), "m", seconds=2.0).settled_by or "")
    by_examples = MeasuredGains(("a", "b"), values, split, np.eye(2) * 1e-9, 2)
    assert "more examples would" in (recommend(by_examples, weak(["a", "b"]), "m").settled_by or "")
    decided = MeasuredGains(("a", "b"), np.array([0.5, 0.0]), split, split, 2)
    assert recommend(decided, weak(["a", "b"]), "m").settled_by is None


def test_the_sentence_says_what_a_reader_can_use() -> None:
    errors, of_repeat = np.eye(3) * 0.03**2, np.eye(3) * 1e-9
    measured = MeasuredGains(("a", "b", "c"), np.array([0.060, 0.055, 0.052]), errors, of_repeat, 2)
    near = recommend(measured, weak(["a", "b", "c"]), "m")
    assert near.sentence().endswith(" Nearly as good, within 0.01: b, c.")
    assert near.gains == {PLAIN: 0.0, "a": pytest.approx(0.06), "b": pytest.approx(0.055), "c": pytest.approx(0.052)}
    apart = recommend(MeasuredGains(("a", "b"), np.array([0.06, 0.03]), np.eye(2) * 0.03**2), weak(["a", "b"]), "m")
    assert "Rivals: b (" in apart.sentence()
    assert "Too close to call between it and b" in apart.sentence()
    loss = recommend(MeasuredGains(("a",), np.array([0.2]), np.eye(1) * 0.05**2), weak(["a"]), "cost", falls=True)
    assert loss.sentence("it is slow").startswith("Use a: cost lower by 0.200 [0.1")
    assert loss.sentence("it is slow").endswith("; but it is slow.")


def test_arms_that_are_as_good_as_each_other_are_called_so() -> None:
    near = np.full((2, 2), 0.02**2) + np.eye(2) * 1e-7
    advice = recommend(MeasuredGains(("a", "b"), np.array([0.08, 0.08]), near), weak(["a", "b"]), "m")
    assert "equally good" in (advice.settled_by or "")
    assert 0.3 < advice.chance_best < 0.7
