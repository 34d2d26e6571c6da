"""rho, the bounds and the Fisher law against quadrature, Monte Carlo, brute force and simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from lopsided.core.errors import InputError
from lopsided.core.mixture_spec import mixture_of, problem_of
from lopsided.core.seeds import generator
from lopsided.data.mixture import draw_group, draw_sample
from lopsided.learners.neuron_matching import match_neurons
from lopsided.learners.teacher_student import loss_gradient_hessian, probability, training_set
from lopsided.learners.teacher_student_newton import newton
from lopsided.measure.mixture_errors import group_risk
from lopsided.theory import fisher_information
from lopsided.theory.fisher_information import group_information
from lopsided.theory.fisher_law import FisherLaw
from lopsided.theory.mixture_bounds import mixture_bounds
from lopsided.theory.mixture_forecast import mixture
from lopsided.theory.rho import rho, rho_terms
from tests.mixture_problems import plain_problem, random_problem


def bell(t):
    decay = np.exp(-np.abs(t))
    return decay / (1 + decay) ** 2


@pytest.mark.parametrize(("u", "s"), [(0.0, 1.0), (2.0, 1.0), (1.5, 8.0), (4.0, 0.3), (6.0, 3.0)])
def test_rho_terms_match_adaptive_quadrature_of_the_definition(u, s):
    def moment(power, q):
        return integrate.quad(
            lambda z: bell(s * z) ** power * z**q * np.exp(-((z - u) ** 2) / 2) / np.sqrt(2 * np.pi),
            min(-12, u - 12),
            u + 12,
            points=sorted({0.0, u}),
            limit=400,
            epsabs=1e-16,
            epsrel=1e-12,
        )[0]

    variance, residual = rho_terms(u, s)
    # The definition subtracts nearly equal numbers: absolute rounding 1e-16 over the value, and quad's 1e-12.
    assert variance == pytest.approx(moment(2, 0) - moment(1, 0) ** 2, rel=1e-8, abs=1e-14)
    assert residual == pytest.approx(moment(2, 2) - moment(1, 2) ** 2 / (u**2 + 1), rel=1e-8, abs=1e-14)


def test_rho_has_the_limits_of_the_notes():
    assert rho([0, 0], 1e-5) == pytest.approx(1e-20 / 128, rel=1e-8)  # s^4/128, next order s^2
    assert rho([0, 0], 1e5) * 1e15 == pytest.approx(0.0858, rel=1e-3)  # the notes give three digits
    assert rho_terms(0.0, 1e-4)[1] == pytest.approx(3e-16 / 128, rel=1e-6)  # not 9 s^2 / 64, as Property 4 prints
    assert rho([3.0], 1.0) == rho_terms(3.0, 1.0)[1]


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=4), st.floats(1e-3, 30))
def test_rho_is_positive_and_blind_to_signs_and_order(u, s):
    assert rho(u, s) > 0
    assert rho(u, s) == pytest.approx(rho([-x for x in reversed(u)], s), rel=1e-9)


def brute_information(problem, group, count, seed):
    """Monte Carlo mean of the score's outer product, and its relative standard error in Frobenius norm."""
    points = draw_group(problem.mixture, group, count, generator(seed, "mc"))
    slopes = bell(points @ problem.weights) / problem.neurons
    chance = probability(problem.weights, points)
    scores = np.einsum("nj,na->nja", slopes, points).reshape(count, -1) / np.sqrt(chance * (1 - chance))[:, None]
    blocks = np.array([part.T @ part / len(part) for part in np.array_split(scores, 20)])
    return blocks.mean(axis=0), blocks.std(axis=0) / np.sqrt(20)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_group_information_matches_monte_carlo_and_its_own_second_method(seed, monkeypatch):
    problem = random_problem(seed, dimension=4, neurons=3)
    brute, error = brute_information(problem, 0, 200_000, seed)
    first = group_information(problem.mixture.means[0], problem.mixture.covariances[0], problem.weights)
    monkeypatch.setattr(fisher_information, "MOST_NODES", 0)
    second = group_information(problem.mixture.means[0], problem.mixture.covariances[0], problem.weights)
    assert second.method == "quasi-Monte Carlo"
    # 78 entries, 20 blocks each: the largest of 78 t-values with 19 degrees of freedom stays below 6.
    assert np.max(np.abs(first.information - brute) / error) < 6
    gap = np.linalg.norm(first.information - second.information) / np.linalg.norm(first.information)
    assert gap < 4 * (first.information_error + second.information_error) + 1e-9  # four standard errors
    assert abs(first.entropy - second.entropy) < 4 * second.entropy_error * second.entropy + 1e-6


