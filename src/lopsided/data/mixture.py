"""Samples of a Gaussian mixture with teacher labels (eq 1):

x ~ sum_l lambda_l N(mu_l, Sigma_l),   P(y = 1 | x) = (1/K) sum_j phi(w_j^T x).
"""

from dataclasses import dataclass

import numpy as np

from lopsided.core.activation import Activation, value
from lopsided.core.mixture_spec import Mixture, MixtureProblem
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray, check_count

TEST_POINTS = 4000


@dataclass(frozen=True)
class MixtureSample:
    """Features (n, d), the group each came from, and labels 0 or 1."""

    features: FloatArray
    groups: IntArray
    labels: FloatArray


def draw_features(mixture: Mixture, count: int, randomness: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """n independent points and their groups; group sizes are random, as in the data model."""
    size = check_count(count, "the number of samples")
    groups = randomness.choice(mixture.groups, size=size, p=mixture.fractions).astype(np.int64)
    noise = randomness.standard_normal((size, mixture.dimension))
    features = np.empty_like(noise)
    for group in range(mixture.groups):
        members = groups == group
        factor = np.linalg.cholesky(mixture.covariances[group])
        features[members] = mixture.means[group] + noise[members] @ factor.T
    return features, groups


def draw_labels(
    features: FloatArray, weights: FloatArray, activation: Activation, randomness: np.random.Generator
) -> FloatArray:
    """y = 1 with probability (1/K) sum_j phi(w_j^T x)."""
    chance = value(features @ weights, activation).mean(axis=1)
    return np.asarray(randomness.random(len(features)) < chance, dtype=np.float64)


def draw_sample(problem: MixtureProblem, count: int, randomness: np.random.Generator) -> MixtureSample:
    """A labelled training set."""
    features, groups = draw_features(problem.mixture, count, randomness)
    return MixtureSample(features, groups, draw_labels(features, problem.weights, problem.activation, randomness))


def draw_group(mixture: Mixture, group: int, count: int, randomness: np.random.Generator) -> FloatArray:
    """Points of one group, for its test set."""
    factor = np.linalg.cholesky(mixture.covariances[group])
    noise = randomness.standard_normal((count, mixture.dimension))
    return np.asarray(mixture.means[group] + noise @ factor.T)


def draw_tests(mixture: Mixture, seed: int) -> list[FloatArray]:
    """Test points of every group, the same for every setting under one seed."""
    return [draw_group(mixture, g, TEST_POINTS, generator(seed, "test", g)) for g in range(mixture.groups)]


def random_rotation(dimension: int, randomness: np.random.Generator) -> FloatArray:
    """Lambda of Fig 4: left singular vectors of a Gaussian matrix, which are uniform on the orthogonal group."""
    left, _, _ = np.linalg.svd(randomness.standard_normal((dimension, dimension)))
    return np.asarray(left)


def rotated_covariance(diagonal: FloatArray, randomness: np.random.Generator) -> FloatArray:
    """Lambda^T D Lambda with a random rotation (Fig 4)."""
    rotation = random_rotation(len(diagonal), randomness)
    turned = rotation.T @ np.diag(diagonal) @ rotation
    return np.asarray((turned + turned.T) / 2)


def random_mixture(
    groups: int, dimension: int, randomness: np.random.Generator, *, shift: float = 1.0, widest: float = 4.0
) -> Mixture:
    """A mixture with nothing special about it: Dirichlet fractions of at least 0.05, means of length about `shift`
    sqrt(d), covariances rotated at random with eigenvalues log-uniform on [1/widest, widest]."""
    share = 0.05 + (1.0 - 0.05 * groups) * randomness.dirichlet(np.ones(groups))
    means = shift * randomness.standard_normal((groups, dimension))
    spread = np.log(widest)
    covariances = np.array(
        [rotated_covariance(np.exp(randomness.uniform(-spread, spread, dimension)), randomness) for _ in range(groups)]
    )
    return Mixture(share / share.sum(), means, covariances)
