"""Errata of the group-imbalance papers, derived a second time: NumPy and SciPy alone, nothing of lopsided.

The large-n law is computed here by Monte Carlo, the networks are trained by L-BFGS.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

DRAWS = 20_000


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def slope(z):
    return sigmoid(z) * sigmoid(-z)


def curve(z):
    """The second derivative of the sigmoid."""
    return slope(z) * (1 - 2 * sigmoid(z))


def teacher(seed, dimension=5, neurons=3):
    return np.random.default_rng([7, seed]).standard_normal((dimension, neurons))


def points(mean, variance, count, seed, dimension=5):
    normal = np.random.default_rng([11, seed]).standard_normal((count, dimension))
    return mean + np.sqrt(variance) * normal


def crossed(true, said):
    """Cross entropy of each input from pre-activations; 1 - chance is the mean sigmoid of -z, to keep its digits."""
    return -sum(sigmoid(sign * true).mean(axis=1) * np.log(sigmoid(sign * said).mean(axis=1)) for sign in (1, -1))


def information(weights, x):
    """Fisher information of a group, and its mean label entropy."""
    z = x @ weights
    chance = sigmoid(z).mean(axis=1)
    gradients = (slope(z)[:, :, None] * x[:, None, :]).reshape(len(x), -1) / weights.shape[1]
    odds = chance * sigmoid(-z).mean(axis=1)
    return (gradients / odds[:, None]).T @ gradients / len(x), float(crossed(z, z).mean())


def figure(groups, fractions, seed, samples=10_000):
    """Entropy of average and minority, and the minority's excess by the large-n law, for one teacher."""
    weights = teacher(seed)
    own = [information(weights, points(mean, variance, DRAWS, seed)) for mean, variance in groups]
    total = sum(share * matrix for share, (matrix, _) in zip(fractions, own, strict=True))
    average = sum(share * entropy for share, (_, entropy) in zip(fractions, own, strict=True))
    excess = np.trace(np.linalg.solve(total, own[1][0])) / (2 * samples)
    return average, own[1][1], float(excess)


def typical(groups, fractions, teachers=8):
    """Means over teachers; of the excess the geometric mean."""
    found = np.array([figure(groups, fractions, seed) for seed in range(teachers)])
    return found[:, 0].mean(), found[:, 1].mean(), np.exp(np.log(found[:, 2]).mean())


