"""Group DRO for learners that are fitted as a whole: refits under group weights that follow the groups' losses.

    q^(1) = 1/G;   fit under weights q_g n / n_g;   q^(r+1)_g ~ q^(r)_g exp(eta l_g)   (Sagawa et al. 2020, Algorithm 1)

with l_g the mean log loss of group g in `INNER` held-out folds. Deviations from the algorithm: it takes a step of q
after every batch, this one after every whole fit; it uses training losses, which a flexible learner drives to zero in
every group, this one held-out losses; and the last fit uses the mean of the q, for which the bound on the worst group
holds. Steps are those of `remedies.group_dro`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from lopsided.core.folds import deal
from lopsided.core.validation import BoolArray, FloatArray, IntArray
from lopsided.remedies.group_dro import dro_start, dro_step

INNER = 2
SMALLEST_CHANCE = 1e-6  # a probability of zero would end all other groups' say

Trained = Callable[[BoolArray, FloatArray], Any]
Chances = Callable[[Any, BoolArray], FloatArray]


def dro_weights(
    codes: IntArray, groups: IntArray, *, rounds: int, step: float, seed: int, train: Trained, chances: Chances
) -> tuple[FloatArray, FloatArray]:
    """(weight of every example, mean 1; mean q over groups) after `rounds` rounds of INNER fits each.

    train(rows, weights) fits on the rows with weights for all examples; chances(model, rows) are class probabilities.
    """
    sizes = np.bincount(groups).astype(float)
    fold = deal(codes, groups, INNER, seed, 0)
    state, total = dro_start(sizes, step=step), np.zeros(sizes.size)
    for _ in range(rounds):
        total += state.weights
        weights = _by_example(state.weights, sizes, groups)
        losses = np.zeros(codes.size)
        for number in range(INNER):
            held_out = fold == number
            found = chances(train(~held_out, weights), held_out)
            own = found[np.arange(int(held_out.sum())), codes[held_out]]
            losses[held_out] = -np.log(np.maximum(own, SMALLEST_CHANCE))
        state, _ = dro_step(state, losses, groups)
    mean = (total + state.weights) / (rounds + 1)
    return _by_example(mean, sizes, groups), mean


def _by_example(q: FloatArray, sizes: FloatArray, groups: IntArray) -> FloatArray:
    weights = (q / sizes)[groups]
    return np.asarray(weights / weights.mean())
