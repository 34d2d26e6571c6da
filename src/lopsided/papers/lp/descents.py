"""Solve programs without a convex form by descent from random starts, without any code of `theory`.

Energy constraints are active at a minimiser (Property 1), so every block of variables is kept on its sphere by scaling,
X = s x, and L-BFGS descends on x with exact gradients. The lowest of several ends is the best known point; it is never
certified, and `status` says so. Objectives are usually logarithms of losses, which stay well scaled when the loss is
tiny.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from lopsided.core.validation import FloatArray

# Blocks on their spheres -> the objective and its gradient with respect to each block.
Objective = Callable[..., tuple[float, tuple[FloatArray, ...]]]

# tolerances below rounding: the descent stops when the line search can gain nothing more
_OPTIONS = {"maxiter": 20_000, "maxfun": 40_000, "maxcor": 30, "ftol": 1e-16, "gtol": 1e-11}


@dataclass(frozen=True)
class Sphere:
    """A block X with sum_j c_j |X_j|^2 = energy over its columns; without `weights` every c_j is 1."""

    shape: tuple[int, ...]
    energy: float
    weights: FloatArray | None = None

    def place(self, raw: FloatArray) -> FloatArray:
        """s x."""
        return self._scale(raw) * raw

    def pull_back(self, raw: FloatArray, gradient: FloatArray) -> FloatArray:
        """The gradient by x of a function of s x: the part along the sphere; the radius does not count."""
        scale = self._scale(raw)
        placed = scale * raw
        normal = placed if self.weights is None else self.weights * placed
        return scale * (gradient - normal * (np.sum(gradient * placed) / self.energy))

    def _scale(self, raw: FloatArray) -> float:
        squares = np.sum(raw**2) if self.weights is None else np.sum(self.weights * np.sum(raw**2, axis=0))
        return float(np.sqrt(self.energy / squares))


@dataclass(frozen=True)
class LqSphere:
    """A block X with sum |X|^q = energy over its entries (eq 20)."""

    shape: tuple[int, ...]
    energy: float
    q: float

    def place(self, raw: FloatArray) -> FloatArray:
        """s x."""
        return self._size_and_scale(raw)[1] * raw

    def pull_back(self, raw: FloatArray, gradient: FloatArray) -> FloatArray:
        """The gradient by x of a function of s x."""
        size, scale = self._size_and_scale(raw)
        normal = np.sign(raw) * np.abs(raw) ** (self.q - 1) / size
        return scale * gradient - np.sum(gradient * (scale * raw)) * normal

    def _size_and_scale(self, raw: FloatArray) -> tuple[float, float]:
        size = float(np.sum(np.abs(raw) ** self.q))
        return size, float((self.energy / size) ** (1 / self.q))


@dataclass(frozen=True)
class DescentEnd:
    """The end of one descent: its blocks, the objective and the length of its gradient as L-BFGS-B reports them.

    A line search that gave up may report those of a point that differs by rounding.
    """

    blocks: tuple[FloatArray, ...]
    objective: float
    gradient: float
    status: str


def descents(
    objective: Objective,
    spheres: Sequence[Sphere | LqSphere],
    stream: np.random.Generator,
    starts: int,
    **options: Any,
) -> list[DescentEnd]:
    """One descent from each of `starts` normal starts, in their order; `options` are those of L-BFGS-B."""
    sizes = [int(np.prod(sphere.shape)) for sphere in spheres]
    cuts = np.cumsum(sizes)[:-1]

    def blocks(point: FloatArray) -> list[FloatArray]:
        parts = np.split(point, cuts)
        return [part.reshape(sphere.shape) for part, sphere in zip(parts, spheres, strict=True)]

    def placed(point: FloatArray) -> tuple[FloatArray, ...]:
        return tuple(sphere.place(raw) for sphere, raw in zip(spheres, blocks(point), strict=True))

    def function(point: FloatArray) -> tuple[float, FloatArray]:
        value, gradients = objective(*placed(point))
        pulled = [
            sphere.pull_back(raw, gradient).ravel()
            for sphere, raw, gradient in zip(spheres, blocks(point), gradients, strict=True)
        ]
        return value, np.concatenate(pulled)

    found = []
    for _ in range(starts):
        start = stream.normal(size=sum(sizes))
        end = minimize(function, start, jac=True, method="L-BFGS-B", options={**_OPTIONS, **options})
        status = f"uncertified: one of {starts} descents"
        found.append(DescentEnd(placed(end.x), float(end.fun), float(np.linalg.norm(end.jac)), status))
    return found


def lowest(found: Sequence[DescentEnd]) -> DescentEnd:
    """The end with the lowest objective."""
    return min(found, key=lambda end: end.objective)
