import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.data.clusters import (
    ClusterSpec,
    cluster_each_class,
    component_points,
    hexagon_mixture,
    random_mixture,
    sample_mixture,
    with_random_labels,
    xor_mixture,
)


@pytest.mark.parametrize(
    ("reading", "noise", "centre"),
    [("section 7", 1.0, 5.0), ("appendix D", 900**0.25, (5 * 900**0.5) ** 0.5)],
)
def test_lengths_follow_the_reading_of_the_covariance(reading: str, noise: float, centre: float) -> None:
    # tr(sigma^2/d I) = sigma^2 and tr(sigma/sqrt(d) I) = sigma sqrt(d): mean squared lengths of noise and centre.
    spec = ClusterSpec(dimension=900, normalisation="raw", covariance=reading)
    mixture = random_mixture(spec, generator(0, "mixture"))
    sample = sample_mixture(mixture, 400, generator(0, "sample"))
    gaps = sample.points - mixture.centres[sample.components]
    # Mean of 400 x 900 and of 20 x 900 squared normals: relative standard errors 0.24 % and 1.1 %; five of each.
    assert np.mean(np.sum(gaps**2, axis=1)) == pytest.approx(noise**2, rel=0.012)
    assert np.mean(np.sum(mixture.centres**2, axis=1)) == pytest.approx(centre**2, rel=0.053)


def test_probabilities_are_those_asked_for() -> None:
    wanted = (0.5, 0.1, 0.25, 0.15)
    spec = ClusterSpec(classes=2, components=2, dimension=3, probabilities=wanted)
    sample = sample_mixture(random_mixture(spec, generator(1)), 20_000, generator(2))
    shares = np.bincount(sample.components) / 20_000
    # Standard error of a share is at most sqrt(0.25 / 20000) = 0.0035; four of them.
    np.testing.assert_allclose(shares, wanted, atol=0.0142)
    np.testing.assert_array_equal(sample.labels, sample.components // 2)
    # (A2): rounding of one division.
    np.testing.assert_allclose(np.linalg.norm(sample.points, axis=1), 1, atol=1e-14)


def test_balls_are_uniform_and_stay_inside() -> None:
    mixture = random_mixture(
        ClusterSpec(classes=2, components=1, dimension=3, shape="ball", spread=2.0, normalisation="raw"), generator(0)
    )
    sample = sample_mixture(mixture, 8000, generator(1))
    radii = np.linalg.norm(sample.points - mixture.centres[sample.components], axis=1) / 2.0
    assert radii.max() <= 1
    # P(radius <= q) = q^3; four standard errors of a share of 8000.
    assert (radii <= 0.5).mean() == pytest.approx(0.125, abs=4 * np.sqrt(0.125 * 0.875 / 8000))


def test_xor_is_the_figure_of_the_paper() -> None:
    sample = sample_mixture(xor_mixture(), 500, generator(0))
    rounded = np.round(sample.points / 2).astype(int)
    np.testing.assert_array_equal(rounded.sum(axis=1) % 2, sample.labels)
    assert np.linalg.norm(sample.points - 2 * rounded, axis=1).max() <= 0.05


def test_lifting_moves_antipodes_apart() -> None:
    flat = component_points(hexagon_mixture())
    lifted = component_points(hexagon_mixture(normalisation="lifted"))
    assert np.min(flat.points @ flat.points.T) == pytest.approx(-1)
    # (x, 1)/sqrt(2) and (-x, 1)/sqrt(2) are orthogonal.
    assert np.min(lifted.points @ lifted.points.T) == pytest.approx(0, abs=1e-15)


def test_random_labels_leave_the_points_alone() -> None:
    sample = sample_mixture(random_mixture(ClusterSpec(dimension=20), generator(0)), 2000, generator(1))
    shuffled = with_random_labels(sample, 10, generator(2))
    assert shuffled.points is sample.points
    # Agreement of independent labels: 1/10 with standard error sqrt(0.09/2000) = 0.0067; four of them.
    assert (shuffled.labels == sample.labels).mean() == pytest.approx(0.1, abs=0.027)


def test_clustering_finds_well_separated_components_and_describes_them() -> None:
    mixture = random_mixture(ClusterSpec(classes=3, components=2, dimension=40, spread=0.5), generator(3))
    sample = sample_mixture(mixture, 600, generator(4))
    names = np.array(["ape", "bee", "cow"])[sample.labels]
    found = cluster_each_class(sample.points, names, 2, generator(5))
    # Same partition up to renaming: as many joint labels as components.
    joint = {(a, b) for a, b in zip(sample.components, found.components, strict=True)}
    assert len(joint) == 6


def test_a_class_with_few_distinct_points_gets_that_many_components() -> None:
    points = np.array([[1.0, 0], [1, 0], [0, 1], [0.6, 0.8], [0.8, 0.6]])
    found = cluster_each_class(points, [0, 0, 1, 1, 1], 3, generator(0))
    assert len(set(found.components[:2])) == 1
    assert len(set(found.components[2:])) == 3


@pytest.mark.parametrize(
    "spec",
    [
        ClusterSpec(classes=1),
        ClusterSpec(components=0),
        ClusterSpec(spread=-1.0),
        ClusterSpec(spread=float("nan")),
        ClusterSpec(shape="cube"),  # type: ignore[arg-type]
        ClusterSpec(normalisation="l1"),  # type: ignore[arg-type]
        ClusterSpec(classes=2, components=1, probabilities=(0.5, 0.6)),
        ClusterSpec(classes=2, components=1, probabilities=(1.0,)),
    ],
)
def test_bad_specifications_are_refused_in_a_sentence(spec: ClusterSpec) -> None:
    with pytest.raises(InputError):
        sample_mixture(random_mixture(spec, generator(0)), 10, generator(1))
