"""Components found in real data: each class clustered by k-means, and the mixture that the clusters describe.

The paper thinks of MNIST as such a mixture (Section 1: writing styles of a digit); nothing there says how to find the
components. Deviation: k-means per class, which minimises squared distances; (A1) speaks of diameters, for which
`measure.separability` searches by complete linkage.
"""

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, check_count, check_labels, check_matrix
from lopsided.data.clusters import ClusterMixture, ClusterSample, Normalisation, normalise


def cluster_each_class(
    points: ArrayLike,
    labels: ArrayLike,
    components: int,
    rng: np.random.Generator,
    *,
    normalisation: Normalisation = "unit",
) -> ClusterSample:
    """Put every example in one of `components` clusters of its class; classes with fewer distinct points get that many.

    `components` of the answer number the clusters over all classes, class by class.
    """
    from sklearn.cluster import KMeans

    matrix = normalise(check_matrix(points, "the points"), normalisation)
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


def describe_mixture(sample: ClusterSample) -> ClusterMixture:
    """The Gaussian mixture with each component's mean, share and isotropic spread: data like `sample`, by the theory.

    The spread is the root mean square deviation per coordinate; a component of one example has spread 0.
    """
    total = int(sample.components.max()) + 1
    sizes = np.bincount(sample.components, minlength=total)
    if (sizes == 0).any():
        raise InputError(
            "an example in every component", f"none in component {int(np.argmin(sizes))}", "number them 0, 1, ..."
        )
    centres = np.zeros((total, sample.points.shape[1]))
    np.add.at(centres, sample.components, sample.points)
    centres /= sizes[:, None]
    classes = np.empty(total, dtype=np.int64)
    classes[sample.components] = sample.labels
    if not np.array_equal(classes[sample.components], sample.labels):
        raise InputError("components inside one class each", "one with two labels", "cluster each class by itself")
    squares: FloatArray = ((sample.points - centres[sample.components]) ** 2).mean(axis=1)
    spreads = np.sqrt(np.bincount(sample.components, weights=squares, minlength=total) / sizes)
    return ClusterMixture(centres, classes, sizes / sizes.sum(), spreads, "gaussian", "raw")
