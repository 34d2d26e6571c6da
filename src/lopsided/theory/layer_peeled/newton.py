"""A certified Newton method for the merged program with any class sizes.

Z is kept as factors, M = W H with W = U S^(1/2), H = S^(1/2) V^T, and contrasts a_g = s_g^2 / (2 (m_g - 1)), so
that |Z|_* = |theta|^2 / 2 for theta = (W, H, s) (eq 89). The ball becomes a sphere, the penalty a
ridge, and both are smooth:

    ball:     minimise f(Z(theta)) on |theta|^2 = 2 tau;   multiplier lambda = -<grad f, theta> / |theta|^2
    penalty:  minimise f(Z(theta)) + (lambda/2) |theta|^2

Newton's equations are solved by conjugate gradients inside a trust region, in the tangent space of the sphere for the
ball. The linear algebra of a step runs in float32 (a direction needs three digits), and everything that is certified in
float64. Each round first computes the proximal step Z - G/lambda -> shrink, which shows which singular values should be
zero and which new ones should appear, and takes it if that helps: factors alone cannot leave a point whose rank is too
small. A solve is finished only when the certificate of `energy` says so.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from lopsided.core.blas import one_blas_thread
from lopsided.core.validation import FloatArray
from lopsided.theory.layer_peeled.energy import Ball, Certificate, Point, Regulariser, inner
from lopsided.theory.layer_peeled.merged import Curvature, Derivatives, Merged, Objective
from lopsided.theory.layer_peeled.proximal import accelerated_steps, singular_values, starting_point

# Called with the iteration and the relative gap; True ends the solve at the best point so far.
Progress = Callable[[int, float], bool | None]
STEPS_WITHOUT_GAIN = 6
EXACT_TOLERANCE = 1e-10


class Status(Enum):
    """How a solve ended, in words."""

    CERTIFIED = "certified: the duality gap is below the tolerance"
    STALLED = "stalled: rounding stops further progress; the gap says how near the optimum is"
    STOPPED = "stopped early, as asked; the gap says how near the optimum is"
    OUT_OF_ITERATIONS = "stopped after the largest number of iterations; the gap says how near the optimum is"

    @classmethod
    def of_exact(cls, certificate: Certificate) -> "Status":
        """The status of a solution by scalar roots, which are exact to rounding; the gap is larger by a factor of tau
        and the number of classes."""
        return cls.CERTIFIED if certificate.relative_gap < EXACT_TOLERANCE else cls.STALLED


def solve_merged(
    problem: Merged,
    regulariser: Regulariser,
    *,
    tolerance: float = 1e-10,
    most_iterations: int = 80,
    progress: Progress | None = None,
    near: Point | None = None,
) -> "Iterate":
    """Minimise f over the ball or with the penalty until the relative gap is below `tolerance`; `near` is a start."""
    with one_blas_thread():
        objective = Objective(problem)
        if near is None:
            start, multiplier = starting_point(problem, regulariser)
            start = accelerated_steps(objective, regulariser, start, multiplier, steps=25)
        else:
            start = near
        iterate = Iterate.of(objective, regulariser, start)
        radius = 0.3 * np.sqrt(2 * iterate.nuclear)
        best = iterate
        status = Status.OUT_OF_ITERATIONS
        patience = _Patience()
        for iteration in range(most_iterations):
            enough = progress is not None and progress(iteration, best.certificate.relative_gap) is True
            if best.certificate.relative_gap < tolerance:
                status = Status.CERTIFIED
                break
            if enough:
                status = Status.STOPPED
                break
            proposal = _proximal_rank(objective, regulariser, iterate)
            if proposal is not None and (proposal.improves(iterate) or patience.take_any_proposal):
                iterate = proposal
            factors = _Factors(objective, regulariser, iterate, np.float64 if patience.precise else np.float32)
            step, at_edge = factors.direction(radius)
            moved, radius = factors.move(step, radius, at_edge)
            if moved is not None:
                iterate = moved
            if patience.is_over(moved is not None, iterate.certificate.gap < 0.5 * best.certificate.gap):
                status = Status.STALLED
                break
            if iterate.certificate.relative_gap < best.certificate.relative_gap:
                best = iterate
        return replace(best, status=status, iterations=iteration)


@dataclass(frozen=True)
class Iterate:
    """A point with its singular value decomposition, derivatives and certificate; the last one says how it ended."""

    point: Point
    left: FloatArray
    singular_values: FloatArray
    right: FloatArray
    derivatives: Derivatives
    nuclear: float
    multiplier: float
    certificate: Certificate
    status: Status = Status.OUT_OF_ITERATIONS
    iterations: int = 0

    @classmethod
    def of(cls, objective: Objective, regulariser: Regulariser, point: Point) -> "Iterate":
        """Decompose, scale onto the ball and certify a point."""
        problem = objective.problem
        left, values, right = singular_values(point.matrix)
        nuclear = float(values.sum() + problem.contrast_weight @ point.contrasts)
        if isinstance(regulariser, Ball) and nuclear > 0:
            scale = regulariser.tau / nuclear
            point = Point(point.matrix * scale, point.contrasts * scale)
            values, nuclear = values * scale, regulariser.tau
        derivatives = objective.derivatives(point.matrix, point.contrasts)
        operator = derivatives.operator_norm(problem, float(np.linalg.norm(derivatives.matrix, 2)))
        certificate = regulariser.certify(problem, derivatives, point, nuclear, operator)
        if isinstance(regulariser, Ball):
            multiplier = -inner(derivatives, point) / regulariser.tau
        else:
            multiplier = regulariser.multiplier
        return cls(point, left, values, right, derivatives, nuclear, multiplier, certificate)

    @property
    def rank(self) -> int:
        """Singular values above rounding."""
        return int(np.count_nonzero(self.singular_values > 1e-10 * max(self.singular_values[0], 1e-300)))

    def improves(self, other: "Iterate") -> bool:
        """A lower objective, or a better certificate where the objective is flat to rounding."""
        mine, theirs = self.certificate, other.certificate
        return mine.objective < theirs.objective * (1 - 1e-13) or mine.gap < theirs.gap


@dataclass
class _Patience:
    """What to try when steps no longer help: a change of rank, then float64, then stop.

    Near a degenerate optimum (a class just at the threshold) the gap rises before it falls, so a few steps without gain
    are allowed. float32 directions reach a gap of about 1e-11; float64 ones continue down to rounding error.
    """

    take_any_proposal: bool = False
    precise: bool = False
    without_gain: int = 0

    def is_over(self, moved: bool, gained: bool) -> bool:
        self.without_gain = 0 if gained else self.without_gain + 1
        if moved and self.without_gain < STEPS_WITHOUT_GAIN:
            return False
        if not moved and not self.take_any_proposal:
            self.take_any_proposal = True
            return False
        if self.precise:
            return True
        self.precise, self.take_any_proposal, self.without_gain = True, False, 0
        return False


def _proximal_rank(objective: Objective, regulariser: Regulariser, iterate: Iterate) -> Iterate | None:
    """The unit proximal step where it changes the rank of M or the set of live contrasts, else None."""
    problem = objective.problem
    gradient = iterate.derivatives.matrix / iterate.multiplier
    left, values, right = singular_values(iterate.point.matrix - gradient)
    rank = int(np.count_nonzero(values > 1.0))
    weight = np.where(problem.repeated, problem.contrast_weight, 1.0)
    contrasts = iterate.point.contrasts - iterate.derivatives.contrasts / (weight * iterate.multiplier) - 1.0
    contrasts = np.where(problem.repeated, np.maximum(contrasts, 0.0), 0.0)
    same_contrasts = np.array_equal(contrasts > 0, iterate.point.contrasts > 0)
    if (rank == iterate.rank and same_contrasts) or (rank == 0 and not contrasts.any()):
        return None
    matrix = (left[:, :rank] * (values[:rank] - 1.0)) @ right[:rank]
    live = np.where((contrasts > 0) & (iterate.point.contrasts > 0), iterate.point.contrasts, contrasts)
    return Iterate.of(objective, regulariser, Point(matrix, live))


class _Factors:
    """One Newton step in the factors (W, H, s) of an iterate."""

    def __init__(
        self, objective: Objective, regulariser: Regulariser, iterate: Iterate, kind: type[np.floating]
    ) -> None:
        self.objective, self.regulariser, self.iterate = objective, regulariser, iterate
        problem = objective.problem
        rank = max(iterate.rank, 1)
        root = np.sqrt(iterate.singular_values[:rank])
        self.w = iterate.left[:, :rank] * root
        self.h = root[:, None] * iterate.right[:rank]
        self.live = problem.repeated
        self.weight = np.where(self.live, problem.contrast_weight, 1.0)
        self.s = np.sqrt(2 * self.weight * iterate.point.contrasts)
        self.shape = (problem.groups, rank)
        self.multiplier = iterate.multiplier
        gradient = iterate.derivatives.matrix / self.multiplier
        slope = iterate.derivatives.contrasts / self.multiplier
        self.theta = self._flat(self.w, self.h, self.s)
        self.gradient = self.theta + self._flat(
            gradient @ self.h.T, self.w.T @ gradient, np.where(self.live, slope * self.s / self.weight, 0.0)
        )
        self.kind = kind
        self._curvature = Curvature(problem, iterate.derivatives.masses, self.multiplier, kind)
        share = np.where(self.live, 1.0 / self.weight, 0.0)
        self._w, self._h, self._g, self._s_share, self._slope_share = (
            np.ascontiguousarray(array, dtype=kind)
            for array in (self.w, self.h, gradient, self.s * share, slope * share)
        )
        self._change = np.empty((problem.groups, problem.groups), dtype=kind)
        unit = self.theta / np.linalg.norm(self.theta)
        self._normal = unit.astype(kind) if isinstance(regulariser, Ball) else None

    def _flat(self, w: FloatArray, h: FloatArray, s: FloatArray) -> FloatArray:
        return np.concatenate([w.ravel(), h.ravel(), s])

    def _parts(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        groups, rank = self.shape
        size = groups * rank
        return theta[:size].reshape(groups, rank), theta[size : 2 * size].reshape(rank, groups), theta[2 * size :]

    def _second_derivative(self, theta: FloatArray) -> FloatArray:
        """The second derivative in the factors. Most of the time is spent here, so arrays are reused."""
        dw, dh, ds = self._parts(theta)
        np.matmul(dw, self._h, out=self._change)
        self._change += self._w @ dh
        curved, slope_change = self._curvature.apply(self._change, self._s_share * ds)
        product = np.empty_like(theta)
        to_w, to_h, to_s = self._parts(product)
        np.matmul(curved, self._h.T, out=to_w)
        to_w += self._g @ dh.T
        np.matmul(self._w.T, curved, out=to_h)
        to_h += dw.T @ self._g
        np.multiply(slope_change, self._s_share, out=to_s)
        to_s += self._slope_share * ds
        product += theta
        if self._normal is not None:
            product -= self._normal * (self._normal @ product)
        return product

    def direction(self, radius: float, most_products: int = 500) -> tuple[FloatArray, bool]:
        """Steihaug's conjugate gradients: the step, and whether it ends at the trust radius."""
        size = float(np.linalg.norm(self.gradient))
        relative = size / float(np.linalg.norm(self.theta))
        accuracy = float(np.clip(relative**0.4, 3e-3 if self.kind is np.float32 else 1e-5, 0.5))
        limit = radius / size
        residual = (-self.gradient / size).astype(self.kind)
        step, search = np.zeros_like(residual), residual.copy()
        square = float(residual @ residual)
        for _ in range(most_products):
            product = self._second_derivative(search)
            curvature = float(search @ product)
            length = square / curvature if curvature > 0 else np.inf
            longer = step + self.kind(length) * search if np.isfinite(length) else step
            if not np.isfinite(length) or float(longer @ longer) > limit**2:
                return self._to_edge(step, search, limit).astype(np.float64) * size, True
            step = longer
            residual = residual - self.kind(length) * product
            new_square = float(residual @ residual)
            if new_square < accuracy**2:
                break
            search = residual + self.kind(new_square / square) * search
            square = new_square
        return step.astype(np.float64) * size, False

    def _to_edge(self, step: FloatArray, search: FloatArray, limit: float) -> FloatArray:
        along, length, inside = float(step @ search), float(search @ search), float(step @ step)
        reach = (-along + np.sqrt(along**2 + length * max(limit**2 - inside, 0.0))) / length
        return step + self.kind(reach) * search

    def move(self, step: FloatArray, radius: float, at_edge: bool) -> tuple[Iterate | None, float]:
        """Accept the step, or shorten it: the new iterate (None if no length helps) and the trust radius."""
        before = self.iterate.certificate.objective
        for _ in range(8):
            w, h, s = self._parts(self.theta + step)
            point = Point(w @ h, np.where(self.live, s * s / (2 * self.weight), 0.0))
            after = Iterate.of(self.objective, self.regulariser, point)
            # Near the optimum the objective is flat to rounding, and Newton's step is the best there is.
            if after.certificate.objective <= before + 1e-13 * abs(before):
                return after, 2 * radius if at_edge else radius
            step = step / 4
            radius, at_edge = float(np.linalg.norm(step)), False
        return None, radius