def trained(weights, x, labels):
    """The minimum of the cross entropy that L-BFGS reaches from the teacher."""
    signs = 2 * labels - 1

    def loss(flat):
        w = flat.reshape(weights.shape)
        z = signs[:, None] * (x @ w)
        chance = sigmoid(z).mean(axis=1)
        back = -(signs / chance)[:, None] * slope(z) / weights.shape[1]
        return -np.log(chance).mean(), (x.T @ back / len(x)).ravel()

    end = minimize(loss, weights.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return end.x.reshape(weights.shape)


def risk(weights, other, x):
    """Entropy and excess of `other` on inputs whose labels `weights` give."""
    true = x @ weights
    entropy = crossed(true, true)
    return float(entropy.mean()), float((crossed(true, x @ other) - entropy).mean())


def test_the_risk_does_not_fall_below_the_label_entropy():
    """(11)-(12) tend to zero with n; the test loss of the teacher itself does not."""
    entropy, excess = risk(teacher(0), teacher(0), points(0.0, 1.0, DRAWS, 0))
    assert excess == pytest.approx(0, abs=1e-12)
    assert entropy > 0.5


def test_the_second_term_of_property_4_by_moments():
    """phi'(sz) = 1/4 - s^2 z^2/16 + O(s^4): the term is s^4/256 (E z^6 - (E z^4)^2) with moments 15 and 3."""
    assert Fraction(15 - 3**2, 256) == Fraction(3, 128)


def gaussian_terms(u, s, order=4000):
    """Var phi'(sz) and min over c of E (phi'(sz) - c)^2 z^2 for z ~ N(u, 1), on an even grid."""
    z = np.linspace(u - 9, u + 9, order)
    density = np.exp(-((z - u) ** 2) / 2)
    density /= density.sum()
    bell = slope(s * z)
    variance = density @ bell**2 - (density @ bell) ** 2
    second = density * z**2
    return variance, second @ bell**2 - (second @ bell) ** 2 / second.sum()


def test_the_limits_of_property_3_3():
    u, s = 1.3, 1e-2
    variance, second = gaussian_terms(u / s, s)
    # A narrow Gaussian: Var phi'(y) = s^2 phi''(u)^2 for y ~ N(u, s^2), times u_j^2/s^2; the other term likewise.
    assert variance * (u / s) ** 2 == pytest.approx(u**2 * curve(u) ** 2, rel=0.01)
    assert second == pytest.approx(u**2 * curve(u) ** 2, rel=0.01)
    assert abs(second / slope(u) ** 2 - 1) > 0.3  # what is printed


def test_lemma_4_fails_away_from_zero():
    variance, second = gaussian_terms(2.0, 1.0)
    rho = min((2.0**2 + 1) * variance, second)
    x = np.random.default_rng(3).standard_normal((400_000, 2)) + 2.0
    values = x[:, 0] * slope(x[:, 0]) - x[:, 1] * slope(x[:, 1])
    square = values**2 / 2
    assert square.mean() + 5 * square.std() / np.sqrt(len(x)) < rho / 2


def test_figure_6a_is_a_falling_entropy_and_a_rising_excess():
    """Printed as a valley. The entropy falls throughout; the excess rises about twenty-fold from sigma = 0.1 to 10."""
    ends = [typical(((2.0, 1.0), (-2.0, sigma**2)), (0.8, 0.2)) for sigma in (0.1, 1.0, 10.0)]
    assert ends[0][1] - 0.01 > ends[1][1] > ends[2][1] + 0.05
    assert ends[0][0] > ends[1][0] > ends[2][0]
    assert 5 * ends[0][2] < ends[1][2] < ends[2][2] / 2


def test_figure_6b_is_no_constant_excess():
    """Printed as rising. Over means from -2 to 4 the minority's excess and its entropy are hills; from 0 to 4 the
    excess falls by more than half."""
    found = {mean: typical(((2.0, 1.0), (mean, 1.0)), (0.8, 0.2)) for mean in (-2.0, 0.0, 2.0, 4.0)}
    assert found[0.0][2] > 2 * found[4.0][2]
    assert found[0.0][2] > 1.2 * found[-2.0][2]
    assert found[-2.0][1] + 0.01 < found[0.0][1] > found[4.0][1] + 0.02


def test_figures_7_have_entropies_that_move_against_them():
    """7a is printed as falling, 7b as rising with the minority's fraction; the average entropy does the opposite, and
    the entropy of a group does not depend on its fraction."""
    small = [typical(((0.0, 10.0), (0.0, 1.0)), (1 - share, share), 6) for share in (0.05, 0.5)]
    large = [typical(((0.0, 1.0), (0.0, 10.0)), (1 - share, share), 6) for share in (0.05, 0.3)]
    assert small[1][0] > small[0][0] + 0.01
    assert large[1][0] < large[0][0] - 0.005
    assert small[0][1] == pytest.approx(small[1][1])
    assert large[0][1] == pytest.approx(large[1][1])
    assert large[1][2] < large[0][2] / 2  # the excess falls in 7b, by the law


def test_figure_7b_in_training():
    """Networks trained to the minimum: the excess of the group of larger covariance falls with its fraction."""
    changes = []
    for seed in range(4):
        weights, ends = teacher(seed), []
        for share in (0.02, 0.3):
            stream = np.random.default_rng([5, seed])
            wide = stream.random(10_000) < share
            x = stream.standard_normal((10_000, 5)) * np.where(wide, np.sqrt(10.0), 1.0)[:, None]
            labels = stream.random(10_000) < sigmoid(x @ weights).mean(axis=1)
            ends.append(risk(weights, trained(weights, x, labels), points(0.0, 10.0, DRAWS, seed))[1])
        changes.append(np.log(ends[1] / ends[0]))
    assert max(changes) < 0


def test_another_power_than_the_square_of_the_width():
    """The least curvature at the teacher, which the rate follows for a fixed step, falls faster than K^-2."""
    widths, slopes = (2, 3, 4, 6), []
    for seed in range(8):
        least = []
        for neurons in widths:
            both = [information(teacher(seed, neurons=neurons), points(mean, 1.0, DRAWS, seed)) for mean in (1, -1)]
            least.append(np.linalg.eigvalsh((both[0][0] + both[1][0]) / 2)[0])
        slopes.append(np.polyfit(np.log(widths), np.log(least), 1)[0])
    assert np.mean(slopes) + 2 * np.std(slopes, ddof=1) / np.sqrt(8) < -2


def test_the_fraction_columns_of_table_1_turn_with_the_variance():
    """core = sum lambda s^2 rho(0, delta s): for delta s below 1 it grows with the share of the *larger* covariance, so
    sqrt(A)/core falls where Table I says that it rises; for delta s above 1 it rises."""
    for level, rises in ((0.25, False), (25.0, True)):
        bounds = []
        for share in (0.05, 0.8):
            variances, shares = np.array([level, 2 * level]), np.array([1 - share, share])
            rho = np.array([min(gaussian_terms(0.0, np.sqrt(variance))) for variance in variances])
            bounds.append(np.sqrt(shares @ variances) / (shares @ (variances * rho)))
        assert (bounds[1] > bounds[0]) == rises


def test_a_step_of_100_is_unstable():
    """2 / largest curvature at the teacher, in the setting of Fig 2."""
    for dimension in (5, 20):
        x = [points(mean, 1.0, DRAWS, 0, dimension) for mean in (1.0, 0.0)]
        both = [information(teacher(0, dimension), own)[0] for own in x]
        assert 2 / np.linalg.eigvalsh((both[0] + both[1]) / 2)[-1] < 50


def test_tanh_is_the_sigmoid_of_twice_the_argument():
    z = np.linspace(-5, 5, 101)
    assert np.allclose((1 + np.tanh(z)) / 2, sigmoid(2 * z), rtol=0, atol=1e-15)
