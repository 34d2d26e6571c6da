"""Structured data (Li and Liang 2018, Section 3): k classes, each a mixture of l components.

    z = (class, component) with probability p_{a,b},   x ~ D_z,   y = class of z

Components are Gaussian, uniform balls, or single points (the simplified case S). Assumption (A2) asks |x| = 1; the text
of the experiments leaves open whether it is applied, so the normalisation is a choice by name. The covariance of the
Gaussian experiment is written sigma^2/d I in Section 7 and sigma/sqrt(d) I in Appendix D; both are readings here.

Deviation: "lifted" appends the coordinate 1 before normalising. The paper's network has no bias, and without one no
width can separate antipodal points of different classes (see `hexagon_mixture`).

The paper thinks of MNIST as such a mixture (Section 1: writing styles of a digit); nothing there says how to find the
components. Deviation: k-means per class, which minimises squared distances; (A1) speaks of diameters, for which
`measure.separability` searches by complete linkage.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.validation import (
    FloatArray,
    IntArray,
    check_choice,
    check_count,
    check_finite,
    check_labels,
    check_matrix,
    check_positive,
)

Shape = Literal["gaussian", "ball", "point"]
Normalisation = Literal["unit", "raw", "lifted"]
CovarianceReading = Literal["section 7", "appendix D"]


@dataclass(frozen=True)
class ClusterSpec:
    """Random mixtures: `components` per class in R^`dimension`, with noise of scale `spread` around random centres.

    Under the reading "section 7" a centre has length about `centre_spread` and the noise of a Gaussian component length
    about `spread`, whatever the dimension; a ball has radius `spread`. The defaults are those of Section 7.
    """

    classes: int = 10
    components: int = 2
    dimension: int = 1000
    shape: Shape = "gaussian"
    spread: float = 1.0
    centre_spread: float = 5.0
    normalisation: Normalisation = "unit"
    covariance: CovarianceReading = "section 7"
    probabilities: Sequence[float] | None = None


@dataclass(frozen=True)
class ClusterMixture:
    """A distribution: one row of `centres` per component, with its class, its probability and its spread.

    `spreads` holds standard deviations per coordinate for Gaussian components, radii for balls, zeros for points.
    """

    centres: FloatArray  # (k l, d)
    classes: IntArray  # (k l,)
    probabilities: FloatArray  # (k l,)
    spreads: FloatArray  # (k l,)
    shape: Shape
    normalisation: Normalisation

    @property
    def class_count(self) -> int:
        """k."""
        return int(self.classes.max()) + 1

    @property
    def components_per_class(self) -> int:
        """l, the largest number of components of a class."""
        return int(np.bincount(self.classes).max())


@dataclass(frozen=True)
class ClusterSample:
    """Points as rows, the class of each, and the component it came from (or was put in)."""

    points: FloatArray  # (n, d)
    labels: IntArray  # (n,)
    components: IntArray  # (n,)


def random_mixture(spec: ClusterSpec, rng: np.random.Generator) -> ClusterMixture:
    """Centres i.i.d. from the Gaussian of Section 7; components in the order (class 0, 0), (class 0, 1), ..."""
    classes = check_count(spec.classes, "the number of classes", at_least=2)
    components = check_count(spec.components, "the number of components per class")
    dimension = check_count(spec.dimension, "the dimension")
    check_choice(spec.shape, get_args(Shape), "a shape")
    check_choice(spec.covariance, get_args(CovarianceReading), "a covariance reading")
    check_positive(spec.centre_spread, "the spread of the centres")
    if spec.shape != "point":
        check_positive(spec.spread, "the spread of a component", remedy="or choose the shape 'point'")
    total = classes * components
    return ClusterMixture(
        centres=rng.standard_normal((total, dimension)) * _deviation(spec.centre_spread, dimension, spec.covariance),
        classes=np.repeat(np.arange(classes), components),
        probabilities=_checked_probabilities(spec.probabilities, total),
        spreads=np.full(total, _component_spread(spec, dimension)),
        shape=spec.shape,
        normalisation=spec.normalisation,
    )


def xor_mixture() -> ClusterMixture:
    """The example of Section 3 and Fig 3: balls of radius 0.05 at (0,0) and (2,2) against balls at (0,2) and (2,0)."""
    centres = np.array([[0.0, 0.0], [2.0, 2.0], [0.0, 2.0], [2.0, 0.0]])
    return ClusterMixture(centres, np.array([0, 0, 1, 1]), np.full(4, 0.25), np.full(4, 0.05), "ball", "raw")


def hexagon_mixture(*, normalisation: Normalisation = "unit") -> ClusterMixture:
    """The six corners of a regular hexagon, classes alternating: (A1) with delta = 1, lambda = 0, l = 3, and (A2).

    No network f_i(x) = sum_r a_ir ReLU(<w_r, x>) classifies it: g = f_0 - f_1 has g(x) - g(-x) linear in x, so these
    three differences sum to 0 over the corners of class 0, while correct labels need all three positive.
    """
    angles = np.arange(6) * math.pi / 3
    corners = np.column_stack([np.cos(angles), np.sin(angles)])
    return ClusterMixture(corners, np.arange(6) % 2, np.full(6, 1 / 6), np.zeros(6), "point", normalisation)


def sample_mixture(mixture: ClusterMixture, size: int, rng: np.random.Generator) -> ClusterSample:
    """`size` independent examples."""
    check_count(size, "the number of examples")
    components = rng.choice(len(mixture.probabilities), size=size, p=mixture.probabilities)
    points = mixture.centres[components].copy()
    if mixture.shape == "gaussian":
        points += rng.standard_normal(points.shape) * mixture.spreads[components, None]
    elif mixture.shape == "ball":
        points += _uniform_ball(points.shape, rng) * mixture.spreads[components, None]
    return ClusterSample(normalise(points, mixture.normalisation), mixture.classes[components], components)


def component_points(mixture: ClusterMixture) -> ClusterSample:
    """The simplified case (S): each component is its centre; weigh them by `mixture.probabilities`."""
    points = normalise(mixture.centres, mixture.normalisation)
    return ClusterSample(points, mixture.classes, np.arange(len(points)))


def with_random_labels(sample: ClusterSample, classes: int, rng: np.random.Generator) -> ClusterSample:
    """The same points under labels drawn uniformly from `classes`, so that only memorising helps."""
    check_count(classes, "the number of classes", at_least=2)
    return replace(sample, labels=rng.integers(classes, size=len(sample.labels)))


def normalise(points: FloatArray, how: Normalisation) -> FloatArray:
    """Rows to length 1 ("unit", A2), untouched ("raw"), or to length 1 after a coordinate 1 is appended ("lifted")."""
    check_choice(how, get_args(Normalisation), "a normalisation")
    check_finite(points, "the points")
    if how == "raw":
        return points
    if how == "lifted":
        points = np.column_stack([points, np.ones(len(points))])
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    if not lengths.all():
        got = f"{int((lengths == 0).sum())} at 0"
        raise InputError("points other than 0 to normalise", got, "choose 'lifted' or 'raw'")
    return np.asarray(points / lengths, dtype=np.float64)


def _component_spread(spec: ClusterSpec, dimension: int) -> float:
    if spec.shape == "point":
        return 0.0
    return spec.spread if spec.shape == "ball" else _deviation(spec.spread, dimension, spec.covariance)


def _deviation(scale: float, dimension: int, reading: CovarianceReading) -> float:
    """Standard deviation of one coordinate."""
    return scale / math.sqrt(dimension) if reading == "section 7" else math.sqrt(scale / math.sqrt(dimension))


def _uniform_ball(shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Uniform in the unit ball: a uniform direction, and a radius whose d-th power is uniform."""
    directions = rng.standard_normal(shape)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(directions * rng.random((shape[0], 1)) ** (1 / shape[1]))


