"""Data with a planted truth, and trials that are small enough for a test."""

import numpy as np

from lopsided.checkup.inputs.evidence import Evidence
from lopsided.core.partition import Partition
from lopsided.data.tables import array_table


def evidence(features, classes, groups=None, **parts) -> Evidence:
    names = tuple(str(name) for name in np.unique(classes))
    codes = np.searchsorted(np.unique(classes), classes).astype(np.int64)
    partitions = {}
    if groups is not None:
        known = np.unique(groups)
        partitions["group"] = Partition(
            "group", np.searchsorted(known, groups).astype(np.int64), tuple(map(str, known))
        )
    table = array_table(np.asarray(features, dtype=float), {}, "planted")
    return Evidence("planted", len(codes), Partition("class", codes, names), partitions, table, **parts)


def two_gaussians(counts, gap, random, width=3) -> Evidence:
    """Classes at distance `gap` in the first column, unit noise."""
    classes = np.repeat(np.arange(len(counts)), counts)
    features = random.standard_normal((classes.size, width))
    features[:, 0] += gap * classes
    return evidence(features, classes)


def nothing_helps(random, size=150) -> Evidence:
    """Three classes of equal chance on a triangle and two groups that differ in nothing but size."""
    classes = random.integers(0, 3, size)
    corners = 1.2 * np.array([[0.0, 1.0], [0.87, -0.5], [-0.87, -0.5]])
    features = corners[classes] + random.standard_normal((size, 2))
    groups = np.where(random.random(size) < 0.3, "b", "a")
    return evidence(features, classes, groups)


def group_with_its_own_rule(random, large=240, small=160, columns=40) -> Evidence:
    """In group b the label follows the sum of columns of its own, which only examples of b can teach."""
    groups = np.repeat(["a", "b"], [large, small])
    features = np.zeros((large + small, 2 + columns))
    is_b = groups == "b"
    features[~is_b, :2] = random.standard_normal((large, 2))
    features[is_b, 2:] = random.standard_normal((small, columns))
    return evidence(features, (features[:, 0] + features[:, 2:].sum(axis=1) > 0).astype(int), groups)
