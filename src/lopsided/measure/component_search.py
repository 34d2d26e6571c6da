"""Which number l of components per class would satisfy (A1) of Li and Liang (2018), and which components those are.

delta does not depend on how classes are divided, so the question is one about diameters: for which l can every class
be cut into l parts of diameter <= delta/(8 l)? Complete linkage answers from above: its merge heights are the
diameters of its clusters, so one run gives them for every l. A farthest-first traversal answers from below: its first
l + 1 points are pairwise at least r_l apart, so some part of any division into l has diameter r_l or more.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_count, check_labels, check_matrix
from lopsided.measure.separability import class_distance, diameter_ratio

MOST_PER_CLASS = 10_000  # complete linkage holds all pairs of a class: 400 MB here


@dataclass(frozen=True)
class ComponentsNeeded:
    """The smallest l with which (A1) can hold on the sample lies in [lower, upper]; `upper` has a witness.

    `ratio` is lambda of that witness, the components of `linkage_components` at l = `upper`.
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
        raise InputError("points of different classes apart", "two at distance 0", "remove points with two labels")
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


def linkage_components(points: ArrayLike, labels: ArrayLike, components: int) -> IntArray:
    """Cut every class into at most `components` parts by complete linkage, which keeps diameters small.

    Returns one number per example, counted over all classes, class by class.
    """
    from scipy.cluster.hierarchy import fcluster

    matrix, classes = _checked(points, labels)
    wanted = check_count(components, "the number of components per class")
    found = np.zeros(len(matrix), dtype=np.int64)
    first = 0
    for code in range(int(classes.max()) + 1):
        members = np.flatnonzero(classes == code)
        if len(members) == 1:
            parts = np.zeros(1, dtype=np.int64)
        else:
            parts = fcluster(_linkage(matrix[members]), wanted, criterion="maxclust").astype(np.int64) - 1
        found[members] = first + parts
        first += int(parts.max()) + 1
    return found


def _checked(points: ArrayLike, labels: ArrayLike) -> tuple[FloatArray, IntArray]:
    matrix = check_matrix(points, "the points")
    classes, names = check_labels(labels, length=len(matrix))
    if len(names) < 2:
        raise InputError("at least two classes", len(names), "separability is between classes")
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
