"""Means with error bars over seeds against what other code says of them, and rules that can fail."""

import numpy as np
import pytest
from scipy import stats

from lopsided.core.statistics import (
    SeedCurve,
    accuracy_mean,
    paired_mean,
    paired_rise,
    power,
    power_of_square_mean,
    seed_mean,
    shape,
    standard_error,
    trend,
)


def test_intervals_are_students() -> None:
    # t_{0.975, 2} = 4.30265: mean 2, s = 1, n = 3.
    assert seed_mean([1.0, 2.0, 3.0]).high == pytest.approx(2 + 4.30265 / np.sqrt(3), rel=1e-5)
    assert seed_mean([1.0]).high == np.inf
    values = np.random.default_rng(0).standard_normal(7)
    found, interval = seed_mean(values), stats.t.interval(0.95, 6, values.mean(), stats.sem(values))
    assert (found.low, found.high) == pytest.approx(interval)
    assert float(standard_error(values)) == pytest.approx(stats.sem(values))
    many = seed_mean(values, tests=4)  # the interval of each of four is that of 1 - 0.05 / 4
    assert (many.low, many.high) == pytest.approx(stats.t.interval(1 - 0.05 / 4, 6, values.mean(), stats.sem(values)))


def test_differences_are_paired_by_seed() -> None:
    before, after = {0: 1.0, 1: 5.0, 2: 9.0, 7: 0.0}, {2: 10.0, 1: 6.0, 0: 2.0, 8: 3.0}
    found = paired_mean(before, after)
    assert (found.mean, found.low, found.high) == (1.0, 1.0, 1.0)
    assert found.within(1.0, 0.1)
    assert found.outside(0.0, 0.5)
    assert found.less(1.0).mean == 0.0
    assert np.isnan(paired_mean({0: 1.0}, {1: 1.0}).mean)


def test_errors_of_means() -> None:
    assert accuracy_mean([0.5], 100).error == pytest.approx(0.05)  # binomial: sqrt(0.25 / 100)
    assert accuracy_mean([0.4, 0.6], 10**9).error == pytest.approx(0.1)  # spread over two seeds
    assert accuracy_mean([1.0], 100).error > 0  # no error seen is not no error
    first, last = ({seed: 0.5 + 0.1 * seed - 0.05 * size for seed in range(4)} for size in (0, 1))
    difference, errors = paired_rise(first, last, 10**8)
    assert difference == pytest.approx(-0.05)
    assert errors < -100  # within every seed the fall is the same, whatever the seeds' own level


def test_trends_need_more_than_their_error() -> None:
    source = np.random.default_rng(1)
    x = np.arange(6.0)
    assert trend(SeedCurve(x, x + 0.1 * source.standard_normal((5, 6)))) == "rises"
    assert trend(SeedCurve(x, -x + 0.1 * source.standard_normal((5, 6)))) == "falls"
    words = [trend(SeedCurve(x, source.standard_normal((5, 6)))) for _ in range(300)]
    # A 95 % interval leaves out zero in 5 % of the cases without any trend; five standard errors of 300 draws above.
    assert np.mean([word != "flat" for word in words]) < 0.05 + 5 * np.sqrt(0.05 * 0.95 / 300)
    assert shape(SeedCurve(x, (x - 2) ** 2 + 0.1 * source.standard_normal((5, 6)))) == "valley"
    assert shape(SeedCurve(x, -((x - 2) ** 2) + 0.1 * source.standard_normal((5, 6)))) == "hill"
    assert shape(SeedCurve(x, np.full((5, 6), np.nan))) == "undefined"
    y = (x + 1) ** -0.5 * np.exp(0.01 * source.standard_normal((8, 6)))
    for function in (power, power_of_square_mean):
        exponent, error = function(SeedCurve(x + 1, y))
        assert abs(exponent + 0.5) < 5 * error
        assert error < 0.02
