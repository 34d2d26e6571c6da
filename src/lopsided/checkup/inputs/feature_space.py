"""The space in which the checks look at features: scaled where columns have units of their own, reduced where large.

Columns that bear names (csv, frames), and columns whose deviations differ by more than `UNLIKE` times the median, are
scaled to unit deviation; pixels and last layers are left in their common unit. Where class covariances would not fit
into `MOST_BYTES`, features are turned into their leading principal components, found on a sample; the words say so.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.row_contents import feature_digests, row_keys
from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray, FloatArray, IntArray
from lopsided.measure.class_moments import ClassMoments, moments_of_blocks

SAMPLE_ROWS, SAMPLE_NUMBERS = 20_000, 20_000_000
SMALL_SPACE = 10  # components of the sample
LARGE_SPACE = 128  # components where covariances of all columns would be too large
MOST_BYTES = 100_000_000  # of all class covariances together: ten classes of 784 columns fit
LEADING_BYTES = 4 * MOST_BYTES  # of those in leading components: 3,000 classes have all `LARGE_SPACE`, more have fewer
MOST_CLASSES = 20_000  # beyond, classes have too few rows, and too little memory, for moments of their own
UNLIKE = 30.0


@dataclass(frozen=True)
class FeatureMap:
    """x -> (x[kept] - centre) / scale, then the basis where there is one."""

    kept: BoolArray
    centre: FloatArray
    scale: FloatArray
    basis: FloatArray | None  # columns x components
    words: str

    @property
    def width(self) -> int:
        """Columns of the space."""
        return int(self.centre.shape[0] if self.basis is None else self.basis.shape[1])

    def scaled(self, block: NDArray[Any]) -> FloatArray:
        """Rows of features, scaled."""
        rows: FloatArray = (block if self.kept.all() else block[:, self.kept]) - self.centre
        rows /= self.scale
        return rows

    def apply(self, block: NDArray[Any]) -> FloatArray:
        """Rows of features into the space."""
        rows = self.scaled(block)
        return rows if self.basis is None else rows @ self.basis


@dataclass(frozen=True)
class FeatureSample:
    """Training rows (positions in the data, in order) in at most `SMALL_SPACE` principal components."""

    rows: IntArray
    points: FloatArray
    explained: float
    words: str


@dataclass(frozen=True)
class FeatureSpace:
    """The map, a sample, and the moments of every class over all training rows (None without labels)."""

    map: FeatureMap
    sample: FeatureSample
    moments: ClassMoments | None


def training_blocks(evidence: Evidence) -> Iterator[tuple[NDArray[Any], IntArray]]:
    """(features, positions) of the training rows, block by block, as they are stored."""
    training, start = evidence.training, 0
    for block in evidence.features.blocks():
        here = np.flatnonzero(training[start : start + len(block)])
        if here.size:
            yield (block if here.size == len(block) else block[here]), here + start
        start += len(block)


def mapped_blocks(evidence: Evidence, mapping: FeatureMap) -> Iterator[tuple[FloatArray, IntArray]]:
    """(rows of the space, class codes) of the training rows, block by block."""
    for block, rows in training_blocks(evidence):
        yield mapping.apply(block), evidence.labelled.codes[rows]


def chosen_rows(evidence: Evidence, most: int) -> IntArray:
    """At most `most` training rows, every class in proportion but with at least its share of an even split.

    Of more than `most` classes some are left out, at random. Which rows are drawn depends on their features and the
    seed alone (see `row_contents`), not on their order or on names.
    """
    rows = np.flatnonzero(evidence.training)
    if rows.size <= most:
        return rows
    codes = np.zeros(rows.size, dtype=np.int64) if evidence.classes is None else evidence.classes.codes[rows]
    rank = row_keys(feature_digests(evidence)[rows], codes, evidence.seed)
    if evidence.classes is None:
        return np.sort(rows[rank < most])
    counts = np.bincount(codes, minlength=len(evidence.classes.names))
    if np.count_nonzero(counts) > most:
        return np.sort(rows[rank < most])
    quota = np.minimum(counts, np.maximum(1, most // max(1, int(np.count_nonzero(counts)))))
    spare = most - int(quota.sum())
    rest = counts - quota
    if spare > 0 and rest.sum():
        quota = quota + np.minimum(rest, (rest * (spare / rest.sum())).astype(np.int64))
    place = np.empty(rows.size, dtype=np.int64)  # rank of every row within its class
    place[np.lexsort((rank, codes))] = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(rows[place < quota[codes]])


def read_rows(evidence: Evidence, rows: IntArray) -> NDArray[Any]:
    """Features of the chosen rows (sorted positions), read in one pass."""
    return np.concatenate(list(blocks_of_rows(evidence, rows)))


def blocks_of_rows(evidence: Evidence, rows: IntArray) -> Iterator[NDArray[Any]]:
    """Features of the chosen rows (sorted positions), block by block."""
    start = 0
    for block in evidence.features.blocks():
        low, high = np.searchsorted(rows, (start, start + len(block)))
        if high > low:
            yield block[rows[low:high] - start]
        start += len(block)


def feature_space(evidence: Evidence) -> FeatureSpace:
    """Scale and basis from a sample, moments from all training rows."""
    table = evidence.features
    classes = 0 if evidence.classes is None else len(evidence.classes.names)
    if classes > MOST_CLASSES:
        expected = f"at most {MOST_CLASSES:,} classes to compare the features of"
        raise InputError(expected, f"{classes:,}", "merge classes, or give the column that holds them")
    rows = chosen_rows(evidence, max(2, min(SAMPLE_ROWS, SAMPLE_NUMBERS // table.width)))
    values = read_rows(evidence, rows).astype(np.float64)
    deviation = values.std(axis=0)
    kept = deviation > 1e-9 * max(float(deviation.max()), 1e-300)
    if not kept.any():
        raise InputError("features that vary", "constant columns only")
    own_units = table.image_shape is None and (
        table.feature_names is not None or float(deviation[kept].max()) > UNLIKE * float(np.median(deviation[kept]))
    )
    scale = deviation[kept] if own_units else np.full(int(kept.sum()), float(np.sqrt(np.mean(deviation[kept] ** 2))))
    centre = values[:, kept].mean(axis=0)
    scaled = (values[:, kept] - centre) / scale
    width = int(kept.sum())
    large = 8 * max(classes, 1) * width * width > MOST_BYTES
    leading = min(LARGE_SPACE, math.isqrt(LEADING_BYTES // (8 * max(classes, 1))))
    directions, energy = principal_directions(scaled, leading if large else min(SMALL_SPACE, width), evidence.seed)
    total = float(np.square(scaled).sum()) / len(scaled)
    few = directions[:, :SMALL_SPACE]
    explained = float(energy[: few.shape[1]].sum()) / total
    words = "columns scaled to unit deviation" if own_units else "features in one common scale"
    if large:
        words += f", {directions.shape[1]} principal components with {float(energy.sum()) / total:.0%} of the variance"
    mapping = FeatureMap(kept, centre, scale, directions if large else None, words)
    everything = int(evidence.training.sum())
    part = f"{len(rows):,} of {everything:,} training rows" if len(rows) < everything else "all training rows"
    described = f"{part}, {few.shape[1]} principal components with {explained:.0%} of the variance"
    sample = FeatureSample(rows, np.asarray(scaled @ few), explained, described)
    moments = moments_of_blocks(mapped_blocks(evidence, mapping), classes, mapping.width) if classes else None
    return FeatureSpace(mapping, sample, moments)


def principal_directions(scaled: FloatArray, wanted: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Leading directions as columns, and the variance along them."""
    n, d = scaled.shape
    wanted = min(wanted, d, max(1, n - 1))
    if d <= 1024 or wanted > min(n, d) // 2:
        if d <= n:
            values, vectors = np.linalg.eigh(scaled.T @ scaled)
            return np.asarray(vectors[:, ::-1][:, :wanted]), np.maximum(values[::-1][:wanted], 0.0) / n
        _, singular, turn = np.linalg.svd(scaled, full_matrices=False)
        return np.asarray(turn[:wanted].T), np.square(singular[:wanted]) / n
    from sklearn.utils.extmath import randomized_svd

    _, singular, turn = randomized_svd(scaled, wanted, n_iter=4, random_state=seed)
    return np.asarray(turn.T), np.square(singular) / n