@pytest.mark.parametrize(("dimension", "neurons"), [(1, 1), (3, 1), (8, 2), (5, 4)])
def test_information_is_the_expected_hessian_of_the_network(dimension, neurons):
    """E over labels of the Hessian at W* is the Fisher information: the learner's code against the theory's."""
    problem = random_problem(7, dimension=dimension, neurons=neurons, groups=1)
    points = draw_group(problem.mixture, 0, 100_000, generator(8, "x"))
    chance = probability(problem.weights, points)
    expected = np.zeros((dimension * neurons,) * 2)
    blocks = []
    for part in np.array_split(np.arange(len(points)), 10):
        x, p = points[part], chance[part]
        labels = (generator(9, int(part[0])).random(len(part)) < p).astype(float)
        blocks.append(loss_gradient_hessian(problem.weights, training_set(x, labels))[2])
    expected, error = np.mean(blocks, axis=0), np.std(blocks, axis=0) / np.sqrt(10)
    found = group_information(problem.mixture.means[0], problem.mixture.covariances[0], problem.weights).information
    # Many entries and only 10 blocks each: compare in Frobenius norm, four standard errors.
    assert np.linalg.norm(found - expected) < 4 * np.linalg.norm(error)


def test_the_average_excess_is_dk_over_2n_whatever_the_mixture():
    for seed in range(3):
        problem = random_problem(seed, groups=3, dimension=4, neurons=2)
        forecast = FisherLaw(problem).forecast(1000)
        assert forecast.average_excess_risk == pytest.approx(4 * 2 / 2000, rel=1e-9)  # linear algebra only


def test_the_fraction_effect_is_the_derivative_and_the_crossing_its_zero():
    for seed in range(4):
        problem = random_problem(seed, groups=3)
        law = FisherLaw(problem)
        share = problem.mixture.fractions
        effect = law.fraction_effect(1)

        def excess(part, law=law, problem=problem):
            return law.forecast(1000, problem.mixture.with_fraction(1, part).fractions).groups[1].excess_risk

        step = 1e-5
        slope = (excess(share[1] + step) - excess(share[1] - step)) / (2 * step)
        assert effect.elasticity == pytest.approx(share[1] * slope / excess(share[1]), rel=1e-4, abs=1e-8)
        assert effect.effect == ("helps" if slope < 0 else "hurts")
        grid = np.linspace(0.001, 0.999, 400)
        risks = np.array([excess(part) for part in grid])
        assert (np.diff(risks, 2) > -1e-12 * risks.max()).all()  # convex
        if effect.crossing is None:
            assert risks.argmin() in (0, 399)
        else:
            assert abs(grid[risks.argmin()] - effect.crossing) < 0.003  # one grid step


def test_bounds_follow_their_formulas():
    problem = problem_of(mixture_of([0.8, 0.2], [0, 2], [1, [4, 9]]), [[1, 0.5], [0, 2]])
    bounds = mixture_bounds(problem)
    delta = np.linalg.svd(problem.weights, compute_uv=False)
    narrow, spread, lengths = np.array([1.0, 2.0]), np.array([1.0, 3.0]), np.array([0.0, np.sqrt(8)])
    rhos = [
        rho(problem.weights.T @ problem.mixture.means[g] / (delta[1] * narrow[g]), delta[1] * narrow[g]) for g in (0, 1)
    ]
    share = np.array([0.8, 0.2])
    core, scale = share @ (narrow**2 * rhos), share @ (lengths + spread) ** 2
    kappa, eta, tau = delta[0] / delta[1], delta[0] / delta[1], 3.0
    assert np.allclose(bounds.rho, rhos)
    assert pytest.approx(share @ (lengths / narrow + 1) ** 6) == bounds.D6
    assert pytest.approx(share @ (lengths / narrow + 1) ** 12) == bounds.D12
    assert bounds.Gamma == pytest.approx(core / (tau**2 * kappa**2 * eta * 9))
    assert pytest.approx((3 * delta[0]) ** 2 * tau**12 * bounds.Gamma**-2 * bounds.D12) == bounds.B
    assert bounds.q == pytest.approx(core / (eta * tau**2 * kappa**2 * scale))
    assert bounds.v == pytest.approx(1 - bounds.q / 4)
    assert (bounds.Ew, bounds.E) == pytest.approx((np.sqrt(scale) / core, scale / core))
    assert np.allclose(bounds.El, np.sqrt(scale) * (lengths + spread) / core)
    assert bounds.regimes[0].mean == "zero"
    assert "not covered" in bounds.regimes[0].fraction
    assert 0 < bounds.radius < 1


