"""Two class sizes: closed forms, thresholds, limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lopsided.theory.collapse import collapse
from lopsided.theory.layer_peeled.energy import Ball, restraint
from lopsided.theory.layer_peeled.merged import merge
from lopsided.theory.layer_peeled.newton import solve_merged
from lopsided.theory.layer_peeled.solve import solve_two_sizes
from lopsided.theory.layer_peeled.two_sizes import TwoSizes, _both_at_once, _one_in_the_other, solve_for_norm
from lopsided.theory.layer_peeled.two_sizes_thresholds import collapse_ratio, vanishing_ratio

GROUPS = [(5, 5), (7, 3), (3, 7), (2, 2), (1, 4), (20, 4)]


def solve(majority, minority, ratio, energy=5.0):
    return solve_two_sizes(
        majority, minority, ratio, restraint(majority + minority, feature_energy=energy, weight_energy=1)
    )


def minority_cosine(solution):
    members = solution.problem.multiplicity[0]
    return solution.mean_cosine(np.arange(solution.problem.classes) >= members)


@pytest.mark.parametrize(
    ("groups", "energy", "expected"),
    # Independent values, given to seven digits.
    [((5, 5), 5, 12.19245), ((5, 5), 10, 81.10221), ((7, 3), 5, 4.000467), ((3, 7), 5, 245.4969)],
)
def test_collapse_ratio_known(groups, energy, expected) -> None:
    assert collapse_ratio(*groups, 10 * math.sqrt(energy)) == pytest.approx(expected, rel=5e-7)


def test_vanishing_ratio_known() -> None:
    assert vanishing_ratio(7, 3, 10 * math.sqrt(5)) == pytest.approx(5.70533, rel=1e-6)
    assert vanishing_ratio(5, 5, 10 * math.sqrt(5)) is None


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("energy", [0.3, 2.0, 5.0])
def test_collapse_ratio_against_bisection_on_the_general_solver(groups, energy) -> None:
    """The Newton method knows nothing of the closed form; classes collapse when their contrast is zero."""
    majority, minority = groups
    tau = (majority + minority) * math.sqrt(energy)
    threshold = collapse_ratio(majority, minority, tau)

    def collapsed(ratio):
        counts = np.repeat([ratio, 1.0], [majority, minority])
        # Tolerance 0: go on until rounding stops, since at 1e-6 from the threshold the contrast is 1e-7 to 1e-5 only.
        return solve_merged(merge(counts), Ball(tau), tolerance=0.0).point.contrasts[1] == 0

    # 1e-6 relative on either side of the threshold: the resolution that is asked for.
    assert collapsed(threshold * (1 + 1e-6))
    assert not collapsed(threshold * (1 - 1e-6))


@pytest.mark.parametrize("groups", [(7, 3), (9, 1), (5, 2)])
def test_vanishing_ratio_is_where_the_general_solver_loses_the_minority(groups) -> None:
    tau = sum(groups) * math.sqrt(5)
    threshold = vanishing_ratio(*groups, tau)

    def length(ratio):
        counts = np.repeat([ratio, 1.0], groups)
        return solve_merged(merge(counts), Ball(tau), tolerance=1e-12).singular_values.sum()

    assert length(threshold * 1.001) < 1e-6  # zero to the accuracy of the descent
    assert length(threshold * 0.999) > 1e-3  # grows linearly: 1e-3 of the ratio gives far more than that


@pytest.mark.parametrize("groups", [(5, 5), (7, 3), (3, 7), (1, 4), (4, 1), (1, 1)])
@pytest.mark.parametrize("ratio", [1.0, 1.7, 12.0, 1e3, 1e7])
@pytest.mark.parametrize("energy", [0.05, 5.0, 200.0])
def test_certified_to_rounding(groups, ratio, energy) -> None:
    # The scalar program is asked for 1e-10; roots in logarithms reach rounding.
    assert solve(*groups, ratio, energy).certificate.relative_gap < 1e-12


def test_agrees_with_general_solver() -> None:
    for groups in GROUPS:
        for ratio in (1.3, 6.0, 50.0):
            exact = solve(*groups, ratio)
            found = solve_merged(merge(np.repeat([ratio, 1.0], groups)), Ball(exact.norm), tolerance=1e-12)
            # The gap of 1e-12 bounds the objective; the multiplier is first order in the square root of it.
            assert found.derivatives.value == pytest.approx(exact.objective, rel=1e-11)
            assert found.multiplier == pytest.approx(exact.multiplier, rel=1e-6)


def test_newton_and_the_bracketed_roots_agree() -> None:
    """Two ways to the same four scalars; Newton's method settles for most problems, among them the paper's."""
    settled = []
    for groups in [(5, 5), (7, 3), (3, 7), (1, 4), (20, 100)]:
        for ratio in (1.0, 1.7, 12.0, 100.0, 1e6):
            for energy in (0.3, 2.2, 30.0):
                shares = np.array([ratio, 1.0]) / (groups[0] * ratio + groups[1])
                problem, tau = TwoSizes(*groups, *shares), sum(groups) * energy
                slow, fast = _one_in_the_other(problem, tau), _both_at_once(problem, tau)
                settled.append(fast is not None)
                for found in (solve_for_norm(problem, tau), fast or slow):
                    # Both end at the rounding of logarithms; a contrast next to its threshold magnifies it.
                    got = (found.a, found.b, found.p, found.q, found.log_multiplier)
                    expected = (slow.a, slow.b, slow.p, slow.q, slow.log_multiplier)
                    assert got == pytest.approx(expected, rel=1e-11, abs=1e-11)
    assert np.mean(settled) > 0.5


def test_cosine_grows_with_the_ratio_and_reaches_one() -> None:
    for groups in [(5, 5), (7, 3), (3, 7)]:
        threshold = collapse_ratio(*groups, 10 * math.sqrt(5))
        values = [minority_cosine(solve(*groups, ratio)) for ratio in np.geomspace(1, threshold, 40)]
        assert values[0] == pytest.approx(-1 / 9, abs=1e-12)
        assert np.all(np.diff(values) > 0)
        assert minority_cosine(solve(*groups, threshold * (1 + 1e-9))) == 1.0


def test_the_minority_cosine_in_the_four_scalars() -> None:
    """(s K_A/K - b) / (s K_A/K + (K_B-1) b), from the scalars alone."""
    for majority, minority in [(5, 5), (7, 3), (3, 7)]:
        k = majority + minority
        for ratio in (1.5, 3.0):
            shares = np.array([ratio, 1.0]) / (majority * ratio + minority)
            point = solve_for_norm(TwoSizes(majority, minority, *shares), k * math.sqrt(5))
            between = point.s * majority / k
            expected = (between - point.b) / (between + (minority - 1) * point.b)
            # both are solved to rounding; the angle divides numbers of order 1
            assert minority_cosine(solve(majority, minority, ratio)) == pytest.approx(expected, abs=1e-11)


def test_null_where_undefined() -> None:
    past = collapse("1000*7,10*3", feature_energy=5, weight_energy=1)
    assert past.two_sizes.ratio > past.two_sizes.vanishing_ratio
    assert past.minority_cosine is None
    assert past.collapsed == [7, 8, 9]
    single = collapse("100*9,40", feature_energy=5, weight_energy=1)
    assert single.minority_cosine is None
    assert single.two_sizes.ratio_threshold is None
    assert single.two_sizes.vanishing_ratio == pytest.approx(vanishing_ratio(9, 1, single.tau))
    assert single.collapsed == []
    alone = collapse("100,40*9", feature_energy=5, weight_energy=1)
    assert alone.majority_cosine is None
    assert alone.two_sizes.vanishing_ratio is None


def test_infinite_ratio_is_the_limit() -> None:
    for groups in [(5, 5), (7, 3), (3, 7), (1, 9), (9, 1)]:
        limit, near = solve(*groups, math.inf), solve(*groups, 1e15)
        # The minority's share is 1e-15 and its losses are at most tau: f >= 1e-9 moves by 1e-14.
        assert limit.objective == pytest.approx(near.objective, rel=1e-5)
        assert limit.multiplier == pytest.approx(near.multiplier, rel=1e-5)


def test_monotone_thresholds() -> None:
    ratios = [collapse_ratio(5, 5, 10 * math.sqrt(energy)) for energy in (0.1, 1, 3, 5, 10, 30)]
    assert np.all(np.diff(ratios) > 0)
    by_minority = [collapse_ratio(10 - minority, minority, 10 * math.sqrt(5)) for minority in range(2, 9)]
    assert np.all(np.diff(by_minority) > 0)


def test_penalised_threshold() -> None:
    multiplier = 0.01
    forecast = collapse("200*6,10*4", multiplier=multiplier)
    threshold = forecast.two_sizes.ratio_threshold
    for ratio, expected in ((threshold * (1 - 1e-9), False), (threshold * (1 + 1e-9), True)):
        assert bool(collapse([ratio] * 6 + [1.0] * 4, multiplier=multiplier).collapsed) is expected
    vanished = collapse("50*7,10*3", multiplier=0.03)
    edge = vanished.two_sizes.vanishing_ratio
    assert collapse([edge * 1.0001] * 7 + [1.0] * 3, multiplier=0.03).minority_cosine is None
    assert collapse([edge * 0.9999] * 7 + [1.0] * 3, multiplier=0.03).minority_cosine == 1.0


@given(
    majority=st.integers(1, 12),
    minority=st.integers(1, 12),
    log_ratio=st.floats(0, 12),
    log_energy=st.floats(-6, 5),
)
def test_multiplier_is_the_slope_of_the_optimum(majority, minority, log_ratio, log_energy) -> None:
    """d f*/d tau = -lambda, by central differences."""
    tau = (majority + minority) * math.exp(log_energy / 2)
    step = 1e-4 * tau
    ratio = math.exp(log_ratio)

    def optimum(value):
        return solve_two_sizes(majority, minority, ratio, restraint(majority + minority, tau=value))

    middle = optimum(tau)
    slope = (optimum(tau + step).objective - optimum(tau - step).objective) / (2 * step)
    # Central differences err by step^2 f'''/6 (1e-8 relative to tau^2 f'''/f') and by rounding of f over the step.
    rounding = 4e-16 * middle.objective / step / middle.multiplier
    assert -slope == pytest.approx(middle.multiplier, rel=1e-5 * (1 + tau) + 10 * rounding)
