"""The minimiser of the Layer-Peeled Model with its angles, norms, margins and collapsed classes.

With Z = U S V^T the classifiers and features are (Lemma 7, its square root corrected to a fourth root)

    W = (E_W/E_H)^(1/4) U S^(1/2) P^T,    H = (E_H/E_W)^(1/4) P S^(1/2) V^T

so the Gram matrices are W W^T ~ U S U^T and H^T H ~ V S V^T, and every angle follows from the merged coordinates.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray, FloatArray, check_count
from lopsided.theory.layer_peeled.energy import Certificate, Point
from lopsided.theory.layer_peeled.merged import Merged
from lopsided.theory.layer_peeled.newton import Iterate, Status

# A squared length below this share of the largest is zero to the accuracy of a certified solve (1e-8 in length).
_ZERO_SHARE = 1e-16


@dataclass(frozen=True)
class GroupGeometry:
    """Squared lengths of classifiers (or features) per group, cosines within and between groups (nan: undefined)."""

    squared_norms: FloatArray
    within: FloatArray
    between: FloatArray


@dataclass(frozen=True, kw_only=True)
class Minimiser:
    """The minimum of either feature model; the classes of a group have equal sizes, and `objective` is f(Z)."""

    problem: Merged
    objective: float
    multiplier: float
    norm: float
    group_margins: FloatArray  # z_own - max of the other logits; never positive for collapsed classes
    group_losses: FloatArray
    collapsed_groups: BoolArray
    weight_to_feature_energy: float
    certificate: Certificate
    status: Status
    iterations: int = 0

    @property
    def margins(self) -> FloatArray:
        """Margin of every class."""
        return self.group_margins[self.problem.group_of_class]

    @property
    def class_losses(self) -> FloatArray:
        """Cross entropy of every class."""
        return self.group_losses[self.problem.group_of_class]

    @property
    def collapsed(self) -> list[int]:
        """Indices of the classes that the network fails to distinguish."""
        return [int(index) for index in np.flatnonzero(self.collapsed_groups[self.problem.group_of_class])]


@dataclass(frozen=True, kw_only=True)
class LayerPeeledSolution(Minimiser):
    """Free features: the certified minimiser for one set of class weights."""

    total: float
    point: Point
    left: FloatArray
    singular: FloatArray
    right: FloatArray
    features: str = "free"

    @property
    def count_needed(self) -> float:
        """lambda* N: classes of one size collapse together if and only if they have at most this many examples."""
        return self.multiplier * self.total

    @property
    def rank(self) -> int:
        """rank Z, hence the smallest dimension of features that carries the solution."""
        live = self.point.contrasts > 0
        mean_part = np.count_nonzero(self.singular > 1e-9 * max(float(self.singular.max(initial=0.0)), 1e-300))
        return int(self.problem.contrast_weight[live].sum()) + int(mean_part)

    def _geometry(self, vectors: FloatArray, scale: float) -> GroupGeometry:
        members = self.problem.multiplicity
        gram = (vectors * self.singular) @ vectors.T
        root = np.sqrt(members)
        squared = self.point.contrasts * (1 - 1 / members) + np.diag(gram) / members
        same = (np.diag(gram) - self.point.contrasts) / members
        zero = squared <= _ZERO_SHARE * max(float(squared.max()), 1e-300)
        lengths = np.where(zero, np.nan, np.sqrt(np.abs(squared)))
        # same / squared, not / lengths^2: exactly 1 where the contrast is zero
        within = np.where(self.problem.repeated & ~zero, same / np.where(zero, 1.0, squared), np.nan)
        between = gram / np.outer(root * lengths, root * lengths)
        return GroupGeometry(
            np.where(zero, 0.0, squared) * scale, np.clip(within, -1.0, 1.0), np.clip(between, -1.0, 1.0)
        )

    @cached_property
    def classifier_geometry(self) -> GroupGeometry:
        """Lengths and angles of the rows of W."""
        return self._geometry(self.left, math.sqrt(self.weight_to_feature_energy))

    @cached_property
    def feature_geometry(self) -> GroupGeometry:
        """Lengths and angles of the class means in H."""
        return self._geometry(self.right, 1.0 / math.sqrt(self.weight_to_feature_energy))

    @property
    def classifier_norms(self) -> FloatArray:
        """|w_k| of every class."""
        return np.sqrt(self.classifier_geometry.squared_norms)[self.problem.group_of_class]

    @property
    def feature_norms(self) -> FloatArray:
        """|h_k| of every class."""
        return np.sqrt(self.feature_geometry.squared_norms)[self.problem.group_of_class]

    def mean_cosine(self, chosen: BoolArray) -> float | None:
        """Average cosine over pairs of classifiers of the chosen classes; None where no pair has an angle."""
        members = np.bincount(self.problem.group_of_class[chosen], minlength=self.problem.groups).astype(np.float64)
        geometry = self.classifier_geometry
        members = np.where(geometry.squared_norms > 0, members, 0.0)
        count = members.sum()
        if count < 2:
            return None
        between = np.where(np.isnan(geometry.between), 0.0, geometry.between)
        np.fill_diagonal(between, 0.0)
        inside = np.where(np.isnan(geometry.within), 0.0, geometry.within)
        pairs = members @ between @ members + (members * (members - 1)) @ inside
        return min(max(float(pairs / (count * (count - 1))), -1.0), 1.0)

    def logits(self) -> FloatArray:
        """Z itself, K x K: column k holds the logits of class k."""
        problem = self.problem
        group = problem.group_of_class
        root = np.sqrt(problem.multiplicity)
        per_class = (self.point.matrix - np.diag(self.point.contrasts)) / np.outer(root, root)
        full: FloatArray = per_class[np.ix_(group, group)]
        full[np.diag_indices(problem.classes)] += self.point.contrasts[group]
        return full

    def factors(self, dimension: int | None = None) -> tuple[FloatArray, FloatArray]:
        """(W, H) in R^{K x p}, R^{p x K} with W H = Z and the energies of the problem, for any p >= rank."""
        problem = self.problem
        keep = self.singular > 1e-9 * max(float(self.singular.max(initial=0.0)), 1e-300)
        root = np.sqrt(problem.multiplicity)[problem.group_of_class, None]
        left = [self.left[problem.group_of_class][:, keep] / root]
        right = [self.right[problem.group_of_class][:, keep] / root]
        values = [self.singular[keep]]
        for group in np.flatnonzero(self.point.contrasts > 0):
            basis = np.zeros((problem.classes, int(problem.contrast_weight[group])))
            basis[problem.group_of_class == group] = _contrast_basis(int(problem.multiplicity[group]))
            left.append(basis)
            right.append(basis)
            values.append(np.full(basis.shape[1], self.point.contrasts[group]))
        singular = np.concatenate(values)
        rank = singular.shape[0]
        width = rank if dimension is None else check_count(dimension, "the feature dimension", at_least=0)
        if width < rank:
            raise InputError(f"a feature dimension of at least {rank}, the rank of Z", width)
        scale = self.weight_to_feature_energy**0.25
        w = np.zeros((problem.classes, width))
        h = np.zeros((width, problem.classes))
        w[:, :rank] = scale * np.hstack(left) * np.sqrt(singular)
        h[:rank] = (np.hstack(right) * np.sqrt(singular)).T / scale
        return w, h


def free_solution(problem: Merged, total: float, share: float, found: Iterate, norm: float) -> LayerPeeledSolution:
    """The result of a solve; `share` is |W|^2 / |H|^2. A single class at or below `count_needed` has collapsed only if
    its margin is zero as well."""
    members, contrasts, matrix = problem.multiplicity, found.point.contrasts, found.point.matrix
    own = contrasts * (1 - 1 / members) + np.diag(matrix) / members
    logits = matrix / np.outer(np.sqrt(members), np.sqrt(members)) - own
    np.fill_diagonal(logits, np.where(problem.repeated, -contrasts, -np.inf))
    margins = np.asarray(-logits.max(axis=0), dtype=np.float64)
    below = problem.weights <= found.multiplier
    return LayerPeeledSolution(
        problem=problem,
        total=total,
        objective=found.derivatives.value,
        multiplier=found.multiplier,
        norm=norm,
        group_margins=margins,
        group_losses=found.derivatives.class_losses,
        collapsed_groups=below & (margins <= 1e-9) if members[below].sum() == 1 else below,
        weight_to_feature_energy=share,
        certificate=found.certificate,
        status=found.status,
        iterations=found.iterations,
        point=found.point,
        left=found.left,
        singular=found.singular_values,
        right=np.ascontiguousarray(found.right.T),
    )


def _contrast_basis(members: int) -> FloatArray:
    """An orthonormal basis of the vectors with sum zero (Helmert), members x (members - 1)."""
    basis = np.zeros((members, members - 1))
    for column in range(members - 1):
        size = column + 1
        basis[:size, column] = 1.0
        basis[size, column] = -size
        basis[:, column] /= math.sqrt(size * (size + 1))
    return basis
