"""The certified solver for any sizes: derivatives, certificate, invariances, recovery of (W, H)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lopsided.core.errors import InputError
from lopsided.theory.collapse import collapse
from lopsided.theory.layer_peeled.energy import Ball, Penalty, Point, restraint
from lopsided.theory.layer_peeled.merged import Curvature, Objective, merge
from lopsided.theory.layer_peeled.newton import Status
from lopsided.theory.layer_peeled.solve import solve_free

SIZES = [400.0, 250, 250, 250, 90, 60, 60, 20, 9, 9, 4]
COUNTS = st.lists(st.integers(1, 5000), min_size=2, max_size=9)


def full_logits(problem, matrix, contrasts):
    """Z entry by entry, by the definition."""
    group, members = problem.group_of_class, problem.multiplicity
    z = np.zeros((problem.classes, problem.classes))
    for i in range(problem.classes):
        for k in range(problem.classes):
            g, h = group[k], group[i]
            z[i, k] = matrix[h, g] / math.sqrt(members[h] * members[g])
            if g == h:
                z[i, k] += contrasts[g] * ((i == k) - 1 / members[g])
    return z


def loss(z, weights):
    """sum_k f_k CE(z_k, k), naively."""
    return sum(w * (np.log(np.exp(z[:, k]).sum()) - z[k, k]) for k, w in enumerate(weights))


@pytest.fixture
def random_point():
    generator = np.random.default_rng(3)
    problem = merge(np.array(SIZES))
    matrix = generator.normal(size=(problem.groups, problem.groups))
    contrasts = np.where(problem.repeated, generator.uniform(0.2, 2, problem.groups), 0.0)
    return problem, matrix, contrasts, generator


def test_merged_objective_is_the_full_one(random_point) -> None:
    problem, matrix, contrasts, _ = random_point
    z = full_logits(problem, matrix, contrasts)
    weights = problem.weights[problem.group_of_class]
    assert Objective(problem).derivatives(matrix, contrasts).value == pytest.approx(loss(z, weights), rel=1e-13)
    nuclear = np.linalg.svd(matrix, compute_uv=False).sum() + problem.contrast_weight @ contrasts
    assert np.linalg.svd(z, compute_uv=False).sum() == pytest.approx(nuclear, rel=1e-12)


def test_gradient_and_curvature_by_finite_differences(random_point) -> None:
    problem, matrix, contrasts, generator = random_point
    objective = Objective(problem)
    here = objective.derivatives(matrix, contrasts)
    step_matrix = generator.normal(size=matrix.shape)
    step_contrasts = np.where(problem.repeated, generator.normal(size=contrasts.shape), 0.0)
    h = 1e-5

    def at(sign):
        return objective.derivatives(matrix + sign * h * step_matrix, contrasts + sign * h * step_contrasts)

    up, down = at(1), at(-1)
    slope = np.vdot(here.matrix, step_matrix) + here.contrasts @ step_contrasts
    # Central differences: h^2 f'''/6 ~ 1e-10 and rounding 1e-16/h ~ 1e-11.
    assert (up.value - down.value) / (2 * h) == pytest.approx(slope, abs=1e-8)
    curved, curved_contrasts = Curvature(problem, here.masses, 0.01, np.float64).apply(step_matrix, step_contrasts)
    np.testing.assert_allclose(curved * 0.01, (up.matrix - down.matrix) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(curved_contrasts * 0.01, (up.contrasts - down.contrasts) / (2 * h), atol=1e-8)


def test_the_gap_bounds_the_error_at_any_point(random_point) -> None:
    """Weak duality, with the optimum from the solver: the bound holds at random points, and is not small there."""
    problem, _, _, generator = random_point
    counts = np.array(SIZES)
    for regulariser in (Ball(20.0), Penalty(0.01)):
        key = "tau" if isinstance(regulariser, Ball) else "multiplier"
        value = regulariser.tau if isinstance(regulariser, Ball) else regulariser.multiplier
        best = solve_free(counts, restraint(len(SIZES), **{key: value})).certificate.objective
        for _ in range(20):
            matrix = generator.normal(size=(problem.groups, problem.groups)) * generator.uniform(0.01, 2)
            contrasts = np.where(problem.repeated, generator.uniform(0, 3, problem.groups), 0.0)
            nuclear = np.linalg.svd(matrix, compute_uv=False).sum() + problem.contrast_weight @ contrasts
            scale = min(1.0, 20.0 / nuclear)
            matrix, contrasts, nuclear = matrix * scale, contrasts * scale, nuclear * scale
            derivatives = Objective(problem).derivatives(matrix, contrasts)
            operator = derivatives.operator_norm(problem, np.linalg.norm(derivatives.matrix, 2))
            found = regulariser.certify(problem, derivatives, Point(matrix, contrasts), nuclear, operator)
            assert found.objective - best <= found.gap * (1 + 1e-12)
            assert found.gap > 1e-3  # a random point is no optimum, and the certificate says so


@pytest.mark.parametrize("classes", [2, 3, 5, 10, 37, 500, 3000])
def test_equal_sizes_give_the_simplex_frame(classes) -> None:
    forecast = collapse([17] * classes, feature_energy=3, weight_energy=2)
    assert forecast.majority_cosine == pytest.approx(-1 / (classes - 1), rel=1e-12)
    assert forecast.collapsed == []
    assert forecast.solution.rank == classes - 1
    assert forecast.relative_gap < 1e-12
    if classes <= 500:
        w, h = forecast.solution.factors()
        # Theorem 1: h_k = sqrt(E_H/E_W) w_k
        np.testing.assert_allclose(h.T, math.sqrt(3 / 2) * w, atol=1e-12)


@given(COUNTS, st.floats(-3, 4), st.randoms(use_true_random=False))
def test_permutation_and_scale(counts, log_energy, random) -> None:
    energy = math.exp(log_energy)
    first = collapse(counts, feature_energy=energy, weight_energy=1)
    order = list(range(len(counts)))
    random.shuffle(order)
    shuffled = collapse([counts[k] for k in order], feature_energy=energy, weight_energy=1)
    scaled = collapse([7.5 * n for n in counts], feature_energy=energy, weight_energy=1)
    assert first.relative_gap < 1e-9
    # Objectives agree to the certified gap; the merged program is literally the same after sorting.
    assert shuffled.solution.objective == pytest.approx(first.solution.objective, rel=1e-9)
    assert scaled.solution.objective == pytest.approx(first.solution.objective, rel=1e-9)
    assert scaled.count_needed == pytest.approx(7.5 * first.count_needed, rel=1e-5)
    assert sorted(order[k] for k in shuffled.collapsed) == first.collapsed


@given(COUNTS, st.floats(-2, 3))
def test_penalty_and_ball_are_one_program(counts, log_energy) -> None:
    ball = collapse(counts, feature_energy=math.exp(log_energy), weight_energy=1)
    penalty = collapse(counts, multiplier=ball.multiplier)
    # Both are certified to 1e-10 of their objectives; f differs by lambda |d norm| at the most.
    assert penalty.solution.objective + ball.multiplier * penalty.tau == pytest.approx(
        ball.solution.objective + ball.multiplier * ball.tau, rel=1e-8
    )


def test_nearly_equal_sizes_agree_with_merged_ones() -> None:
    """Sizes apart by 1e-9 are not merged, so the large program must find the small one's answer by itself."""
    exact = collapse([100] * 4 + [6] * 4, feature_energy=5, weight_energy=1)
    jitter = 1 + 1e-9 * np.arange(8)
    found = collapse(np.array([100.0] * 4 + [6.0] * 4) * jitter, feature_energy=5, weight_energy=1)
    assert found.solution.problem.groups == 8
    assert found.solution.objective == pytest.approx(exact.solution.objective, rel=1e-8)
    assert found.count_needed == pytest.approx(exact.count_needed, rel=1e-6)
    assert found.minority_cosine == pytest.approx(exact.minority_cosine, abs=1e-4)


