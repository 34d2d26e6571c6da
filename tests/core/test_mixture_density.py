"""The score tensors against finite differences of the density, and against Stein's identity."""

import numpy as np
from scipy.stats import multivariate_normal

from lopsided.core.mixture_density import ScoreMoments, log_density, responsibilities
from lopsided.core.mixture_spec import mixture_of
from lopsided.core.seeds import generator
from lopsided.data.mixture import draw_features, random_mixture, random_rotation
from tests.mixture_problems import random_problem


def density(points, mixture):
    return sum(
        share * multivariate_normal(mean, covariance).pdf(points)
        for share, mean, covariance in zip(mixture.fractions, mixture.means, mixture.covariances, strict=True)
    )


def test_density_and_posterior_match_scipy_and_survive_far_points():
    for mixture in (random_mixture(3, 4, generator(0, "m")), mixture_of([0.3, 0.7], [0, 1], [[1, 2, 3, 4], 2])):
        points = generator(1, "x").standard_normal((20, 4)) * 2
        # Both are sums of a few exponentials in float64.
        assert np.allclose(log_density(points, mixture), np.log(density(points, mixture)), rtol=1e-10)
        assert np.allclose(responsibilities(points * 1e4, mixture).sum(axis=1), 1.0)


def test_score_tensors_are_derivatives_of_the_density():
    mixture = random_problem(2, groups=3, dimension=3).mixture
    source = generator(3, "x")
    alpha, basis = source.standard_normal(3), source.standard_normal((3, 2))
    step = 1e-2

    def p(point):
        return float(np.exp(log_density(point[None], mixture)[0]))

    def directional(point, directions):
        """Central differences along each direction in turn; error of order step^2."""
        if not directions:
            return p(point)
        first, rest = directions[0], directions[1:]
        return (directional(point + step * first, rest) - directional(point - step * first, rest)) / (2 * step)

    for point in draw_features(mixture, 3, source)[0]:
        one = ScoreMoments(point[None], np.ones(1), mixture)
        unit = np.eye(3)
        first = [-directional(point, [e]) / p(point) for e in unit]
        second = [[directional(point, [e, f]) / p(point) for e in unit] for f in unit]
        along = [[-directional(point, [e, f, alpha]) / p(point) for e in unit] for f in unit]
        within = [
            [[-directional(point, list(abc)) / p(point) for c in basis.T for abc in [(a, b, c)]] for b in basis.T]
            for a in basis.T
        ]
        # step^2 = 1e-4 times higher derivatives of order 1 to 100 here.
        size = 1 + max(np.abs(within).max(), np.abs(along).max())
        assert np.allclose(one.first(), first, atol=2e-3 * size)
        assert np.allclose(one.second(), second, atol=5e-3 * size)
        assert np.allclose(one.third_along(alpha), along, atol=2e-2 * size)
        assert np.allclose(one.third_within(basis), within, atol=2e-2 * size)


def test_contractions_agree_with_each_other():
    mixture = random_problem(5, dimension=5).mixture
    source = generator(6, "x")
    features, _ = draw_features(mixture, 400, source)
    moments = ScoreMoments(features, source.random(400), mixture)
    block, alpha = source.standard_normal((5, 3)), source.standard_normal(5)
    assert np.allclose(moments.second_times(block), moments.second() @ block)
    assert np.allclose(moments.third_along_times(alpha, block), moments.third_along(alpha) @ block)
    whole = moments.third_within(np.eye(5))
    assert np.allclose(whole @ alpha, moments.third_along(alpha))
    assert np.allclose(whole, whole.transpose(2, 0, 1))


def test_stein_identity_gives_the_gradient_of_any_function():
    """E[f(x) S_1(x)] = E[grad f(x)], E[f S_2] = E[hess f] with f = tanh(a^T x)."""
    mixture = mixture_of([0.4, 0.6], [0.5, -0.2], [1, 0.5], 3)
    source = generator(7, "x")
    features, _ = draw_features(mixture, 400_000, source)
    a = np.array([0.3, -0.5, 0.2])
    t = np.tanh(features @ a)
    moments = ScoreMoments(features, t, mixture)
    # 5 standard errors of the Monte Carlo means; the products have variance of order 1 to 4.
    assert np.allclose(moments.first(), np.mean(1 - t**2) * a, atol=5 * 2 / np.sqrt(4e5))
    assert np.allclose(moments.second(), np.mean(-2 * t * (1 - t**2)) * np.outer(a, a), atol=5 * 4 / np.sqrt(4e5))


def test_samples_have_the_moments_asked_for():
    mixture = random_mixture(3, 4, generator(8, "m"))
    features, groups = draw_features(mixture, 60_000, generator(9, "x"))
    for group in range(3):
        members = features[groups == group]
        scale = mixture.spread[group]
        # 5 standard errors of a mean and of a variance.
        assert abs(len(members) / 60_000 - mixture.fractions[group]) < 5 * 0.5 / np.sqrt(60_000)
        assert np.allclose(members.mean(axis=0), mixture.means[group], atol=5 * scale / np.sqrt(len(members)))
        assert np.allclose(np.cov(members.T), mixture.covariances[group], atol=5 * 2 * scale**2 / np.sqrt(len(members)))
    rotation = random_rotation(4, generator(0, "r"))
    assert np.allclose(rotation @ rotation.T, np.eye(4), atol=1e-13)
