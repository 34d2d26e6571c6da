import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.measure.coupling import (
    certified_coupled_fraction,
    coupled_fraction,
    pattern_change,
    pattern_change_of_weights,
    trajectory_gap,
)
from lopsided.measure.weight_change import Travelled, leading_values, relative_distance, spectrum


def test_pattern_change_counts_pairs_and_units_by_hand() -> None:
    before = np.array([[1.0, -1, 2], [1, -1, 2]])
    after = np.array([[1.0, 1, 2], [-1, 1, 3]])
    change = pattern_change(before, after)
    assert change.pairs == pytest.approx(3 / 6)
    assert change.units == pytest.approx(2 / 3)
    np.testing.assert_array_equal(change.per_unit, [0.5, 1.0, 0.0])
    assert coupled_fraction(before, after) == pytest.approx(1 / 3)


def test_chunks_do_not_change_the_count() -> None:
    rng = generator(0)
    initial, final, points = rng.standard_normal((9, 4)), rng.standard_normal((9, 4)), rng.standard_normal((2500, 4))
    whole = pattern_change(points @ initial.T, points @ final.T)
    np.testing.assert_array_equal(pattern_change_of_weights(initial, final, points).per_unit, whole.per_unit)


def test_pattern_change_of_rotated_weights_is_the_angle() -> None:
    # A random direction separates w and w' with probability angle / pi.
    points = generator(1).standard_normal((40_000, 2))
    initial, final = np.array([[1.0, 0.0]]), np.array([[np.cos(0.6), np.sin(0.6)]])
    share = 0.6 / np.pi
    error = np.sqrt(share * (1 - share) / 40_000)
    assert pattern_change_of_weights(initial, final, points).pairs == pytest.approx(share, abs=4 * error)


def test_certificate_is_never_above_what_happened() -> None:
    rng = generator(2)
    points, initial = rng.standard_normal((5, 6)), rng.standard_normal((400, 6))
    for scale in (0.001, 0.03, 0.3):
        final = initial + scale * rng.standard_normal(initial.shape)
        lengths, moved = np.linalg.norm(points, axis=1), np.linalg.norm(final - initial, axis=1)
        certified = certified_coupled_fraction(points @ initial.T, moved, lengths)
        assert certified <= coupled_fraction(points @ initial.T, points @ final.T)
        assert 0 < certified < 1 or scale == 0.3


def test_gap_by_hand() -> None:
    start = np.zeros((2, 2))
    assert trajectory_gap([[3.0, 0], [0, 4]], [[3.0, 0], [0, 1]], start) == pytest.approx(3 / 5)
    assert trajectory_gap(start, start, start) == 0


def test_relative_distance_by_hand() -> None:
    distance = relative_distance([[3.0, 4], [0, 0]], [[3.0, 3], [0, 2]])
    assert distance.frobenius == pytest.approx(np.sqrt(5) / 5)
    assert distance.per_neuron[0] == pytest.approx(0.2)
    assert np.isnan(distance.per_neuron[1])


def test_the_way_travelled_is_followed_without_the_weights() -> None:
    """Updates w_r += sum_s c_{s,r} x_s by hand, against the weights themselves; float64, so to rounding."""
    stream = generator(0, "way")
    start, points = stream.normal(size=(7, 5)), stream.normal(size=(3, 5))
    travelled, weights = Travelled(start), start.copy()
    assert travelled.relative == 0
    for _ in range(4):
        update = stream.normal(size=(3, 7))
        travelled.follow(points @ (weights - start).T, update, points @ points.T)
        weights = weights + update.T @ points
    np.testing.assert_allclose(travelled.distances, np.linalg.norm(weights - start, axis=1), rtol=1e-12)
    assert travelled.relative == pytest.approx(relative_distance(start, weights).frobenius, rel=1e-12)


def test_spectrum_finds_a_planted_rank() -> None:
    rng = generator(3)
    left, right = np.linalg.qr(rng.standard_normal((80, 6)))[0], np.linalg.qr(rng.standard_normal((30, 6)))[0]
    planted = spectrum(left @ right.T + 1e-4 * rng.standard_normal((80, 30)))
    assert planted.gap_at == 6
    assert planted.stable_rank == pytest.approx(6, rel=0.01)  # noise singular values are 1e-4 (sqrt(80) + sqrt(30))
    exact = spectrum(left @ right.T)
    # Six equal singular values: every rank is 6, and rounding does not count.
    assert exact.entropy_rank == pytest.approx(6)
    assert exact.stable_rank == pytest.approx(6)
    assert spectrum(np.zeros((3, 2))).entropy_rank == 0


def test_leading_values_match_the_whole_decomposition_within_their_bounds() -> None:
    rng = generator(5)
    flat = rng.standard_normal((300, 120))
    planted = 30 * np.outer(rng.standard_normal(300), rng.standard_normal(120)) + flat
    for matrix in (flat, planted):
        found, true = leading_values(matrix, 8, rng), np.linalg.svd(matrix, compute_uv=False)
        assert (found.values <= true[:8] * (1 + 1e-12)).all()  # a projection never has larger ones
        for value, error in zip(found.values, found.errors, strict=True):
            assert np.abs(true - value).min() <= error + 1e-10 * true[0]
    # The planted direction stands far above the rest, so it is found to rounding.
    assert found.values[0] == pytest.approx(true[0], rel=1e-12)
    assert len(leading_values(np.eye(3), 10, rng).values) == 3


def test_ranks_do_not_depend_on_scale_or_rotation() -> None:
    rng = generator(4)
    matrix = rng.standard_normal((20, 12))
    rotation = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    first, second = spectrum(matrix), spectrum(17 * matrix @ rotation)
    assert second.entropy_rank == pytest.approx(first.entropy_rank)
    assert second.gap_at == first.gap_at


def test_bad_matrices_are_refused_in_a_sentence() -> None:
    for call in (
        lambda: pattern_change(np.ones((2, 3)), np.ones((3, 2))),
        lambda: pattern_change(np.ones((2, 2)), np.full((2, 2), np.nan)),
        lambda: pattern_change([["a"]], [["b"]]),
        lambda: pattern_change_of_weights(np.ones((2, 3)), np.ones((2, 3)), np.ones((4, 2))),
        lambda: relative_distance(np.zeros((2, 2)), np.ones((2, 2))),
        lambda: relative_distance(np.ones((2, 2)), np.ones((2, 3))),
        lambda: spectrum([[np.inf]]),
        lambda: spectrum([1.0, 2.0]),
    ):
        with pytest.raises(InputError):
            call()
