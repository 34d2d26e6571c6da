"""min f(Z) over a nuclear-norm ball, or with a nuclear-norm penalty, for any class sizes; free features.

One size has the simplex frame in closed form (Theorem 1), and two sizes are the four-scalar program. More sizes are
solved by the certified Newton method, and very many by way of a coarser program if the tolerance allows it. Per-class
weights multiply the counts: oversampling a class w times and weighting its loss by w are the same program (Proposition
1). `Model` names the two feature models and solves either.

The solution of a neighbouring problem (other counts, the same classes) makes a start for the Newton method: its Z is
averaged over the blocks that the new problem's equal sizes make, off the diagonal of a block to o_g, on it to d_g, so
a_g = d_g - o_g and M_gg = m_g o_g + a_g, in the coordinates of `merged`. A start changes the time of a solve but not
its result: the certificate is that of the new problem.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray, FloatArray
from lopsided.theory.layer_peeled import two_sizes
from lopsided.theory.layer_peeled.coarser import solve_by_fewer_sizes
from lopsided.theory.layer_peeled.energy import Ball, Penalty, Point, Regulariser, Restraint
from lopsided.theory.layer_peeled.merged import Merged, Objective, merge
from lopsided.theory.layer_peeled.newton import Iterate, Progress, Status, solve_merged
from lopsided.theory.layer_peeled.relu_features import ReluSolution, solve_relu
from lopsided.theory.layer_peeled.solution import LayerPeeledSolution, free_solution

Features = Literal["free", "relu"]
PeeledSolution = LayerPeeledSolution | ReluSolution


@dataclass(frozen=True)
class Model:
    """Free features (the paper) or nonnegative ones, and how exactly to solve."""

    features: Features = "free"
    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        if self.features not in get_args(Features):
            raise InputError("features 'free' or 'relu'", repr(self.features), "free is the model of the paper")

    def solve(
        self,
        counts: FloatArray,
        held: Restraint,
        progress: Progress | None = None,
        near: PeeledSolution | None = None,
    ) -> PeeledSolution:
        """The minimiser for effective class counts; the solution of a neighbouring problem makes it quicker."""
        if self.features == "relu":
            return solve_relu(counts, held)
        start = None if near is None else near.logits()
        return solve_free(counts, held, tolerance=self.tolerance, progress=progress, near=start)


def minority_of(counts: FloatArray) -> BoolArray:
    """Classes with fewer examples than the mean; with two sizes, the smaller ones."""
    # Equal counts differ from their mean by rounding only.
    smaller: BoolArray = counts < counts.mean() * (1 - 1e-12)
    return smaller


def solve_free(
    counts: FloatArray,
    held: Restraint,
    *,
    tolerance: float = 1e-10,
    progress: Progress | None = None,
    near: FloatArray | None = None,
) -> LayerPeeledSolution:
    """The minimiser for effective class counts (counts times weights); `near` is Z of a neighbouring problem."""
    problem, total = merge(counts), float(counts.sum())
    regulariser = held.regulariser
    if problem.groups == 1:
        return _exact(problem, total, held, *_one_size(problem, regulariser))
    if problem.groups == 2:
        return _exact(problem, total, held, *_two_sizes(problem, regulariser))
    start = None if near is None else point_near(near, problem)
    found = None
    if start is None:
        found = solve_by_fewer_sizes(problem, regulariser, tolerance=tolerance, progress=progress)
    if found is None:
        found = solve_merged(problem, regulariser, tolerance=tolerance, progress=progress, near=start)
    norm = float(found.singular_values.sum() + problem.contrast_weight @ found.point.contrasts)
    return free_solution(problem, total, held.weight_to_feature_energy, found, norm)


def solve_two_sizes(majority_classes: int, minority_classes: int, ratio: float, held: Restraint) -> LayerPeeledSolution:
    """Two sizes given by their ratio R = n_A/n_B >= 1, infinity included; counts are in units of n_A."""
    share = 0.0 if math.isinf(ratio) else 1.0 / ratio
    total = majority_classes + minority_classes * share
    weights = np.array([1.0 / total, share / total])
    members = np.array([majority_classes, minority_classes], dtype=np.float64)
    group = np.repeat([0, 1], [majority_classes, minority_classes]).astype(np.int64)
    problem = Merged(weights, members, group)
    return _exact(problem, total, held, *_two_sizes(problem, held.regulariser))


def _one_size(problem: Merged, regulariser: Regulariser) -> tuple[Point, float, float]:
    """All classes equal: contrast a = tau/(K-1), multiplier K pi / (K-1) / K with pi the missed mass."""
    classes = problem.classes
    if isinstance(regulariser, Ball):
        contrast = regulariser.tau / (classes - 1)
        log_multiplier = -float(np.logaddexp(contrast, math.log(classes - 1)))
    else:
        log_multiplier = math.log(regulariser.multiplier)
        # 1/lambda = e^a + K - 1
        contrast = math.log(max(1.0 / regulariser.multiplier - (classes - 1), 1.0))
    return Point(np.zeros((1, 1)), np.array([contrast])), math.exp(log_multiplier), (classes - 1) * contrast


def _two_sizes(problem: Merged, regulariser: Regulariser) -> tuple[Point, float, float]:
    (f_a, f_b), (k_a, k_b) = problem.weights, (int(size) for size in problem.multiplicity)
    scalars = two_sizes.TwoSizes(k_a, k_b, float(f_a), float(f_b))
    if isinstance(regulariser, Ball):
        found = two_sizes.solve_for_norm(scalars, regulariser.tau)
    elif math.log(regulariser.multiplier) >= two_sizes.largest_log_multiplier(scalars):
        found = two_sizes.TwoSizesPoint(0.0, 0.0, 0.0, 0.0, math.log(regulariser.multiplier))
    else:
        found = two_sizes.solve_for_multiplier(scalars, math.log(regulariser.multiplier))
    classes = problem.classes
    left = np.array([math.sqrt(k_b / classes), -math.sqrt(k_a / classes)])
    point = Point(np.outer(left, [found.p, -found.q]), np.array([found.a, found.b]))
    return point, math.exp(found.log_multiplier), two_sizes.nuclear_norm(scalars, found)


def _exact(
    problem: Merged, total: float, held: Restraint, point: Point, multiplier: float, nuclear: float
) -> LayerPeeledSolution:
    """A solution from scalars; the between-group part has rank at most one, so its factors are known."""
    derivatives = Objective(problem).derivatives(point.matrix, point.contrasts)
    gradient_norm = float(np.linalg.norm(derivatives.matrix, 2))
    certificate = held.regulariser.certify(
        problem, derivatives, point, nuclear, derivatives.operator_norm(problem, gradient_norm)
    )
    size = float(np.linalg.norm(point.matrix))
    left, values, right = np.zeros((problem.groups, 0)), np.zeros(0), np.zeros((0, problem.groups))
    if size > 0:
        column = int(np.argmax(np.abs(point.matrix).sum(axis=0)))
        vector = point.matrix[:, column] / np.linalg.norm(point.matrix[:, column])
        left, values, right = vector[:, None], np.array([size]), (vector @ point.matrix / size)[None]
    if isinstance(held.regulariser, Penalty):
        multiplier = held.regulariser.multiplier
    status = Status.of_exact(certificate)
    found = Iterate(point, left, values, right, derivatives, nuclear, multiplier, certificate, status)
    return free_solution(problem, total, held.weight_to_feature_energy, found, nuclear)


def point_near(logits: FloatArray, problem: Merged) -> Point | None:
    """The neighbour's Z as a point of `problem`; None if it has other classes or is zero."""
    classes, members, group = problem.classes, problem.multiplicity, problem.group_of_class
    if logits.shape != (classes, classes) or not np.any(logits):
        return None
    belongs = np.zeros((problem.groups, classes))
    belongs[group, np.arange(classes)] = 1.0
    blocks, own = belongs @ logits @ belongs.T, belongs @ np.diag(logits)
    pairs = np.where(members > 1, members * (members - 1), 1.0)
    between = np.where(members > 1, (np.diag(blocks) - own) / pairs, 0.0)
    contrasts = np.where(members > 1, np.maximum(own / members - between, 0.0), 0.0)
    matrix = blocks / np.sqrt(np.outer(members, members))
    np.fill_diagonal(matrix, np.where(members > 1, members * between + contrasts, own))
    return Point(matrix, contrasts)
