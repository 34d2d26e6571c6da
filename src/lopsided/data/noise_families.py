"""Symmetric sub-Gaussian laws with variance 1 for the coordinates of zeta (Section 2 of Xu and Chen 2025).

Condition 1(a) also asks for a c' > 0 with P[zeta > c'] >= 0.4; `threshold` is the largest such c', or None where the
law has none, so the condition can be reported instead of assumed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray

Draw = Callable[[np.random.Generator, tuple[int, int]], FloatArray]


@dataclass(frozen=True)
class NoiseFamily:
    """How to draw a coordinate, the largest c' with P[zeta > c'] >= 0.4, and E[zeta^4]."""

    name: str
    draw: Draw
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
    if name not in FAMILIES:
        raise InputError(f"a noise family among {', '.join(FAMILIES)}", repr(name), "name one of those")
    return FAMILIES[name]
