"""Accelerated proximal gradient on the merged program: brings a start to the right rank, where Newton takes over.

Start (a closed form that is exact for equal sizes): t_k = log((K-1)(n_k/(lambda N) - 1))_+, Z = (I - 11^T/K) diag(t),
with lambda from ((K-1)/K) sum_k t_k = tau. Steps are those of FISTA (Beck and Teboulle 2009) with backtracking and a
restart whenever the momentum points uphill (O'Donoghue and Candes 2015).
"""

import math

import numpy as np
from scipy.linalg import LinAlgError, svd
from scipy.optimize import brentq

from lopsided.core.validation import FloatArray
from lopsided.theory.layer_peeled.energy import Penalty, Point, Regulariser
from lopsided.theory.layer_peeled.merged import Merged, Objective


def singular_values(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """U, S, V^T; the slower LAPACK driver where the divide-and-conquer one fails."""
    try:
        result: tuple[FloatArray, FloatArray, FloatArray] = svd(matrix, check_finite=False)
    except LinAlgError:
        result = svd(matrix, check_finite=False, lapack_driver="gesvd")
    return result


def starting_point(problem: Merged, regulariser: Regulariser) -> tuple[Point, float]:
    """The closed-form start and its multiplier."""
    classes = problem.classes
    largest = math.log(problem.weights[0])

    def margins(log_multiplier: float) -> FloatArray:
        above = np.maximum(np.log(problem.weights) - log_multiplier, 1e-300)  # log(f / lambda)
        # log((K-1)(e^x - 1)) = log(K-1) + x + log(1 - e^-x), which does not overflow
        return np.maximum(math.log(classes - 1) + above + np.log(-np.expm1(-above)), 0.0)

    if isinstance(regulariser, Penalty):
        log_multiplier = math.log(regulariser.multiplier)
    else:
        target = regulariser.tau * classes / (classes - 1)

        def excess_norm(value: float) -> float:
            return float(problem.multiplicity @ margins(value)) - target

        log_multiplier = brentq(excess_norm, largest - target - math.log(classes) - 1.0, largest)
    margin = margins(log_multiplier)
    share = np.sqrt(problem.multiplicity / classes)
    matrix = np.diag(margin) - np.outer(share, share * margin)
    return Point(matrix, np.where(problem.repeated, margin, 0.0)), math.exp(log_multiplier)


def shrink(problem: Merged, regulariser: Regulariser, point: Point, step: float) -> tuple[Point, int]:
    """The proximal step of the regulariser, and the rank of its matrix part."""
    left, values, right = singular_values(point.matrix)
    live = problem.repeated
    threshold = regulariser.threshold(
        np.concatenate([values, point.contrasts[live]]),
        np.concatenate([np.ones_like(values), problem.contrast_weight[live]]),
        step,
    )
    values = np.maximum(values - threshold, 0.0)
    rank = int(np.count_nonzero(values))
    contrasts = np.where(live, np.maximum(point.contrasts - threshold, 0.0), 0.0)
    return Point((left[:, :rank] * values[:rank]) @ right[:rank], contrasts), rank


def accelerated_steps(
    objective: Objective, regulariser: Regulariser, start: Point, multiplier: float, steps: int
) -> Point:
    """At most `steps` accelerated proximal steps; stops when the rank has settled and moves are small."""
    problem = objective.problem
    weight = np.where(problem.repeated, problem.contrast_weight, 1.0)  # squared length of one unit of contrast
    current, rank = shrink(problem, regulariser, start, 0.0)
    lookahead, momentum, settled = current, 1.0, 0
    curvature = multiplier / 2  # f'' is of the size of the multiplier at the optimum
    for _ in range(steps):
        here = objective.derivatives(lookahead.matrix, lookahead.contrasts)
        for _ in range(60):
            candidate = Point(
                lookahead.matrix - here.matrix / curvature,
                lookahead.contrasts - here.contrasts / (weight * curvature),
            )
            following, new_rank = shrink(problem, regulariser, candidate, 1.0 / curvature)
            move_matrix = following.matrix - lookahead.matrix
            move_contrasts = following.contrasts - lookahead.contrasts
            length = float(np.vdot(move_matrix, move_matrix) + weight @ move_contrasts**2)
            model = (
                here.value
                + float(np.vdot(here.matrix, move_matrix) + here.contrasts @ move_contrasts)
                + 0.5 * curvature * length
            )
            there = objective.derivatives(following.matrix, following.contrasts)
            # 1e-14: below this the two values differ by rounding only
            if there.value <= model + 1e-14 * abs(here.value):
                break
            curvature *= 2.0
        step_matrix = following.matrix - current.matrix
        step_contrasts = following.contrasts - current.contrasts
        uphill = float(-np.vdot(move_matrix, step_matrix) - (weight * move_contrasts) @ step_contrasts) > 0
        new_momentum = 1.0 if uphill else (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        pull = 0.0 if uphill else (momentum - 1) / new_momentum
        lookahead = Point(following.matrix + pull * step_matrix, following.contrasts + pull * step_contrasts)
        length_now = float(np.vdot(following.matrix, following.matrix))
        moved = math.sqrt(float(np.vdot(step_matrix, step_matrix)) / max(length_now, 1e-300))
        settled = settled + 1 if new_rank == rank and moved < 0.03 else 0
        current, rank, momentum = following, new_rank, new_momentum
        curvature *= 0.9
        if settled >= 3:
            break
    return current
