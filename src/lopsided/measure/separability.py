"""Assumption (A1) of Li and Liang (2018), measured on a sample:

    delta  = smallest distance between points of different classes
    lambda = largest diameter of a component / delta;        (A1) asks lambda <= 1/(8 l)

with l the largest number of components in a class.

A sample overestimates delta and underestimates diameters, so a failure on the sample is a failure of the distribution,
while a pass holds only for the sample. Small samples are measured over all pairs. For large ones delta comes from a
nearest neighbour search (a k-d tree in few dimensions, otherwise products in chunks: both exact), and a diameter is
bracketed by farthest-point sweeps from below and twice the radius about the centroid from above; the verdict says when
that bracket cannot decide.

(A1) misses something that its proof uses: Lemma A.2 needs 1 - <x, x'>^2 >= delta^2 across classes, which fails at
antipodal points. `antipodal_delta` is the smallest |x + x'| across classes, for points on the unit sphere.

Which l is enough, and which components? delta does not depend on how classes are divided, so the question is about
diameters: for which l can every class be cut into l parts of diameter <= delta/(8 l)? Complete linkage answers from
above: its merge heights are the diameters of its clusters, so one run gives them for every l. A farthest-first
traversal answers from below: its first l + 1 points are pairwise at least r_l apart, so some part of any division into
l has diameter r_l or more.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_labels, check_matrix

SMALL = 4000  # examples up to which all pairs are compared
MOST_PER_CLASS = 10_000  # complete linkage holds all pairs of a class: 400 MB here
_TREE_DIMENSIONS = 15  # beyond it a k-d tree visits nearly every point
_CHUNK_ENTRIES = 2**23  # 64 MB of distances at a time


@dataclass(frozen=True)
class Separability:
    """delta, the bracket of lambda, l, and the verdict on lambda <= 1/(8 l); `exact` when the bracket is one number."""

    delta: float
    largest_diameter: tuple[float, float]
    ratio: tuple[float, float]  # lambda, from below and from above
    components: int  # l
    needed_ratio: float  # 1/(8 l)
    verdict: Literal["holds", "fails", "undecided"]
    antipodal_delta: float | None

    @property
    def exact(self) -> bool:
        """Whether lambda is known, not bracketed."""
        return self.ratio[0] == self.ratio[1]


def separability(points: ArrayLike, labels: ArrayLike, components: ArrayLike, *, small: int = SMALL) -> Separability:
    """Measure (A1) for given components; a component must lie inside one class."""
    matrix = check_matrix(points, "the points")
    classes, class_names = check_labels(labels, length=len(matrix))
    parts, _ = check_labels(components, "components", length=len(matrix))
    if len(class_names) < 2:
        raise InputError("at least two classes", len(class_names))
    owner = np.full(int(parts.max()) + 1, -1)
    owner[parts] = classes
    if not np.array_equal(owner[parts], classes):
        raise InputError("components inside one class each", "one with two labels", "cluster each class by itself")
    exact = len(matrix) <= small
    delta = class_distance(matrix, classes, small=small)
    brackets = [_diameter(matrix[parts == part], exact) for part in range(len(owner))]
    low, high = max(bracket[0] for bracket in brackets), max(bracket[1] for bracket in brackets)
    count = int(np.bincount(owner).max())
    needed = 1 / (8 * count)
    ratio = diameter_ratio(low, delta), diameter_ratio(high, delta)
    verdict: Literal["holds", "fails", "undecided"]
    fails = delta == 0 or ratio[0] > needed  # (A1) asks delta > 0
    verdict = "fails" if fails else "holds" if ratio[1] <= needed else "undecided"
    unit = np.allclose(np.einsum("ij,ij->i", matrix, matrix), 1.0, rtol=0, atol=1e-6)  # float32 data count as unit
    antipodal = class_distance(matrix, classes, antipodal=True, small=small) if unit else None
    return Separability(delta, (low, high), ratio, count, needed, verdict, antipodal)


def class_distance(points: FloatArray, classes: IntArray, *, antipodal: bool = False, small: int = SMALL) -> float:
    """The smallest distance (or |x + x'|, when `antipodal`) between points of different classes."""
    use_tree = len(points) > small and points.shape[1] <= _TREE_DIMENSIONS
    best = np.inf
    for code in range(int(classes.max()) + 1):
        # Each class against the later ones, so that every pair is met once.
        own, others = points[classes == code], points[classes > code]
        if len(own) and len(others):
            own = -own if antipodal else own
            best = min(best, _nearest_by_tree(own, others) if use_tree else _nearest_by_products(own, others))
    return float(best)


def _nearest_by_tree(own: FloatArray, others: FloatArray) -> float:
    from scipy.spatial import cKDTree

    return float(cKDTree(others).query(own)[0].min())


def _nearest_by_products(own: FloatArray, others: FloatArray) -> float:
    """|x|^2 + |x'|^2 - 2<x, x'> finds the nearest pairs; their distances are then taken from the differences.

    Products lose some eps |x|^2, so every pair within that margin of a chunk's minimum is compared again; centring on
    the mean keeps the squares small.
    """
    centre = others.mean(axis=0)
    first, second = own - centre, others - centre
    squares, own_squares = (np.einsum("ij,ij->i", side, side) for side in (second, first))
    # A sum of d products is off by at most d eps |x||x'|; three such sums make a squared distance.
    margin = 4 * first.shape[1] * float(np.finfo(np.float64).eps) * max(float(squares.max()), float(own_squares.max()))
    best = np.inf
    rows = max(1, _CHUNK_ENTRIES // len(second))
    for start in range(0, len(first), rows):
        chunk = first[start : start + rows]
        distances = squares[None, :] - 2 * (chunk @ second.T) + own_squares[start : start + rows, None]
        least = float(distances.min())
        if least - margin < best**2:
            row, column = np.nonzero(distances <= least + margin)
            best = min(best, float(np.linalg.norm(chunk[row] - second[column], axis=1).min()))
    return best


def _diameter(members: FloatArray, exact: bool) -> tuple[float, float]:
    """(lower, upper) bounds of the largest distance within a component; equal when all pairs were compared."""
    if len(members) == 1:
        return 0.0, 0.0
    if exact:
        from scipy.spatial.distance import pdist

        diameter = float(pdist(members).max())
        return diameter, diameter
    from_centre = np.linalg.norm(members - members.mean(axis=0), axis=1)
    far, lower = int(from_centre.argmax()), 0.0
    while True:  # from each farthest point to the one farthest from it, while that grows
        distances = np.linalg.norm(members - members[far], axis=1)
        far = int(distances.argmax())
        if distances[far] <= lower:
            return lower, max(lower, 2 * float(from_centre.max()))
        lower = float(distances[far])


def diameter_ratio(diameter: float, delta: float) -> float:
    """lambda = diameter / delta; 0 for points, infinite when classes touch."""
    return 0.0 if diameter == 0 else diameter / delta if delta else float("inf")


@dataclass(frozen=True)
class ComponentsNeeded:
    """The smallest l with which (A1) can hold on the sample lies in [lower, upper]; `upper` has a witness.

    `ratio` is lambda of that witness, each class cut into `upper` parts by complete linkage.
    """

    lower: int
    upper: int
    ratio: float
    delta: float


def components_needed(points: ArrayLike, labels: ArrayLike) -> ComponentsNeeded:
    """Search l = 1, 2, ... for diameters <= delta/(8 l). Each point its own component always does (lambda = 0)."""
    matrix, classes = _checked(points, labels)
    delta = class_distance(matrix, classes)
    if delta == 0:
        raise InputError("different points in different classes", "two at distance 0", "remove points with two labels")
    most = int(np.bincount(classes).max())
    attained, forced = np.zeros(most), np.zeros(most)  # at l - 1: largest diameter by linkage, and the bound below any
    for code in range(int(classes.max()) + 1):
        members = matrix[classes == code]
        if len(members) > 1:
            for largest, values in ((attained, _linkage(members)[::-1, 2]), (forced, _farthest_first(members))):
                largest[: len(values)] = np.maximum(largest[: len(values)], values)
    allowed = delta / (8 * np.arange(1, most + 1))
    lower, upper = int(np.argmax(forced <= allowed)) + 1, int(np.argmax(attained <= allowed)) + 1
    return ComponentsNeeded(lower, upper, diameter_ratio(float(attained[upper - 1]), delta), delta)


def _checked(points: ArrayLike, labels: ArrayLike) -> tuple[FloatArray, IntArray]:
    matrix = check_matrix(points, "the points")
    classes, names = check_labels(labels, length=len(matrix))
    if len(names) < 2:
        raise InputError("at least two classes", len(names))
    most = int(np.bincount(classes).max())
    if most > MOST_PER_CLASS:
        raise InputError(f"at most {MOST_PER_CLASS:,} examples per class", f"{most:,}", "give a sample of them")
    return matrix, classes


def _linkage(members: FloatArray) -> FloatArray:
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import pdist

    return np.asarray(linkage(pdist(members), method="complete"))


def _farthest_first(members: FloatArray) -> FloatArray:
    """r_1, r_2, ...: distance of each next point of the farthest-first traversal to those before it."""
    nearest = np.linalg.norm(members - members[0], axis=1)
    radii = np.empty(len(members) - 1)
    for position in range(len(radii)):
        far = int(nearest.argmax())
        radii[position] = nearest[far]
        nearest = np.minimum(nearest, np.linalg.norm(members - members[far], axis=1))
    return radii
