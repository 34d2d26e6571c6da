"""The program with equal class sizes merged exactly: m distinct sizes give an m x m matrix and m contrasts.

Z commutes with permutations of classes of one size, so on the unit vectors 1_g / sqrt(m_g) it is an m x m matrix M,
and on the contrasts within group g (m_g classes) it is a number a_g >= 0:

    |Z|_* = |M|_* + sum_g (m_g - 1) a_g
    z_own = a_g (1 - 1/m_g) + M_gg/m_g;   z_same = -a_g/m_g + M_gg/m_g;   z_h = M_hg / sqrt(m_h m_g)

f, its gradient and its second derivative (`Curvature`) follow from the softmax masses of a column: P_hg on group h,
`same` on the other classes of the own group, `own`. All masses are formed relative to the own logit, so that a loss of
1e-200 keeps its digits.
"""

from dataclasses import dataclass

import numpy as np

from lopsided.core.validation import BoolArray, FloatArray, IntArray

# Sizes that differ by less than this share are equal: a product of two doubles has a rounding error of 2e-16.
EQUAL_SHARE = 1e-14


@dataclass(frozen=True)
class Merged:
    """Distinct class weights in falling order, how many classes share each, and the group of every class."""

    weights: FloatArray
    multiplicity: FloatArray
    group_of_class: IntArray

    @property
    def groups(self) -> int:
        """m."""
        return int(self.weights.shape[0])

    @property
    def classes(self) -> int:
        """K."""
        return int(self.group_of_class.shape[0])

    @property
    def repeated(self) -> BoolArray:
        """Groups of two classes or more: those with a contrast."""
        return self.multiplicity > 1

    @property
    def contrast_weight(self) -> FloatArray:
        """m_g - 1, the number of singular values that equal a_g."""
        return self.multiplicity - 1.0


def merge(counts: FloatArray) -> Merged:
    """Group classes of equal weight (to rounding: counts times rates differ in the last digit); weights sum to 1."""
    distinct, position = np.unique(-(counts / counts.sum()), return_inverse=True)
    starts = np.concatenate([[True], np.diff(distinct) > EQUAL_SHARE * np.abs(distinct[1:])])
    group = (np.cumsum(starts) - 1)[position.ravel()].astype(np.int64)
    return Merged(-distinct[starts], np.bincount(group).astype(np.float64), group)


@dataclass(frozen=True)
class Masses:
    """Softmax masses of every column: on other groups, on the other classes of the own group, on the class itself."""

    other: FloatArray
    same: FloatArray
    own: FloatArray
    missed: FloatArray


@dataclass(frozen=True)
class Derivatives:
    """f, its gradient with respect to M and to the contrasts, and the masses that the second derivative needs."""

    value: float
    class_losses: FloatArray
    matrix: FloatArray
    contrasts: FloatArray
    masses: Masses

    def operator_norm(self, problem: Merged, matrix_norm: float) -> float:
        """|grad f|_op given the largest singular value of its matrix part."""
        live = problem.repeated
        contrast_values = -self.contrasts[live] / problem.contrast_weight[live]
        return float(max(matrix_norm, contrast_values.max(initial=0.0)))


class Objective:
    """f(M, a) = sum_g m_g f_g CE_g for one set of class weights."""

    def __init__(self, problem: Merged) -> None:
        self.problem = problem
        self._diagonal = np.diag_indices(problem.groups)
        root = 1.0 / np.sqrt(problem.multiplicity)
        self._scale = np.outer(root, root)  # d z_hg / d M_hg
        self._column_weight = problem.multiplicity * problem.weights
        self._to_matrix = self._scale * self._column_weight
        self._within = 1.0 - 1.0 / problem.multiplicity

    def derivatives(self, matrix: FloatArray, contrasts: FloatArray) -> Derivatives:
        """Value and gradient at (M, a)."""
        problem = self.problem
        own_logit = contrasts * self._within + matrix[self._diagonal] / problem.multiplicity
        relative = matrix * self._scale
        relative -= own_logit
        relative[self._diagonal] = -np.inf
        highest = np.maximum(relative.max(axis=0), 0.0)
        relative -= highest
        other = np.exp(relative, out=relative)
        other *= problem.multiplicity[:, None]
        same = problem.contrast_weight * np.exp(-contrasts - highest)
        own = np.exp(-highest)
        rest = other.sum(axis=0) + same
        total = own + rest
        # log1p keeps tiny losses exact; where another logit leads, the ordinary form does.
        losses = np.where(highest == 0.0, np.log1p(rest), highest + np.log(total))
        other /= total
        same /= total
        own /= total
        missed = rest / total
        value = float(self._column_weight @ losses)
        gradient = other * self._to_matrix
        gradient[self._diagonal] = -problem.weights * other.sum(axis=0)
        contrast_gradient = -problem.weights * (problem.contrast_weight * missed + same)
        return Derivatives(value, losses, gradient, contrast_gradient, Masses(other, same, own, missed))


class Curvature:
    """The second derivative of f / multiplier at fixed masses, in the precision that a Newton step needs.

    Masses enter multiplied by the column's weight over the multiplier, and logits relative to the own one, so that
    nothing underflows in float32 where f itself is 1e-90: near the optimum the products are of order 1.
    """

    def __init__(self, problem: Merged, masses: Masses, multiplier: float, kind: type[np.floating]) -> None:
        column = problem.multiplicity * problem.weights / multiplier
        root = 1.0 / np.sqrt(problem.multiplicity)
        self._scale = np.outer(root, root).astype(kind)
        self._other = (masses.other * column).astype(kind)
        self._same = (masses.same * column).astype(kind)
        with np.errstate(divide="ignore", over="ignore"):
            self._per_column = np.where(column > 0, 1.0 / column, 0.0).astype(kind)
        self._multiplicity = problem.multiplicity.astype(kind)
        self._within = (1.0 - 1.0 / problem.multiplicity).astype(kind)
        self._diagonal = np.diag_indices(problem.groups)

    def apply(self, matrix: FloatArray, contrasts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The second derivative applied to a direction (dM, da)."""
        own_change = contrasts * self._within + matrix[self._diagonal] / self._multiplicity
        change = matrix * self._scale
        change -= own_change
        same_change = -contrasts  # relative to the own logit
        mean = (np.einsum("hg,hg->g", self._other, change) + self._same * same_change) * self._per_column
        change -= mean
        change *= self._other  # zero on the diagonal, where `other` is
        same = self._same * (same_change - mean)
        own = -(change.sum(axis=0) + same)  # mass is conserved; exact where 1 - own mass is tiny
        change *= self._scale
        change[self._diagonal] = (own + same) / self._multiplicity
        return change, own * self._within - same / self._multiplicity
