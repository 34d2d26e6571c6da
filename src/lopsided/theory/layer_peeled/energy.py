"""The regularisation: energies (a ball, tau = K sqrt(E_H E_W)) or weight decay (a penalty, sqrt(l_W l_H)).

Angles and losses depend only on tau or on the multiplier; the two energies, or the two decays, set only the scales of W
and H. |W|^2 / |H|^2 is E_W / E_H in the first form and l_H / l_W in the second.

Each form knows how to shrink singular values (its proximal step) and how to certify a point. With G = grad f(Z) and
the masses P of Z, weak duality gives for every Z

    ball:     f(Z) - f*  <=  <G, Z> + tau |G|_op                                     for |Z|_* <= tau
    penalty:  f + lambda |Z|_* - optimum  <=  f(Z) + lambda |Z|_* - sum_k f_k H(p'_k),
              p'_k = (1-s) e_k + s p_k,   s = min(1, lambda / |G|_op)

H is the entropy: the dual of the cross entropy is the entropy of the masses, and (I - P') diag(f) has operator norm at
most lambda.
"""

import math
from dataclasses import dataclass

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, check_positive
from lopsided.theory.layer_peeled.merged import Derivatives, Merged

# A margin of 600 gives a loss of e^-600, near the smallest double; beyond that nothing could be certified.
LARGEST_MEAN_MARGIN = 600.0
SMALLEST_MULTIPLIER = 1e-260
# Below this the loss differs from log K by less than rounding.
SMALLEST_MEAN_MARGIN = 1e-12


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
            entropy = column_entropy(problem, derivatives)
            columns = mixed_entropy(entropy, derivatives.masses.missed, self.multiplier / operator)
            gap = objective - float((problem.multiplicity * problem.weights) @ columns)
        return Certificate(objective, max(gap, 0.0))


Regulariser = Ball | Penalty


def column_entropy(problem: Merged, derivatives: Derivatives) -> FloatArray:
    """-sum p log p over the classes that a column should not choose, from the masses on groups of equal classes."""
    masses = derivatives.masses

    def group_entropy(mass: FloatArray, members: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = -mass * (np.log(mass) - np.log(members))
        return np.where(mass > 0, terms, 0.0)

    others: FloatArray = group_entropy(masses.other, problem.multiplicity[:, None]).sum(axis=0)
    return others + group_entropy(masses.same, problem.contrast_weight)


def mixed_entropy(entropy: FloatArray, missed: FloatArray, share: FloatArray | float) -> FloatArray:
    """H((1 - share) e_k + share p_k) of every column, from its entropy off the class itself and the mass there."""
    lost = share * missed
    mixed: FloatArray = share * entropy - lost * np.log(share) - (1.0 - lost) * np.log1p(-lost)
    return mixed


@dataclass(frozen=True)
class Restraint:
    """The regulariser and how lengths divide between classifiers and features."""

    regulariser: Regulariser
    weight_to_feature_energy: float

    @property
    def form(self) -> str:
        """'constraint' or 'penalised'."""
        return "constraint" if isinstance(self.regulariser, Ball) else "penalised"


def restraint(
    classes: int,
    *,
    tau: float | None = None,
    feature_energy: float | None = None,
    weight_energy: float | None = None,
    multiplier: float | None = None,
    weight_decay: float | None = None,
    feature_decay: float | None = None,
) -> Restraint:
    """Read exactly one of: energies, tau, multiplier, weight decays."""
    given = {
        "the energies": feature_energy is not None or weight_energy is not None,
        "tau": tau is not None,
        "the multiplier": multiplier is not None,
        "the weight decay": weight_decay is not None or feature_decay is not None,
    }
    chosen = [name for name, present in given.items() if present]
    if len(chosen) != 1:
        raise InputError(
            "one of: both energies, tau, the multiplier, or the weight decay",
            " and ".join(chosen) or "none of them",
            "give for example a feature energy of 5 and a weight energy of 1",
        )
    if feature_energy is not None or weight_energy is not None:
        of_features = check_positive(_needed(feature_energy, "feature energy"), "the feature energy")
        of_weights = check_positive(_needed(weight_energy, "weight energy"), "the weight energy")
        ball = Ball(classes * math.sqrt(of_features) * math.sqrt(of_weights))
        return Restraint(_representable(ball, classes), _shares(of_weights, of_features, "energies"))
    if tau is not None:
        return Restraint(_representable(Ball(check_positive(tau, "tau")), classes), 1.0)
    if multiplier is not None:
        return Restraint(_representable(Penalty(check_positive(multiplier, "the multiplier")), classes), 1.0)
    on_weights = check_positive(_needed(weight_decay, "weight decay"), "the weight decay")
    on_features = on_weights if feature_decay is None else check_positive(feature_decay, "the feature decay")
    penalty = Penalty(math.sqrt(on_weights) * math.sqrt(on_features))
    return Restraint(_representable(penalty, classes), _shares(on_features, on_weights, "decays"))


def _shares(first: float, second: float, what: str) -> float:
    """first / second, where that is a number of ordinary size."""
    if abs(math.log(first) - math.log(second)) > 300:
        raise InputError(f"two {what} within 1e130 of each other", f"{first:g} and {second:g}", "change one of them")
    return first / second


def _needed(value: float | None, name: str) -> float:
    if value is None:
        raise InputError("both energies, or the weight decay of the classifier", f"no {name}", f"give the {name} too")
    return value


def _representable(regulariser: Regulariser, classes: int) -> Regulariser:
    if isinstance(regulariser, Ball):
        if regulariser.tau / classes < SMALLEST_MEAN_MARGIN:
            raise InputError(
                f"sqrt(feature energy x weight energy) of at least {SMALLEST_MEAN_MARGIN:g}",
                f"{regulariser.tau / classes:g}",
                "with smaller ones every class is at chance",
            )
        if regulariser.tau / classes > LARGEST_MEAN_MARGIN:
            raise InputError(
                f"sqrt(feature energy x weight energy) of at most {LARGEST_MEAN_MARGIN:g}",
                f"{regulariser.tau / classes:g}",
                "with larger ones the loss is below the smallest number a computer holds, and no class collapses",
            )
    elif regulariser.multiplier < SMALLEST_MULTIPLIER:
        raise InputError(f"a multiplier of at least {SMALLEST_MULTIPLIER:g}", f"{regulariser.multiplier:g}")
    return regulariser
