"""Best of many descents (L-BFGS), with the spread over starts as the only evidence; never certified.

Constraints of the form "mean energy <= E" are kept active by scaling: X = r x / |x|_q, |X|_q = r. Whether the true
optimum is inside instead is checked at the end: `constraints_active` says that shrinking X would not lower the loss.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, check_count

Blocks = tuple[FloatArray, ...]
ValueAndGradient = Callable[[Blocks], tuple[float, Blocks]]
# |x| is smoothed to sqrt(x^2 + SMOOTHING^2) where q < 2, so that descent has a gradient at zero.
SMOOTHING = 1e-9


@dataclass(frozen=True)
class Sphere:
    """A block of variables of this shape with |X|_q = radius (entrywise norm)."""

    shape: tuple[int, int]
    radius: float
    q: float = 2.0

    def place(self, x: FloatArray) -> FloatArray:
        """r x / |x|_q."""
        return self.radius * x / self.norm(x)

    def norm(self, x: FloatArray) -> float:
        """|x|_q."""
        if self.q == 2.0:
            return float(np.linalg.norm(x))
        size = np.abs(x)
        largest = float(size.max())
        return float(largest * ((size / largest) ** self.q).sum() ** (1.0 / self.q))

    def pull_back(self, x: FloatArray, gradient: FloatArray) -> FloatArray:
        """The gradient with respect to x of a function of r x / |x|_q."""
        norm = self.norm(x)
        if self.q == 2.0:
            slope = x / norm
        else:
            smooth = np.sqrt(x * x + SMOOTHING**2)
            slope = np.sign(x) * (smooth / norm) ** (self.q - 1)
        along = float(np.vdot(gradient, x)) / norm
        result: FloatArray = self.radius / norm * (gradient - along * slope)
        return result


@dataclass(frozen=True)
class MultiStart:
    """The best end point, all end values in rising order, and how trustworthy they are.

    `gradient_norm` is that of the logarithm of the loss at the end.
    """

    blocks: Blocks
    value: float
    values: tuple[float, ...]
    gradient_norm: float
    constraints_active: bool
    status: str

    @property
    def agreeing_starts(self) -> int:
        """Starts that ended within 1e-6 (relative) of the best value."""
        return sum(value <= self.value + 1e-6 * max(abs(self.value), 1e-12) for value in self.values)


def minimise(
    function: ValueAndGradient, spheres: Sequence[Sphere], *, starts: int = 8, seed: int = 0, steps: int = 5000
) -> MultiStart:
    """Minimise `function`, which is positive, over a product of spheres from `starts` random points."""
    check_count(starts, "the number of starts")
    sizes = [shape[0] * shape[1] for shape in (sphere.shape for sphere in spheres)]
    cuts = np.cumsum(sizes)[:-1]

    def blocks_of(flat: FloatArray) -> Blocks:
        parts = np.split(flat, cuts)
        return tuple(part.reshape(sphere.shape) for part, sphere in zip(parts, spheres, strict=True))

    def flat_function(flat: FloatArray) -> tuple[float, FloatArray]:
        raw = blocks_of(flat)
        value, gradients = function(tuple(sphere.place(x) for sphere, x in zip(spheres, raw, strict=True)))
        pulled = [
            sphere.pull_back(x, gradient).ravel() for sphere, x, gradient in zip(spheres, raw, gradients, strict=True)
        ]
        # The logarithm makes "small gradient" mean the same for a loss of 1e-9 as for one of 1.
        return math.log(max(value, 1e-300)), np.concatenate(pulled) / max(value, 1e-300)

    found = []
    for start in range(starts):
        first = generator(seed, "nonconvex start", start).normal(size=sum(sizes))
        found.append(
            minimize(
                flat_function,
                first,
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": steps, "maxfun": 4 * steps, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 20},
            )
        )
    found.sort(key=lambda result: float(result.fun))
    best = found[0]
    blocks = tuple(sphere.place(x) for sphere, x in zip(spheres, blocks_of(best.x), strict=True))
    _, gradients = function(blocks)
    active = all(float(np.vdot(gradient, block)) <= 0 for gradient, block in zip(gradients, blocks, strict=True))
    return MultiStart(
        blocks,
        math.exp(best.fun),
        tuple(math.exp(result.fun) for result in found),
        float(np.linalg.norm(best.jac)),
        active,
        f"uncertified: the best of {starts} descents",
    )
