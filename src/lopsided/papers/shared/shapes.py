"""The shape of a curve over seeds as parts of a claim, each an effect with its error and the power to see it.

Curves are of logarithms, so an effect is a factor. If a paper names no size, `WORTH` is the smallest effect that a rule
looks for: a factor of 1.5 from one end to the other.
"""

import math
from typing import Literal

import numpy as np

from lopsided.core.statistics import SeedCurve, SeedMean, seed_mean
from lopsided.papers.parts import Part

WORTH = math.log(1.5)
Shape = Literal["rises", "falls", "valley", "hill"]
OPPOSITE: dict[Shape, Shape] = {"rises": "falls", "falls": "rises", "valley": "hill", "hill": "valley"}


def gap(line: SeedCurve, first: int, last: int) -> SeedMean:
    """The paired difference value[last] - value[first] over the seeds that have both."""
    gaps = line.values[:, last] - line.values[:, first]
    return seed_mean(gaps[np.isfinite(gaps)])


def shape_parts(name: str, line: SeedCurve, wanted: Shape, claimed: float = WORTH) -> list[Part]:
    """One part for a trend; two for a valley or a hill, one for each side of the turning point, which is the most
    extreme place between the ends."""
    last = len(line.x) - 1
    if wanted in ("rises", "falls"):
        return [Part.effect(f"{name} {wanted}", gap(line, 0, last), claimed if wanted == "rises" else -claimed)]
    sign = 1.0 if wanted == "valley" else -1.0
    inner = sign * line.mean[1:last]
    if not np.isfinite(inner).all() or not inner.size:
        return [Part(f"{name}: a {wanted}", False)]
    turn = 1 + int(np.argmin(inner))
    before, after = ("falls", "rises") if wanted == "valley" else ("rises", "falls")
    return [
        Part.effect(f"{name} {before} first", gap(line, 0, turn), -sign * claimed),
        Part.effect(f"{name} {after} then", gap(line, turn, last), sign * claimed),
    ]
