"""The two feature models by name, with one way to solve them."""

from dataclasses import dataclass
from typing import Literal, get_args

from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray, FloatArray
from lopsided.theory.layer_peeled.energy import Restraint
from lopsided.theory.layer_peeled.newton import Progress
from lopsided.theory.layer_peeled.relu_features import ReluSolution, solve_relu
from lopsided.theory.layer_peeled.solution import LayerPeeledSolution
from lopsided.theory.layer_peeled.solve import solve_free

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