@pytest.mark.parametrize("energies", [(5.0, 1.0), (0.4, 3.0)])
def test_recovered_factors(energies) -> None:
    feature_energy, weight_energy = energies
    solution = collapse(SIZES, feature_energy=feature_energy, weight_energy=weight_energy).solution
    for dimension in (None, solution.rank, solution.rank + 7):
        w, h = solution.factors(dimension)
        np.testing.assert_allclose(w @ h, solution.logits(), atol=1e-9)
        # Property 1 (ii): both constraints are active
        assert (w**2).sum() / len(SIZES) == pytest.approx(weight_energy, rel=1e-9)
        assert (h**2).sum() / len(SIZES) == pytest.approx(feature_energy, rel=1e-9)
        np.testing.assert_allclose(np.linalg.norm(w, axis=1), solution.classifier_norms, atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(h, axis=0), solution.feature_norms, atol=1e-6)
    with pytest.raises(InputError, match="at least"):
        solution.factors(solution.rank - 1)
    z = solution.logits()
    np.testing.assert_allclose(z.sum(axis=0), 0.0, atol=1e-8)  # 1^T Z = 0
    others = z + np.where(np.eye(len(SIZES)) > 0, -np.inf, 0.0)
    np.testing.assert_allclose(solution.margins, np.diag(z) - others.max(axis=0), atol=1e-9)