def test_rotations_leave_the_forecast_alone():
    problem = random_problem(3, dimension=4, neurons=2)
    turn = np.linalg.qr(generator(0, "turn").standard_normal((4, 4)))[0]
    group = problem.mixture
    turned = problem_of(
        mixture_of(group.fractions, list(group.means @ turn), [turn.T @ c @ turn for c in group.covariances]),
        turn.T @ problem.weights,
    )
    first, second = mixture(problem, 500), mixture(turned, 500)
    # Quadrature on a turned grid: its own error estimate decides.
    slack = 4 * (first.law.relative_error + second.law.relative_error) + 1e-8
    for a, b in zip(first.law.groups, second.law.groups, strict=True):
        assert a.excess_risk == pytest.approx(b.excess_risk, rel=slack)
    assert first.law.weight_error == pytest.approx(second.law.weight_error, rel=slack)
    assert first.bounds.Ew == pytest.approx(second.bounds.Ew, rel=1e-8)


def test_an_unidentifiable_teacher_is_declined():
    with pytest.raises(InputError, match="rank"):
        mixture(problem_of(mixture_of([1.0], [0], [1], 3), np.ones((3, 2))), 100)
    with pytest.raises(InputError, match="samples"):
        mixture(plain_problem(), 0)


def test_the_law_matches_simulation_on_a_random_mixture():
    """Newton on 60 samples: mean excess per group, mean squared weight error; all three rooms and the law together."""
    problem = random_problem(11, groups=2, dimension=3, neurons=2)
    count, repeats = 6000, 60
    forecast = FisherLaw(problem).forecast(count)
    assert forecast.reliable
    tests = [draw_group(problem.mixture, group, 20_000, generator(group, "test")) for group in (0, 1)]
    excess, distance = [], []
    for repeat in range(repeats):
        drawn = draw_sample(problem, count, generator(repeat, "train"))
        point = newton(training_set(drawn.features, drawn.labels), problem.weights)
        assert point.found
        excess.append([group_risk(point.weights, problem.weights, points).excess for points in tests])
        distance.append(match_neurons(point.weights, problem.weights).distance ** 2)
    for group in (0, 1):
        values = np.array(excess)[:, group]
        slack = 4 * values.std(ddof=1) / np.sqrt(repeats)
        # Four standard errors, and the law's own bias at this n (a few per cent; 10 allowed).
        assert (
            abs(values.mean() - forecast.groups[group].excess_risk) < slack + 0.1 * forecast.groups[group].excess_risk
        )
    slack = 4 * np.std(distance, ddof=1) / np.sqrt(repeats)
    assert abs(np.mean(distance) - forecast.weight_error) < slack + 0.1 * forecast.weight_error


@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "erf"])
@pytest.mark.parametrize(("dimension", "neurons"), [(1, 1), (1, 3), (4, 1), (2, 2), (2, 4), (5, 3)])
def test_sums_along_the_axes_are_those_over_the_nodes(activation, dimension, neurons) -> None:
    """Box by box, with masses and powers taken out, is the sum node by node that far groups still use."""
    random = np.random.default_rng(dimension + neurons)
    offset = random.normal(size=neurons)
    _, triangle = np.linalg.qr(random.normal(size=(dimension, neurons)) * 0.8)
    grids, method = fisher_information._rules(len(triangle), float(np.max(np.linalg.norm(triangle, axis=0))))
    assert method == "quadrature"
    for grid in grids:
        given = offset, triangle, activation, grid
        sums, entropy = fisher_information._moments_on_grid(*given)
        expected, expected_entropy = fisher_information._moments_at_nodes(*given)
        # 1e5 terms added in another order: some tens of roundings
        np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=1e-13 * np.abs(expected).max())
        assert entropy == pytest.approx(expected_entropy, rel=1e-12)


@pytest.mark.parametrize("activation", ["sigmoid", "tanh"])
def test_a_far_group_keeps_its_tiny_information(activation) -> None:
    """At z near -250 the squares of phi' underflow, but their quotient by H (1 - H) does not."""
    far = np.array([-240.0, -250.0]) / (2 if activation == "tanh" else 1)
    (grid,), _ = fisher_information._rules(2, 1.0, coarse=True)
    given = far, np.array([[0.8, 0.3], [0.0, 0.5]]), activation, grid
    sums, entropy = fisher_information._moments_on_grid(*given)
    expected, expected_entropy = fisher_information._moments_at_nodes(*given)
    assert 0 < expected[0, 0, 0, 0] < 1e-90
    np.testing.assert_allclose(sums, expected, rtol=1e-11, atol=1e-12 * expected.max())
    assert entropy == pytest.approx(expected_entropy, rel=1e-11)