def _checked_probabilities(given: Sequence[float] | None, total: int) -> FloatArray:
    if given is None:
        return np.full(total, 1 / total)
    probabilities = np.asarray(given, dtype=np.float64)
    if probabilities.shape != (total,) or not np.isfinite(probabilities).all() or (probabilities < 0).any():
        got = f"shape {probabilities.shape}"
        raise InputError(f"{total} probabilities >= 0, one per component", got)
    if abs(probabilities.sum() - 1) > 1e-9:  # written by hand as decimals; the rest is rounding
        raise InputError("probabilities that sum to 1", f"{probabilities.sum():g}", "divide them by their sum")
    return np.asarray(probabilities / probabilities.sum())


def cluster_each_class(
    points: ArrayLike, labels: ArrayLike, components: int, rng: np.random.Generator
) -> ClusterSample:
    """Put every example, scaled to length 1, in one of `components` clusters of its class; a class with fewer distinct
    points gets that many.

    `components` of the answer number the clusters over all classes, class by class.
    """
    from sklearn.cluster import KMeans

    matrix = normalise(check_matrix(points, "the points"), "unit")
    codes, _ = check_labels(labels, length=len(matrix))
    wanted = check_count(components, "the number of components per class")
    found = np.empty(len(matrix), dtype=np.int64)
    first = 0
    for code in range(int(codes.max()) + 1):
        members = np.flatnonzero(codes == code)
        clusters = min(wanted, len({row.tobytes() for row in matrix[members]}))  # no more than distinct points
        model = KMeans(clusters, n_init=3, random_state=int(rng.integers(2**31)))
        found[members] = first + model.fit_predict(matrix[members])
        first += clusters
    return ClusterSample(matrix, codes, found)
