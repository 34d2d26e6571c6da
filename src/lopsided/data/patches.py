"""The two-patch distribution of Xu and Chen 2025, Section 2: one patch is the feature u_y, one the noise A_y zeta.

    x = (u_y, A_y zeta) in random order,  u_k = |u_k| U z_k,  u_k^T A_j = 0,  zeta_i i.i.d. symmetric with variance 1.

A sample keeps the K features once and the n noise patches; `patches()` gives the n x 2 x d array of the definition. The
network of eq (1) sums over patches, so the order carries no information for it.

Footnote 2's homogeneous case is K = 2 with A_k A_k^T = I - sum_k u_k u_k^T / |u_k|^2: ratio 1 and base 1.

Condition 1(a) also asks for a c' > 0 with P[zeta > c'] >= 0.4; `threshold` of a noise family is the largest such c', or
None where the law has none, so the condition can be reported instead of assumed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.factored import FactoredMatrix
from lopsided.core.noise_geometry import NoiseGeometry, noise_geometry
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray, check_choice, check_count
from lopsided.data.noise_construction import NoiseConstruction, construct_noise

NoiseDraw = Callable[[np.random.Generator, tuple[int, int]], FloatArray]


@dataclass(frozen=True)
class NoiseFamily:
    """How to draw a coordinate, the largest c' with P[zeta > c'] >= 0.4, and E[zeta^4]."""

    name: str
    draw: NoiseDraw
    threshold: float | None
    fourth_moment: float


def _triangular(random: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    # The sum of two uniforms on (-1/2, 1/2) has variance 1/6.
    values: FloatArray = (random.random(shape) + random.random(shape) - 1.0) * 6.0**0.5
    return values


def _signs(random: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return 2.0 * random.integers(0, 2, size=shape).astype(np.float64) - 1.0


def _three_points(random: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    # -sqrt 2, 0, sqrt 2 with probabilities 1/4, 1/2, 1/4.
    steps = random.integers(0, 2, size=shape) - random.integers(0, 2, size=shape)
    values: FloatArray = 2.0**0.5 * steps.astype(np.float64)
    return values


FAMILIES = {
    family.name: family
    for family in (
        NoiseFamily("gaussian", lambda random, shape: random.standard_normal(shape), 0.2533471031357997, 3.0),
        NoiseFamily("uniform", lambda random, shape: random.uniform(-(3**0.5), 3**0.5, shape), 0.2 * 3**0.5, 9 / 5),
        # P[zeta > c] = (1 - c/sqrt 6)^2 / 2 = 0.4 at c = sqrt 6 (1 - sqrt 0.8).
        NoiseFamily("triangular", _triangular, 6**0.5 * (1 - 0.8**0.5), 12 / 5),
        # P[zeta > c'] = 1/2 for every c' < 1; the supremum is 1.
        NoiseFamily("signs", _signs, 1.0, 1.0),
        # P[zeta > 0] is only 1/4: this law violates the last line of Condition 1(a).
        NoiseFamily("three points", _three_points, None, 2.0),
    )
}


def noise_family(name: str) -> NoiseFamily:
    """The family of that name."""
    return FAMILIES[check_choice(name, FAMILIES, "a noise family")]


@dataclass(frozen=True)
class PatchDistribution:
    """Features (K x d, row k is u_k), noise matrices, class sizes of a training set, the law of zeta."""

    features: FloatArray
    matrices: tuple[FactoredMatrix, ...]
    sizes: IntArray
    family: str = "gaussian"

    def __post_init__(self) -> None:
        noise_family(self.family)
        if len(self.matrices) != self.classes or self.features.shape[0] != self.classes:
            expected = f"features and noise matrices for {self.classes} classes"
            got = f"{self.features.shape[0]} and {len(self.matrices)}"
            raise InputError(expected, got)
        if self.classes < 2 or np.any(self.sizes < 0):
            raise InputError("at least 2 classes with sizes >= 0", self.sizes.tolist(), "add classes")

    @property
    def classes(self) -> int:
        """K."""
        return int(self.sizes.shape[0])

    @property
    def dimension(self) -> int:
        """d, the length of a patch."""
        return int(self.features.shape[1])

    @property
    def feature_norms(self) -> FloatArray:
        """|u_k|."""
        norms: FloatArray = np.linalg.norm(self.features, axis=1)
        return norms

    def geometry(self) -> NoiseGeometry:
        """Norms of the products of the noise matrices."""
        return noise_geometry(self.matrices)


@dataclass(frozen=True)
class PatchSample:
    """Examples of a `PatchDistribution`: label, noise patch and which of the two places the feature takes."""

    features: FloatArray  # K x d
    labels: IntArray  # n
    noise: FloatArray  # n x d
    feature_first: IntArray  # n, 1 where the feature is patch 1

    def patches(self) -> FloatArray:
        """The n x 2 x d array of the definition."""
        both = np.stack([self.features[self.labels], self.noise], axis=1)
        swapped = self.feature_first == 0
        both[swapped] = both[swapped][:, ::-1]
        return both


def patch_distribution(
    sizes: Sequence[int] | IntArray,
    dimension: int,
    *,
    feature_norms: float | ArrayLike = 1.0,
    ratios: float | ArrayLike = 1.0,
    base: float = 0.5,
    family: str = "gaussian",
    seed: int = 0,
) -> tuple[PatchDistribution, NoiseConstruction]:
    """A distribution with these class sizes, feature norms |u_k| and noise correlation ratios, in random position.

    `ratios` holds for the given sizes: one number for every pair, or a K x K matrix. Returns the distribution and the
    construction behind it, which reports the ratios achieved.

    >>> distribution, built = patch_distribution([100] * 5, 1000, feature_norms=0.0, ratios=100.0)
    >>> bool(built.largest_error < 1e-9)
    True
    """
    counts = np.array([check_count(size, "a class size") for size in sizes], dtype=np.int64)
    d = check_count(dimension, "the dimension", at_least=2 * counts.size)
    norms = np.broadcast_to(np.asarray(feature_norms, dtype=np.float64), counts.shape)
    if not np.all(np.isfinite(norms)) or np.any(norms < 0):
        raise InputError("feature norms >= 0", norms.tolist(), "give one number, or one per class")
    random = generator(seed, "patches", "position")
    # The first columns of a Haar orthogonal matrix, without forming the rest.
    basis = np.linalg.qr(random.standard_normal((d, 2 * counts.size)))[0]
    features, directions = basis[:, : counts.size], basis[:, counts.size :]
    built = construct_noise(features, directions, counts.astype(np.float64), ratios, base=base)
    return PatchDistribution(norms[:, None] * features.T, built.matrices, counts, family), built


def draw_patches(
    distribution: PatchDistribution, seed: int, *names: str | int, sizes: Sequence[int] | IntArray | None = None
) -> PatchSample:
    """A sample with exactly `sizes` examples per class (the distribution's own unless given), classes in order.

    The stream is named by `names`, so that training and test sets under one seed do not overlap.
    """
    counts = distribution.sizes if sizes is None else np.asarray(sizes, dtype=np.int64)
    random = generator(seed, "patches", "sample", *names)
    family = noise_family(distribution.family)
    labels = np.repeat(np.arange(distribution.classes), counts)
    noise = np.empty((labels.size, distribution.dimension))
    start = 0
    for A, count in zip(distribution.matrices, counts, strict=True):
        zeta = family.draw(random, (int(count), distribution.dimension))
        noise[start : start + count] = A.apply(zeta)
        start += int(count)
    return PatchSample(distribution.features, labels, noise, random.integers(0, 2, labels.size))
