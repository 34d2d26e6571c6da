"""Critical points along prefixes of one sample: the same as damped Newton finds on each prefix by itself."""

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.learners.critical_path import critical_path
from lopsided.learners.teacher_student import TrainingSet, local_model
from lopsided.learners.teacher_student_newton import newton
from lopsided.worlds.mixture_lab import (
    descended_spread,
    drawn_blocks,
    drawn_teacher,
    linear_spread,
    path_of_counts,
    start_near,
    two_groups,
)


def joined(blocks):
    return TrainingSet(
        np.ascontiguousarray(np.concatenate([block.features for block in blocks], axis=1)),
        np.concatenate([block.signs for block in blocks]),
        blocks[0].code,
        blocks[0].activation,
    )


@pytest.mark.parametrize("dimension", [4, 30])  # compiled sums, and matrix products in single precision
def test_every_prefix_ends_where_newton_ends(dimension):
    problem = drawn_teacher(two_groups(dimension, (0.5, 0.5), (1, 0), (1, 1)), 2, 3)
    counts = [4000, 8000, 16_000]
    blocks, lengths = drawn_blocks(problem, counts, 3)
    for place, length in zip(critical_path(blocks, problem.weights, lengths), lengths, strict=True):
        data = joined(blocks[:length])
        assert place.count == data.count
        alone = newton(data, problem.weights)
        assert alone.found
        assert place.point.found
        # A gradient of 1e-8 over the least curvature is how far the point can be off.
        assert np.abs(place.point.weights - alone.weights).max() < 2e-8 / alone.least_curvature
        assert place.point.loss == pytest.approx(alone.loss, abs=1e-12)
        hessian = local_model(alone.weights, data).hessian()
        rebuilt = (place.directions * place.curvatures) @ place.directions.T
        # Float32 products: 6e-8 an operation, summed over blocks of 2048 with random signs.
        assert np.abs(rebuilt - hessian).max() < 2e-6 * np.abs(hessian).max()


def test_where_no_minimum_is_near_none_is_claimed():
    problem = drawn_teacher(two_groups(20, (0.5, 0.5), (1, 0), (1, 1)), 3, 0)
    places = path_of_counts(problem, [200, 12_000], 0)  # 60 weights from 200 labels: separable
    assert not places[0].point.found
    assert places[1].point.found


def test_prefixes_are_checked():
    problem = drawn_teacher(two_groups(2, (0.5, 0.5), (1, 0), (1, 1)), 1, 0)
    blocks, _ = drawn_blocks(problem, [100, 200], 0)
    with pytest.raises(InputError):
        critical_path(blocks, problem.weights, [3])


def test_the_spread_of_the_starts_is_what_descent_shows():
    problem = drawn_teacher(two_groups(4, (0.5, 0.5), (1, 0), (1, 1)), 2, 1)
    counts, starts = [6000, 12_000], 6
    place = path_of_counts(problem, counts, 1)[0]
    first = [start_near(problem, 1, index) for index in range(starts)]
    for steps in (100, 400):
        forecast = linear_spread(place, first, 8.0, steps)
        seen = descended_spread(problem, counts, 1, starts, 8.0, steps)
        assert forecast.stable
        # The same starts; only the curvature's change over a tenth of |W*| is left out, and it acts early.
        assert 0.7 < seen / forecast.spread < 1.4
    assert not linear_spread(place, first, 3.0 / place.curvatures[-1], 10).stable
