"""A start from a neighbouring solution changes the time of a solve, not its answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lopsided
from lopsided.theory.layer_peeled.merged import merge
from lopsided.theory.layer_peeled.solve import point_near

SIZES = st.lists(st.sampled_from([3.0, 5.0, 8.0, 20.0, 50.0, 51.0, 300.0]), min_size=4, max_size=9)


@given(SIZES, st.data())
def test_warm_and_cold_solves_agree(before, data) -> None:
    after = [count * data.draw(st.sampled_from([1.0, 1.0, 1.3, 0.5])) for count in before]
    held = {"tau": 2.0 * len(before)}
    cold, warm = (
        lopsided.collapse(after, **held),
        lopsided.collapse(after, near=lopsided.collapse(before, **held), **held),
    )
    assert warm.relative_gap < 1e-9
    # Both gaps are below 1e-9 of the objective, which is all that either certificate says.
    assert warm.solution.objective == pytest.approx(cold.solution.objective, rel=3e-9)


@pytest.mark.parametrize("near", ["7,5,3", "50*5"])
def test_other_classes_or_forms_are_no_start_but_no_obstacle(near) -> None:
    start = lopsided.collapse(near, tau=6.0)
    found = lopsided.collapse("90,40,10,5,2", multiplier=0.01, near=start)
    assert found.solution.objective == pytest.approx(
        lopsided.collapse("90,40,10,5,2", multiplier=0.01).solution.objective
    )


def test_own_solution_comes_back_as_the_point() -> None:
    solution = lopsided.collapse("90*3,40,10*2,5", tau=12.0).solution
    point = point_near(solution.logits(), solution.problem)
    np.testing.assert_allclose(point.matrix, solution.point.matrix, atol=1e-12)  # sums of K^2 entries of order one
    np.testing.assert_allclose(point.contrasts, solution.point.contrasts, atol=1e-12)
    assert point_near(np.zeros((7, 7)), merge(np.arange(1.0, 8.0))) is None
    assert point_near(np.eye(3), solution.problem) is None


def test_a_solve_that_is_told_to_stop_says_so_and_certifies_what_it_has() -> None:
    counts = [500 * 0.7**k for k in range(12)]
    best = lopsided.collapse(counts, tau=20.0).solution.objective
    gaps = []

    def enough(iteration, gap):
        gaps.append(gap)
        return iteration == 1

    found = lopsided.collapse(counts, tau=20.0, progress=enough)
    assert found.to_dict()["status"].startswith("stopped early")
    assert found.relative_gap == gaps[-1] > 1e-10
    # The certificate is an upper bound on what was left undone.
    assert 0 < found.solution.objective - best <= found.relative_gap * found.solution.objective
