"""Problems that several tests draw."""

import numpy as np

from lopsided.core.mixture_spec import MixtureProblem, mixture_of, problem_of
from lopsided.core.seeds import generator
from lopsided.data.mixture import MixtureSample, draw_sample, random_mixture


def random_problem(seed: int, *, groups: int = 2, dimension: int = 4, neurons: int = 2, activation: str = "sigmoid"):
    source = generator(seed, "problem")
    mixture = random_mixture(groups, dimension, source)
    return problem_of(mixture, source.standard_normal((dimension, neurons)), activation)


def plain_problem(dimension: int = 5, neurons: int = 3, seed: int = 0) -> MixtureProblem:
    """The paper's default: means +1 and -1, unit covariances, standard normal teacher."""
    mixture = mixture_of([0.5, 0.5], [1, -1], [1, 1], dimension)
    return problem_of(mixture, generator(seed, "teacher").standard_normal((dimension, neurons)))


def sample(problem: MixtureProblem, count: int, seed: int = 0) -> MixtureSample:
    return draw_sample(problem, count, generator(seed, "sample"))


def near(weights: np.ndarray, seed: int, share: float = 0.1) -> np.ndarray:
    """A start at `share` of the teacher's length from it."""
    step = generator(seed, "start").standard_normal(weights.shape)
    return weights + share * np.linalg.norm(weights) * step / np.linalg.norm(step)
