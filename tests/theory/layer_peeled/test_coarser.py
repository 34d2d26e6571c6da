"""Many sizes by way of fewer: the certificate belongs to the program that was asked for."""

import numpy as np
import pytest

from lopsided.theory.layer_peeled import coarser
from lopsided.theory.layer_peeled.energy import Ball, Penalty
from lopsided.theory.layer_peeled.merged import merge
from lopsided.theory.layer_peeled.newton import solve_merged

# Sizes about 1 % apart, some of them shared, down to classes that collapse.
COUNTS = np.repeat(1000 * np.exp(-0.011 * np.arange(90) ** 1.3), np.arange(90) % 3 + 1)
HELD = [Ball(3.0 * COUNTS.size), Penalty(2e-4)]


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coarser, "MANY_SIZES", 50)


@pytest.mark.parametrize("held", HELD, ids=["ball", "penalty"])
def test_the_certificate_bounds_the_distance_to_the_exact_optimum(few_are_many, held) -> None:
    problem = merge(COUNTS)
    exact = solve_merged(problem, held, tolerance=1e-11)
    assert (problem.weights > exact.multiplier).sum() > 20  # live classes, which may be merged
    gaps = []
    for tolerance in (1e-3, 4e-4):
        found = coarser.solve_by_fewer_sizes(problem, held, tolerance=tolerance)
        above = found.certificate.objective - exact.certificate.objective
        assert found.certificate.relative_gap < tolerance
        # Rounding of the exact solve: its own gap of 1e-11.
        assert -1e-11 * exact.certificate.objective <= above <= found.certificate.gap
        gaps.append(found.certificate.gap)
    assert gaps[1] < gaps[0]


@pytest.mark.parametrize("held", HELD, ids=["ball", "penalty"])
def test_the_spread_solution_is_a_point_of_the_program(held) -> None:
    """Its parts fit together: the decomposition gives the matrix, the norm and the value are the coarser program's."""
    problem = merge(COUNTS)
    coarse, part = coarser.coarsen(problem, 0.05)
    assert coarse.groups < 0.8 * problem.groups
    small = solve_merged(coarse, held, tolerance=1e-8)
    found = coarser.spread(problem, part, coarse, small, held)
    rebuilt = (found.left * found.singular_values) @ found.right
    np.testing.assert_allclose(rebuilt, found.point.matrix, atol=1e-10)  # rounding of products of order 10
    for vectors in (found.left[:, found.singular_values > 0], found.right[found.singular_values > 0].T):
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(vectors.shape[1]), atol=1e-10)
    norm = np.linalg.svd(found.point.matrix, compute_uv=False).sum() + problem.contrast_weight @ found.point.contrasts
    assert norm == pytest.approx(small.nuclear, rel=1e-10)
    assert found.derivatives.value == pytest.approx(small.derivatives.value, rel=1e-12)


def test_where_merging_does_not_pay_nothing_comes_back(few_are_many) -> None:
    assert coarser.solve_by_fewer_sizes(merge(COUNTS), HELD[0], tolerance=1e-10) is None


def test_few_sizes_are_left_to_the_newton_method() -> None:
    assert coarser.solve_by_fewer_sizes(merge(COUNTS[:50]), HELD[0], tolerance=0.1) is None