def test_collapsed_classes_of_one_size_share_a_classifier() -> None:
    forecast = collapse([500] * 3 + [120, 80] + [8] * 4, feature_energy=4, weight_energy=1)
    assert forecast.collapsed == [5, 6, 7, 8]
    w, _ = forecast.solution.factors()
    assert np.abs(w[5:] - w[5]).max() == pytest.approx(0.0, abs=1e-12)
    assert np.all(forecast.solution.margins[5:] <= 0)


def test_long_tail() -> None:
    """CIFAR-100-LT, E_H = 5: an independent solver gave 61.32 examples and a tail cosine of 0.9977."""
    counts = [int(500 * 0.01 ** (k / 99)) for k in range(100)]
    forecast = collapse(counts, feature_energy=5, weight_energy=1)
    assert forecast.solution.status is Status.CERTIFIED
    assert forecast.relative_gap < 1e-10
    assert forecast.count_needed == pytest.approx(61.32, abs=5e-3)
    assert forecast.collapsed_cosine == pytest.approx(0.9977, abs=5e-5)
    assert forecast.collapsed == [k for k, n in enumerate(counts) if n <= 61]


@pytest.mark.parametrize("energy", [1e-8, 1e-2, 30.0, 1e3, 4e4])
def test_extreme_energies_stay_certified(energy) -> None:
    forecast = collapse([812, 433, 400, 31, 30, 7], feature_energy=energy, weight_energy=1)
    assert forecast.relative_gap < 1e-9


@pytest.mark.parametrize("ratio", [1e4, 1e8])
def test_extreme_imbalance_stays_certified(ratio) -> None:
    forecast = collapse([3 * ratio, 2 * ratio, ratio, 5, 2, 1], feature_energy=5, weight_energy=1)
    assert forecast.relative_gap < 1e-9


def test_weights_are_oversampling() -> None:
    """Proposition 1, and reweighting is the same program."""
    weighted = collapse([900, 300, 30, 10], feature_energy=2, weight_energy=1, class_weights=[1, 1, 10, 20])
    repeated = collapse([900, 300, 300, 200], feature_energy=2, weight_energy=1)
    assert weighted.solution.objective == repeated.solution.objective
    assert weighted.count_needed == repeated.count_needed


def test_large_penalty_leaves_nothing() -> None:
    forecast = collapse([60, 30, 10], multiplier=0.9)
    assert forecast.tau == 0
    assert forecast.solution.objective == pytest.approx(math.log(3))
    assert forecast.minority_cosine is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "none of them"),
        ({"feature_energy": 5}, "weight energy"),
        ({"feature_energy": 5, "weight_energy": 1, "multiplier": 0.1}, "and"),
        ({"feature_energy": math.nan, "weight_energy": 1}, "nan"),
        ({"feature_energy": -1, "weight_energy": 1}, "-1"),
        ({"multiplier": 0}, "positive"),
        ({"multiplier": math.inf}, "inf"),
        ({"feature_energy": 1e9, "weight_energy": 1e9}, "at most"),
        ({"multiplier": 0.1, "features": "tanh"}, "'tanh'"),
        ({"multiplier": 0.1, "class_weights": [1, 2]}, "3 class weights"),
        ({"multiplier": 0.1, "class_weights": [1, 2, 0]}, "positive"),
    ],
)
def test_refusals(arguments, words) -> None:
    with pytest.raises(InputError, match=words):
        collapse([5, 3, 2], **arguments)
