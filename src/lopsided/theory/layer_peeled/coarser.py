"""Many distinct sizes: solve for fewer, and certify for all.

Sizes that differ by a share of at most `width` are merged into their mean f_g. The Z of the coarser program, spread
over the classes, has the same value in the original program, because all classes of a group have the same loss. Its
masses p_g give a dual point there as well: with r_k = f_g / f_k,

    p_k = e_k - r_k (e_k - p_g),    so that    (I - P) diag(f)    is the coarser program's,

and only the entropies sum_k f_k H(p_k) differ. f H(e - (f_g/f) v) is concave in f and f_g is the mean, so they fall by
the square of the width: with a gap of 1e-6, sizes that differ by 0.3 % can be merged. (p_k is a distribution if r_k
times the mass that the class misses is at most 1, so classes that collapse are not merged.)
"""

import math
from dataclasses import replace

import numpy as np

from lopsided.core.blas import one_blas_thread
from lopsided.core.validation import FloatArray, IntArray
from lopsided.theory.layer_peeled.energy import Ball, Certificate, Point, Regulariser, column_entropy, mixed_entropy
from lopsided.theory.layer_peeled.merged import Merged, Objective
from lopsided.theory.layer_peeled.newton import Iterate, Progress, Status, solve_merged

# Fewer sizes than this are solved directly in a second; the coarser program must leave out at least three in ten.
MANY_SIZES, MOST_KEPT = 300, 0.7
# The pilot, with about a hundred sizes, shows which classes collapse and how the gap grows with the width.
_PILOT_WIDTH, _PILOT_TOLERANCE = 0.1, 1e-3
# Collapsed classes predict all classes with equal probability, so the dual point above exists only for narrow widths:
# sizes up to this many times `count_needed` are not merged.
_CLEARLY_LIVE = 1.05


def solve_by_fewer_sizes(
    problem: Merged, regulariser: Regulariser, *, tolerance: float, progress: Progress | None = None
) -> Iterate | None:
    """A solution of `problem` from a coarser one; None if that would not be faster or does not reach the tolerance."""
    if problem.groups < MANY_SIZES:
        return None
    pilot_problem, _ = coarsen(problem, _PILOT_WIDTH)
    pilot = solve_merged(pilot_problem, regulariser, tolerance=_PILOT_TOLERANCE)
    above = _CLEARLY_LIVE * pilot.multiplier
    # Half the tolerance for the entropies: f_k (f_g/f_k - 1)^2 (1 - p)/(2p) a class, and sizes spread evenly.
    missed = pilot_problem.multiplicity * pilot_problem.weights * pilot.derivatives.masses.missed
    lost = (missed / pilot.derivatives.masses.own)[pilot_problem.weights > above].sum() / pilot.certificate.objective
    width = math.sqrt(12 * tolerance / lost) if lost > 0 else 0.0
    for share in (1.0, 0.5):  # the pilot's estimate of the width is rough
        coarse, part = coarsen(problem, share * width, above)
        if coarse.groups > MOST_KEPT * problem.groups:
            return None
        found = solve_merged(coarse, regulariser, tolerance=0.5 * tolerance, progress=progress)
        with one_blas_thread():
            whole = spread(problem, part, coarse, found, regulariser)
        if whole.certificate.relative_gap < tolerance or found.status is Status.STOPPED:
            return whole
    return None


def coarsen(problem: Merged, width: float, above: float = 0.0) -> tuple[Merged, IntArray]:
    """The program in which weights above `above` are merged if they are within `width` in the logarithm, and the
    groups."""
    part = np.zeros(problem.groups, dtype=np.int64)
    first, lowest = 0, math.exp(-width)
    for group in range(1, problem.groups):
        alike = problem.weights[group] >= max(lowest * problem.weights[first], above)
        part[group] = part[group - 1] + (not alike)
        first = first if alike else group
    members = np.bincount(part, problem.multiplicity).astype(np.float64)
    weights = np.bincount(part, problem.multiplicity * problem.weights) / members
    return Merged(weights, members, part[problem.group_of_class]), part


def spread(problem: Merged, part: IntArray, coarse: Merged, found: Iterate, regulariser: Regulariser) -> Iterate:
    """The solution of the coarser program as one of `problem`, with its certificate there."""
    share = np.sqrt(problem.multiplicity / coarse.multiplicity[part])  # of a group's unit vector in the coarser one
    contrasts = found.point.contrasts[part]
    matrix = found.point.matrix[np.ix_(part, part)] * np.outer(share, share)
    left, right, values = (
        [found.left[part] * share[:, None]],
        [found.right.T[part] * share[:, None]],
        [found.singular_values],
    )
    for group in np.flatnonzero(np.bincount(part) > 1):
        inside = np.flatnonzero(part == group)
        contrast = found.point.contrasts[group]
        basis = _orthogonal_to(share[inside])
        matrix[np.ix_(inside, inside)] += contrast * basis @ basis.T
        vectors = np.zeros((problem.groups, basis.shape[1]))
        vectors[inside] = basis
        left.append(vectors)
        right.append(vectors)
        values.append(np.full(basis.shape[1], contrast))
    point = Point(matrix, np.where(problem.repeated, contrasts, 0.0))
    return replace(
        found,
        point=point,
        left=np.hstack(left),
        singular_values=np.concatenate(values),
        right=np.hstack(right).T,
        derivatives=Objective(problem).derivatives(point.matrix, point.contrasts),
        certificate=_certificate(problem, part, coarse, found, regulariser),
    )


def _orthogonal_to(unit: FloatArray) -> FloatArray:
    """An orthonormal basis of the vectors orthogonal to `unit`: the other columns of the reflection of e_1 to it."""
    normal = unit.copy()
    normal[0] -= 1.0
    reflection: FloatArray = np.eye(unit.size) - 2.0 * np.outer(normal, normal) / (normal @ normal)
    return reflection[:, 1:]


def _certificate(
    problem: Merged, part: IntArray, coarse: Merged, found: Iterate, regulariser: Regulariser
) -> Certificate:
    """Value of the primal point minus that of the dual point above, in the original program."""
    derivatives, missed = found.derivatives, found.derivatives.masses.missed[part]
    operator = derivatives.operator_norm(coarse, float(np.linalg.norm(derivatives.matrix, 2)))
    objective = found.certificate.objective
    ratio = coarse.weights[part] / problem.weights
    if isinstance(regulariser, Ball):
        held = regulariser.tau * operator
    else:
        held = 0.0
        ratio = ratio * min(1.0, regulariser.multiplier / operator)
    if np.any(ratio * missed >= 1.0):
        return Certificate(objective, math.inf)
    columns = mixed_entropy(column_entropy(coarse, derivatives)[part], missed, ratio)
    return Certificate(
        objective, max(objective + held - float((problem.multiplicity * problem.weights) @ columns), 0.0)
    )
