import itertools

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.data.clusters import (
    ClusterSpec,
    component_points,
    hexagon_mixture,
    random_mixture,
    sample_mixture,
    xor_mixture,
)
from lopsided.measure.separability import components_needed, separability


def brute(points: np.ndarray, labels: np.ndarray, parts: np.ndarray) -> tuple[float, float]:
    delta, diameter = np.inf, 0.0
    for i, j in itertools.combinations(range(len(points)), 2):
        distance = float(np.linalg.norm(points[i] - points[j]))
        if labels[i] != labels[j]:
            delta = min(delta, distance)
        elif parts[i] == parts[j]:
            diameter = max(diameter, distance)
    return delta, diameter


@pytest.mark.parametrize("dimension", [3, 25])
def test_against_all_pairs(dimension: int) -> None:
    sample = sample_mixture(
        random_mixture(ClusterSpec(classes=3, dimension=dimension, normalisation="raw"), generator(0)), 90, generator(1)
    )
    delta, diameter = brute(sample.points, sample.labels, sample.components)
    exact = separability(sample.points, sample.labels, sample.components)
    # Distances are taken from differences, so only the last bits may differ.
    assert exact.delta == pytest.approx(delta, rel=1e-14)
    assert exact.ratio == pytest.approx((diameter / delta,) * 2, rel=1e-13)
    assert exact.exact
    assert exact.antipodal_delta is None
    # small=0 takes the ways for large samples: tree in 3 dimensions, products in 25.
    large = separability(sample.points, sample.labels, sample.components, small=0)
    assert large.delta == pytest.approx(delta, rel=1e-14)
    low, high = large.largest_diameter
    assert low <= diameter * (1 + 1e-14)
    assert high >= diameter * (1 - 1e-14)
    assert low >= diameter / 2


def test_xor_needs_two_components() -> None:
    sample = sample_mixture(xor_mixture(), 1000, generator(0))
    two = separability(sample.points, sample.labels, sample.components)
    # Section C: points of different balls at least 19/10 apart, diameters at most 1/10.
    assert two.delta >= 1.9
    assert two.ratio[1] <= 0.1 / 1.9
    assert two.verdict == "holds"
    one = separability(sample.points, sample.labels, sample.labels)
    assert one.verdict == "fails"
    assert one.components == 1
    needed = components_needed(sample.points, sample.labels)
    assert (needed.lower, needed.upper) == (2, 2)
    assert needed.ratio == pytest.approx(two.ratio[0])


def test_verdict_is_undecided_when_the_bracket_straddles_the_limit() -> None:
    # An equilateral triangle of side 1 has diameter 1 and radius 1/sqrt(3) about its centroid: upper bound 1.155.
    triangle = np.array([[0.0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])
    far = triangle + np.array([9.0, 0.0])  # delta = 8, limit 1/8 = 1.0 / 8 for l = 1
    points, labels = np.vstack([triangle, far]), np.repeat([0, 1], 3)
    assert separability(points, labels, labels, small=0).verdict == "undecided"
    assert separability(points, labels, labels).verdict == "holds"


def test_the_hexagon_satisfies_a1_and_is_antipodal() -> None:
    corners = component_points(hexagon_mixture())
    measured = separability(corners.points, corners.labels, corners.components)
    assert measured.delta == pytest.approx(1)
    assert measured.ratio == (0, 0)
    assert measured.verdict == "holds"
    assert measured.antipodal_delta == pytest.approx(0, abs=1e-15)


def test_components_needed_brackets_the_best_division() -> None:
    # Small enough to try every division of each class into l parts.
    rng = generator(2)
    points = np.vstack([rng.random((5, 2)) * 0.2, rng.random((5, 2)) * 0.2 + [2.0, 0]])
    labels = np.repeat([0, 1], 5)
    needed = components_needed(points, labels)
    delta, _ = brute(points, labels, labels)

    def best_diameter(members: np.ndarray, parts: int) -> float:
        return min(
            brute(members, np.zeros(5), np.array(split))[1] for split in itertools.product(range(parts), repeat=5)
        )

    true = next(
        parts
        for parts in range(1, 6)
        if max(best_diameter(points[:5], parts), best_diameter(points[5:], parts)) <= delta / (8 * parts)
    )
    assert needed.lower <= true <= needed.upper


def linkage_components(points: np.ndarray, labels: np.ndarray, components: int) -> np.ndarray:
    """Every class cut into at most so many parts by complete linkage."""
    found = np.zeros(len(points), dtype=np.int64)
    for code in np.unique(labels):
        own = np.flatnonzero(labels == code)
        tree = linkage(pdist(points[own]), method="complete")
        found[own] = found.max() + fcluster(tree, components, criterion="maxclust")
    return found


def test_the_witness_is_complete_linkage() -> None:
    sample = sample_mixture(xor_mixture(), 300, generator(6))
    for count in (1, 2, 5):
        parts = linkage_components(sample.points, sample.labels, count)
        measured = separability(sample.points, sample.labels, parts)
        assert measured.components == count
        if count == 2:
            assert measured.verdict == "holds"
            assert measured.ratio[0] == pytest.approx(components_needed(sample.points, sample.labels).ratio)


def test_scaling_and_rotation_change_delta_only_by_scale() -> None:
    sample = sample_mixture(random_mixture(ClusterSpec(classes=3, dimension=6), generator(3)), 120, generator(4))
    turn = np.linalg.qr(generator(5).standard_normal((6, 6)))[0]
    first = separability(sample.points, sample.labels, sample.components)
    second = separability(7 * sample.points @ turn, sample.labels, sample.components)
    assert second.delta == pytest.approx(7 * first.delta)
    assert second.ratio == pytest.approx(first.ratio)


def test_points_with_two_labels_fail_and_bad_input_is_refused() -> None:
    points = np.array([[0.0, 1], [0.0, 1], [1, 0]])
    assert separability(points, [0, 1, 1], [0, 1, 2]).verdict == "fails"
    for call in (
        lambda: components_needed(points, [0, 1, 1]),
        lambda: separability(points, [0, 0, 0], [0, 1, 2]),
        lambda: separability(points, [0, 1, 1], [0, 0, 1]),
        lambda: separability(points * np.nan, [0, 1, 1], [0, 1, 2]),
        lambda: separability(points, [0, 1], [0, 1, 2]),
    ):
        with pytest.raises(InputError):
            call()
