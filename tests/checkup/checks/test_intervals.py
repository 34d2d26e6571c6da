"""Intervals and estimates of the audit against brute force, closed forms and coverage."""

import numpy as np
import pytest
from scipy.stats import ncx2

from lopsided.checkup.checks.collapse_measured import last_layer
from lopsided.checkup.checks.group_shift import _noncentralities, _shifts
from lopsided.checkup.checks.intervals import gaps_to_rest, mean_intervals, mean_rate_interval, rate_intervals
from lopsided.checkup.inputs.gather import gather
from lopsided.core.partition import Partition


def test_rates_hold_for_all_parts_at_once() -> None:
    """Nominal 95% over 20 parts; 400 draws have a standard error of about 1.1 points."""
    random = np.random.default_rng(0)
    truth = random.uniform(0.05, 0.95, 20)
    totals = random.integers(30, 400, 20)
    covered = 0
    for _ in range(400):
        found = rate_intervals(random.binomial(totals, truth), totals)
        covered += bool(((found.low <= truth) & (truth <= found.high)).all())
    assert covered / 400 > 0.95 - 3 * 0.011


def test_equal_rates_raise_no_gap() -> None:
    """The chance that any of 100 equal parts has a gap with a positive lower end is at most 5% plus its error."""
    random = np.random.default_rng(1)
    totals = random.integers(40, 300, 100)
    alarms = sum(bool((gaps_to_rest(random.binomial(totals, 0.8), totals).low > 0).any()) for _ in range(300))
    assert alarms / 300 < 0.05 + 3 * 0.0126


def test_ends_of_certain_rates() -> None:
    found = rate_intervals(np.array([0, 10, 0]), np.array([10, 10, 0]))
    assert found.low[0] == 0
    assert found.high[1] == 1
    assert 0 < found.high[0] < 0.5
    assert np.isnan(found.value[2])
    assert np.isnan(found.low[2])


@pytest.mark.parametrize(
    ("parts", "rows", "truth"),
    [(2, 20, 0.9), (10, 5, 0.5), (10, 20, 0.98), (100, 3, 0.9), (300, 1, 0.3), (300, 5, 0.95)],
)
def test_a_mean_of_rates_covers(parts: int, rows: int, truth: float) -> None:
    """Nominal 95%; 1000 draws have a standard error of 0.7 points, and rates of few rows jump: 0.91 at the worst."""
    random = np.random.default_rng([7, parts, rows])
    rates = np.clip(truth + 0.1 * random.standard_normal(parts), 0.001, 0.999)
    totals = np.full(parts, rows)
    found = [mean_rate_interval(random.binomial(totals, rates), totals) for _ in range(1000)]
    assert np.mean([low <= rates.mean() <= high for _, low, high in found]) > 0.91 - 3 * 0.009
    assert all(low <= value <= high for value, low, high in found)


def test_a_mean_of_rates_at_its_ends() -> None:
    """All right, or all wrong, in N rows of equal parts is Jeffreys' interval of one rate of N rows."""
    totals = np.full(50, 5)
    whole = rate_intervals(np.array([250]), np.array([250]))
    assert mean_rate_interval(totals, totals) == pytest.approx((1.0, whole.low[0], 1.0), abs=1e-12)  # same quantile
    value, low, high = mean_rate_interval(0 * totals, totals)
    assert (value, low) == (0.0, 0.0)
    assert high == pytest.approx(1 - whole.low[0], abs=1e-12)


def test_a_mean_of_one_rate_is_that_rate() -> None:
    """One part of many rows: the two rows that are borrowed have its own rate."""
    whole = rate_intervals(np.array([700]), np.array([1000]))
    found = mean_rate_interval(np.array([700]), np.array([1000]))
    assert found == pytest.approx((0.7, whole.low[0], whole.high[0]), abs=2e-4)  # n - 1 beside n rows: 1/1000 of 0.03


