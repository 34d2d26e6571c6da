"""How straight the logarithm of the distance is, where descent has come to rest."""

from types import SimpleNamespace

import numpy as np
import pytest

from lopsided.learners.teacher_student_descent import DescentOutcome
from lopsided.worlds import mixture_lab
from tests.mixture_problems import plain_problem


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("heights", "expected"), [([4.0, 2.0, 1.0, 1.0, 1.0, 1.0], 0.0), ([32.0, 16, 8, 4, 2, 1], 1.0)]
)
def test_a_distance_that_no_longer_falls_is_not_straight(monkeypatch, heights, expected) -> None:
    problem = plain_problem()
    corner = np.zeros((5, 3))
    corner[0, 0] = 1.0
    run = SimpleNamespace(
        trajectory=np.array([height * corner for height in heights]),
        outcome=DescentOutcome.CONVERGED,
        recorded=list(range(len(heights))),
    )
    monkeypatch.setattr(mixture_lab, "descend", lambda *given, **options: run)
    point = SimpleNamespace(weights=np.zeros((5, 3)))
    found = mixture_lab.convergence(problem, None, point, 0.1, 6, 0)
    assert found["straightness"] == pytest.approx(expected, abs=1e-12)
