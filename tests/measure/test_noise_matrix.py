"""The class-by-class noise matrix: definitions, scikit-learn's shrinkage, unbiasedness, and intervals that cover."""

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.data.patches import draw_patches, patch_distribution
from lopsided.measure.noise_matrix import noise_matrix


def sample(sizes=(60, 40, 80), d=6, seed=0):
    random = generator(seed, "noise matrix")
    mixers = [random.standard_normal((d, d)) for _ in sizes]
    rows = np.vstack([random.standard_normal((n, d)) @ M + 5 for n, M in zip(sizes, mixers, strict=True)])
    return rows, np.repeat(np.arange(len(sizes)), sizes), mixers


def test_sample_products_and_ratios_by_definition() -> None:
    rows, labels, _ = sample()
    found = noise_matrix(rows, labels, resamples=0)
    covariances = [np.cov(rows[labels == k].T) for k in range(3)]
    T = np.array([[np.trace(a @ b) for b in covariances] for a in covariances])
    np.testing.assert_allclose(found.products, T, rtol=1e-10)
    sizes = np.array([60, 40, 80])
    np.testing.assert_allclose(found.ratios, (sizes * np.diag(T))[:, None] / (sizes * T), rtol=1e-10)
    assert found.estimator == "sample"
    assert found.note == ""
    assert found.ratios_low is None
    others = [[found.ratios[i, j] for j in range(3) if j != i] for i in range(3)]
    np.testing.assert_allclose(found.weakest_ratios(), np.min(others, axis=1))


def test_shrinkage_is_scikit_learns_and_says_so() -> None:
    from sklearn.covariance import ledoit_wolf

    rows, labels, _ = sample(sizes=(15, 25, 30), d=20)
    found = noise_matrix(rows, labels, resamples=0)
    assert found.estimator == "shrunk"
    assert "1 of 3 classes have fewer examples than the 20 columns" in found.note
    shrunk = []
    for k in range(3):
        own = rows[labels == k]
        covariance, rho = ledoit_wolf(own)
        n = len(own)
        assert found.shrinkage[k] == pytest.approx(rho, rel=1e-9)
        shrunk.append(covariance * n / (n - 1))  # scikit-learn divides by n, the definition here by n - 1
    T = [[np.trace(a @ b) for b in shrunk] for a in shrunk]
    np.testing.assert_allclose(found.products, T, rtol=1e-9)
    assert "biased upwards" in noise_matrix(rows, labels, estimator="sample", resamples=0).note


def test_unbiased_estimator_by_monte_carlo() -> None:
    """On skewed data with n < d the average over draws is tr(Sigma^2) within its error; the plain one is not."""
    d, n, repeats = 12, 8, 3000
    random = generator(0, "unbiased")
    mixer = random.standard_normal((d, d)) / np.sqrt(d)
    truth = np.trace((mixer.T @ mixer) @ (mixer.T @ mixer))
    unbiased, plain = [], []
    for _ in range(repeats):
        rows = (random.exponential(size=(2 * n, d)) - 1) @ mixer  # variance 1, skewed
        labels = np.repeat([0, 1], n)
        unbiased.append(noise_matrix(rows, labels, estimator="unbiased", resamples=0).products[0, 0])
        plain.append(noise_matrix(rows, labels, estimator="sample", resamples=0).products[0, 0])
    error = np.std(unbiased) / np.sqrt(repeats)
    assert abs(np.mean(unbiased) - truth) < 4 * error
    assert np.mean(plain) > 1.5 * truth


def test_intervals_are_the_bootstraps_and_cover() -> None:
    rows, labels, mixers = sample(sizes=(300, 200, 250), d=5, seed=1)
    found = noise_matrix(rows, labels, resamples=2000, random=generator(0, "b"))
    random = generator(1, "direct bootstrap")
    direct = []
    for _ in range(800):
        chosen = np.concatenate([random.choice(np.flatnonzero(labels == k), (labels == k).sum()) for k in range(3)])
        direct.append(noise_matrix(rows[chosen], labels[chosen], resamples=0).ratios)
    low, high = np.quantile(direct, [0.025, 0.975], axis=0)
    off = ~np.eye(3, dtype=bool)
    width = (high - low)[off]
    # First-order against full resampling: within a fifth of the width (800 resamples place a quantile to about 5% of
    # it).
    assert np.all(np.abs(found.ratios_low - low)[off] < 0.2 * width)
    assert np.all(np.abs(found.ratios_high - high)[off] < 0.2 * width)
    truth = [m.T @ m for m in mixers]
    inside = total = 0
    for seed in range(40):
        rng = generator(seed, "coverage")
        fresh = np.vstack([rng.standard_normal((n, 5)) @ m for n, m in zip((300, 200, 250), mixers, strict=True)])
        again = noise_matrix(fresh, labels, resamples=200, random=rng)
        for i in range(3):
            for j in range(3):
                value = np.trace(truth[i] @ truth[j])
                inside += again.products_low[i, j] <= value <= again.products_high[i, j]
                total += 1
    # 95% intervals; the 360 checks are correlated within a draw, so allow down to 85%.
    assert inside / total > 0.85


def test_subsampled_intervals_have_the_same_width() -> None:
    rows, labels, _ = sample(sizes=(4000, 4000, 4000), d=5, seed=2)
    full = noise_matrix(rows, labels, resamples=500, interval_examples=4000, random=generator(0, "x"))
    part = noise_matrix(rows, labels, resamples=500, interval_examples=400, random=generator(0, "x"))
    np.testing.assert_array_equal(full.products, part.products)
    # A deviation estimated from 400 examples errs by some 10% (kurtosis included), each quantile by 5%.
    ratio = (part.products_high - part.products_low) / (full.products_high - full.products_low)
    assert np.all((ratio > 0.6) & (ratio < 1.6))


def test_known_ratios_are_recovered() -> None:
    distribution, built = patch_distribution([1500] * 3, 40, ratios=20.0)
    drawn = draw_patches(distribution, 0)
    found = noise_matrix(drawn.noise, drawn.labels, random=generator(0, "r"))
    off = ~np.eye(3, dtype=bool)
    assert np.all((found.ratios_low <= 20.0 * 1.05) & (found.ratios_high >= 20.0 * 0.95) | ~off)
    np.testing.assert_allclose(found.ratios[off], built.achieved[off], rtol=0.25)  # 3 deviations of 2 l^4 sqrt(8/1500)


def test_refusals() -> None:
    rows, labels, _ = sample()
    with pytest.raises(InputError, match="2 classes"):
        noise_matrix(rows, np.zeros(180, dtype=int))
    with pytest.raises(InputError, match="at least 2 examples in every class"):
        noise_matrix(rows[:61], labels[:61])
    with pytest.raises(InputError, match="auto, sample"):
        noise_matrix(rows, labels, estimator="magic")
    with pytest.raises(InputError, match="NaN"):
        noise_matrix(np.where(rows > 9, np.nan, rows), labels)