def test_means_cover_together() -> None:
    """Skewed values (exponential) in eight parts of 200; the bootstrap undershoots a little there."""
    random = np.random.default_rng(3)
    codes = np.repeat(np.arange(8), 200)
    covered = 0
    for number in range(200):  # what is resampled has streams of its own: mean_intervals does not move them on
        found = mean_intervals(random.exponential(1.0, 1600), codes, 8, np.random.default_rng(number), resamples=300)
        covered += bool(((found.low <= 1) & (found.high >= 1)).all())
    assert covered / 200 > 0.88  # nominal 0.95 less 3 standard errors (0.015) and what skew costs at n = 200


def test_shift_is_the_least_squares_coefficient() -> None:
    random = np.random.default_rng(3)
    n, d = 900, 4
    classes = random.integers(0, 3, n)
    group = (random.random(n) < 0.2 + 0.2 * classes).astype(np.int64)  # groups and classes are mixed
    points = random.standard_normal((n, d)) + 3 * classes[:, None]
    points[group == 1] += [1.5, 0.0, 0.0, 0.0]
    found = _shifts(points, classes, Partition("g", group, ("a", "b")))
    design = np.column_stack([classes == k for k in range(3)] + [group == 1]).astype(float)
    beta = np.linalg.lstsq(design, points, rcond=None)[0][3]
    cells = classes * 2 + group
    inner = points - np.stack([points[cells == c].mean(axis=0) for c in range(6)])[cells]
    covariance = inner.T @ inner / (n - 6)
    z = (group == 1) - np.array([(group[classes == k] == 1).mean() for k in range(3)])[classes]
    wanted = np.sqrt(beta @ np.linalg.solve(covariance, beta) - d / (z @ z))
    assert found.value[1] == pytest.approx(wanted, rel=1e-6)  # the covariance has a ridge of 1e-9
    assert found.low[1] < 1.5 < found.high[1]


@pytest.mark.parametrize("d", [1, 5, 10])
def test_noncentralities_against_the_exact_distribution(d) -> None:
    """Sankaran's approximation: tails of the exact law at its ends are 2.5% within a quarter of that."""
    for statistic in (30.0, 100.0, 1000.0):
        low, high = _noncentralities(statistic, d, 0.025)
        assert ncx2.sf(statistic, d, low) == pytest.approx(0.025, rel=0.25)
        assert ncx2.cdf(statistic, d, high) == pytest.approx(0.025, rel=0.25)


def test_pairs_of_the_last_layer_against_a_loop() -> None:
    random = np.random.default_rng(4)
    labels = np.arange(90) % 3
    features = random.standard_normal((90, 5))
    weights, bias = random.standard_normal((3, 5)), random.standard_normal(3)
    layer = last_layer(gather(features, labels=labels, classifier=weights, bias=bias))
    logits = features @ weights.T + bias
    for i in range(3):
        for j in range(3):
            assert layer.wins[i, j] == sum(logits[n, i] > logits[n, j] for n in range(90) if labels[n] == i)
    centred = weights - weights.mean(axis=0)
    cosine = centred[0] @ centred[1] / np.linalg.norm(centred[0]) / np.linalg.norm(centred[1])
    assert layer.classifier_cosines[0, 1] == pytest.approx(cosine, rel=1e-12)


def test_frames_reach_score_and_mixture_fit() -> None:
    import pandas as pd
    import polars as pl

    import lopsided

    random = np.random.default_rng(7)
    points = random.standard_normal((300, 3))
    labels = (points[:, 0] + random.standard_normal(300) > 0).astype(int)
    frame = pd.DataFrame(points, columns=list("abc")).assign(label=labels, group=np.arange(300) % 2)
    by_array = lopsided.score(points, labels)
    for given in (frame.drop(columns="group"), pl.from_pandas(frame.drop(columns="group"))):
        np.testing.assert_allclose(lopsided.score(given).influence.scores, by_array.influence.scores, rtol=1e-12)
    fits = [lopsided.mixture_fit(given, neurons=1) for given in (frame, pl.from_pandas(frame))]
    assert sorted(fits[0].group_names) == ["0", "1"]  # in the order of their law, not of their names
    assert fits[0].training_loss == fits[1].training_loss
