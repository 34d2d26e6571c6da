"""The two forms of the program: a ball |Z|_* <= tau (energies) and a penalty lambda |Z|_* (weight decay).

Each form knows how to shrink singular values (its proximal step) and how to certify a point. With G = grad f(Z) and
the masses P of Z, weak duality gives for every Z

    ball:     f(Z) - f*  <=  <G, Z> + tau |G|_op                                     for |Z|_* <= tau
    penalty:  f + lambda |Z|_* - optimum  <=  f(Z) + lambda |Z|_* - sum_k f_k H(p'_k),
              p'_k = (1-s) e_k + s p_k,   s = min(1, lambda / |G|_op)

H is the entropy: the dual of the cross entropy is the entropy of the masses, and (I - P') diag(f) has operator norm at
most lambda.
"""

from dataclasses import dataclass

import numpy as np

from lopsided.core.validation import FloatArray
from lopsided.theory.layer_peeled.merged import Derivatives, Merged


@dataclass(frozen=True)
class Point:
    """Z in merged coordinates: the matrix on group means, one contrast per group."""

    matrix: FloatArray
    contrasts: FloatArray


@dataclass(frozen=True)
class Certificate:
    """An upper bound on the distance to the optimum, and the objective that it belongs to."""

    objective: float
    gap: float

    @property
    def relative_gap(self) -> float:
        """gap / objective."""
        return self.gap / self.objective if self.objective > 0 else float("inf")


def inner(derivatives: Derivatives, point: Point) -> float:
    """<grad f(Z), Z>."""
    return float(np.vdot(derivatives.matrix, point.matrix) + derivatives.contrasts @ point.contrasts)


@dataclass(frozen=True)
class Ball:
    """|Z|_* <= tau."""

    tau: float

    def threshold(self, values: FloatArray, weights: FloatArray, step: float) -> float:
        """Projection on the weighted simplex: sum_i w_i (v_i - threshold)_+ = tau."""
        order = np.argsort(-values)
        values, weights = values[order], weights[order]
        mass = np.cumsum(weights)
        candidates = (np.cumsum(weights * values) - self.tau) / mass
        above = np.flatnonzero(values > candidates)
        last = int(above[-1]) if above.size else 0  # none: tau is below the rounding of the largest value
        return max(float(candidates[last]), 0.0)

    def certify(
        self, problem: Merged, derivatives: Derivatives, point: Point, nuclear: float, operator: float
    ) -> Certificate:
        """The gap of the first line above; `nuclear` must not exceed tau."""
        return Certificate(derivatives.value, max(inner(derivatives, point) + self.tau * operator, 0.0))


@dataclass(frozen=True)
class Penalty:
    """lambda |Z|_*."""

    multiplier: float

    def threshold(self, values: FloatArray, weights: FloatArray, step: float) -> float:
        """Soft thresholding by step * lambda."""
        return step * self.multiplier

    def certify(
        self, problem: Merged, derivatives: Derivatives, point: Point, nuclear: float, operator: float
    ) -> Certificate:
        """The gap of the second line above."""
        objective = derivatives.value + self.multiplier * nuclear
        if operator <= self.multiplier:
            gap = inner(derivatives, point) + self.multiplier * nuclear
        else:
            gap = objective - _mixed_entropy(problem, derivatives, self.multiplier / operator)
        return Certificate(objective, max(gap, 0.0))


Regulariser = Ball | Penalty


def _mixed_entropy(problem: Merged, derivatives: Derivatives, share: float) -> float:
    """sum_k f_k H((1 - share) e_k + share p_k), from the masses on groups of equal classes."""
    masses = derivatives.masses

    def group_entropy(mass: FloatArray, members: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = -mass * (np.log(mass) - np.log(members))
        return np.where(mass > 0, terms, 0.0)

    others = group_entropy(share * masses.other, problem.multiplicity[:, None]).sum(axis=0)
    same = group_entropy(share * masses.same, problem.contrast_weight)
    lost = share * masses.missed
    own = -(1.0 - lost) * np.log1p(-lost)
    return float((problem.multiplicity * problem.weights) @ (others + same + own))
