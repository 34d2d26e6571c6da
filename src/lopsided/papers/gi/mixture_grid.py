"""One teacher of Fig 2 at one dimension for every n at once: prefixes of one sample, their critical points, and where
descent from many starts stands after T steps.

Near a critical point W_T - W_hat = (I - step Hess)^T (W_0 - W_hat), so one eigensystem tells the end of every start and
their spread; `descended_spread` runs the descent itself, for the cells on which the two are compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from lopsided.core.mixture_spec import MixtureProblem
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray
from lopsided.data.mixture import draw_sample
from lopsided.learners.critical_path import PathPoint, critical_path
from lopsided.learners.teacher_student import TrainingSet, training_set
from lopsided.papers.gi import mixture_lab as lab


@dataclass(frozen=True)
class Spread:
    """Root mean square distance of the starts' ends from their mean; `rate` is the slowest direction's factor a
    step."""

    spread: float
    stable: bool
    rate: float


def drawn_blocks(problem: MixtureProblem, counts: Sequence[int], seed: int) -> tuple[list[TrainingSet], list[int]]:
    """A sample in blocks, and how many of them make up each count; a smaller count is a prefix of a larger one."""
    size = gcd(*counts)
    blocks = []
    for index in range(max(counts) // size):
        sample = draw_sample(problem, size, generator(seed, "block", size, index))
        blocks.append(training_set(sample.features, sample.labels, problem.activation))
    return blocks, [count // size for count in counts]


def path_of_counts(problem: MixtureProblem, counts: Sequence[int], seed: int) -> list[PathPoint]:
    """The critical point nearest to W* for every n."""
    blocks, lengths = drawn_blocks(problem, counts, seed)
    return critical_path(blocks, problem.weights, lengths)


def linear_spread(found: PathPoint, starts: Sequence[FloatArray], step: float, steps: int) -> Spread:
    """The spread of the given starts after `steps` steps of the linearised descent."""
    gaps = np.array([(start - found.point.weights).T.ravel() for start in starts]) @ found.directions
    factors = 1.0 - step * found.curvatures
    rate = float(np.abs(factors).max())
    with np.errstate(over="ignore", invalid="ignore"):
        ends = gaps * factors ** float(steps)
        spread = float(np.sqrt(np.square(ends - ends.mean(axis=0)).sum(axis=1).mean()))
    return Spread(spread, rate < 1.0, rate)


def descended_spread(
    problem: MixtureProblem, counts: Sequence[int], seed: int, starts: int, step: float, steps: int
) -> float:
    """The same by descent itself, for the smallest n."""
    blocks, lengths = drawn_blocks(problem, counts, seed)
    prefix = blocks[: min(lengths)]
    data = TrainingSet(
        np.ascontiguousarray(np.concatenate([block.features for block in prefix], axis=1)),
        np.concatenate([block.signs for block in prefix]),
        prefix[0].code,
        prefix[0].activation,
    )
    return lab.measured_spread(problem, data, step, steps, starts, seed)
