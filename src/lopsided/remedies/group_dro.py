"""Group DRO with the size adjustment (Sagawa et al. 2020): weights over groups by exponentiated gradient.

    q_g <- q_g exp(eta (l_g + C / sqrt(n_g))) / normaliser;   loss = sum_g q_g l_g   (Algorithm 1, group-adjusted)

Deviation from the authors' script: a group that is absent from a batch keeps its q_g before normalisation (Algorithm
1 touches only the group that was drawn), whereas the script counts its loss as 0 and still adds the adjustment. In
the loss of a batch the weights of the groups present are not rescaled, as in the script.

A learner that is fitted as a whole is fitted again under the groups' weights (`GroupDro`):

    q^(1) = 1/G;   fit under weights q_g n / n_g;   q^(r+1)_g ~ q^(r)_g exp(eta l_g)

with l_g the mean log loss of group g in `INNER` held-out folds. Deviations from the algorithm: it takes a step of q
after every batch, this one after every whole fit; it uses training losses, which a flexible learner drives to zero in
every group, this one held-out losses; and the last fit uses the mean of the q, for which the bound on the worst group
holds.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.counts import CountsLike, class_counts
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_finite, check_positive
from lopsided.data.labelled_set import LabelledSet
from lopsided.remedies.contract import Occasion, Proposal, Proposals, Remedy
from lopsided.remedies.group_standardiser import groups_with_enough
from lopsided.remedies.learner import Learner

INNER = 2
ROUNDS = 4
STEP = 2.0  # a group whose loss is 0.1 nats above another's gets 1.2 times its weight in every round
SMALLEST_CHANCE = 1e-6  # a probability of zero would end all other groups' say


@dataclass(frozen=True)
class DroState:
    """State of group DRO between two steps.

    Attributes
    ----------
    weights : array of G floats
        q, the weights of the groups; they sum to 1.
    counts : array of G floats
        Training examples of every group.
    step : float, default 0.01
        eta, the step of the exponentiated gradient.
    adjustment : float, default 0.0
        C, the size adjustment.
    """

    weights: FloatArray
    counts: FloatArray
    step: float = 0.01
    adjustment: float = 0.0

    @property
    def offsets(self) -> FloatArray:
        """C / sqrt(n_g): small groups generalise worse than their training loss says."""
        return np.asarray(self.adjustment / np.sqrt(self.counts))


def dro_start(counts: CountsLike, *, step: float = 0.01, adjustment: float = 0.0) -> DroState:
    """Start group DRO with equal weights on all groups.

    Parameters
    ----------
    counts : str, list, dict or path
        Training examples of every group.
    step : float, default 0.01
        eta, the step of the exponentiated gradient; larger steps follow the worst group faster.
    adjustment : float, default 0.0
        C of the size adjustment: C / sqrt(n_g) is added to the loss of group g, so that small groups get more weight.

    Returns
    -------
    DroState
        Pass it to `dro_step` with the first batch.
    """
    sizes = _group_counts(counts)
    if adjustment != 0:
        check_positive(adjustment, "the size adjustment C")
    return DroState(np.full(sizes.size, 1.0 / sizes.size), sizes, check_positive(step, "the step"), float(adjustment))


def _group_counts(counts: CountsLike) -> FloatArray:
    try:
        return class_counts(counts).counts
    except InputError as error:  # counts are read as those of classes are, but these are groups
        words = (error.expected, error.got, error.remedy)
        raise InputError(*(part.replace("classes", "groups").replace("class", "group") for part in words)) from None


def group_means(losses: ArrayLike, groups: ArrayLike, number: int) -> tuple[FloatArray, IntArray]:
    """Mean loss of every group in a batch (0 where absent) and how many examples it had."""
    values, codes = np.asarray(losses, dtype=np.float64), np.asarray(groups)
    if values.ndim != 1 or codes.shape != values.shape:
        raise InputError("one loss and one group per example", f"{values.shape} and {codes.shape}", "flatten them")
    check_finite(values, "losses")
    if codes.size and (codes.dtype.kind not in "iu" or codes.min() < 0 or codes.max() >= number):
        raise InputError(f"groups 0..{number - 1}", f"{codes.min()}..{codes.max()}")
    seen = np.bincount(codes, minlength=number)
    return np.bincount(codes, weights=values, minlength=number) / np.maximum(seen, 1), seen.astype(np.int64)


def dro_step(state: DroState, losses: ArrayLike, groups: ArrayLike) -> tuple[DroState, float]:
    """Update the group weights from the losses of a batch.

    Parameters
    ----------
    state : DroState
        From `dro_start` or the step before.
    losses : array of n floats
        The loss of each example.
    groups : array of n ints
        The group of each example, as a code 0, 1, 2, ...

    Returns
    -------
    state : DroState
        The state with the new weights q.
    loss : float
        sum_g q_g l_g under the new weights.
    """
    means, seen = group_means(losses, groups, state.weights.size)
    exponents = np.where(seen > 0, state.step * (means + state.offsets), 0.0)
    raised = state.weights * np.exp(exponents - exponents.max())  # the shift cancels in the normaliser
    updated = raised / raised.sum()
    return replace(state, weights=updated), float(updated @ means)


@dataclass(frozen=True)
class GroupDro(Remedy):
    """`rounds` of refits with steps of `dro` over the groups of `partition`."""

    kind: ClassVar[str] = "group DRO"
    name: ClassVar[str] = "group DRO"
    silent: ClassVar[str] = "its weights are known only after training"
    without_form: ClassVar[str] = "use lopsided.torch.GroupDROLoss with the groups' counts"
    needs_weights: ClassVar[bool] = True
    needs_probabilities: ClassVar[bool] = True
    needs_groups: ClassVar[bool] = True
    partition: str = "group"
    dro: float = STEP
    rounds: int = ROUNDS

    @classmethod
    def propose(cls, occasion: Occasion) -> Proposals:
        """Proposed if every group has enough examples to be judged."""
        groups, notes = groups_with_enough(occasion.training)
        if groups is None:
            return [], notes
        why = (
            f"The groups of {groups.name} that do worst get more weight (Sagawa et al. 2020), here in {ROUNDS} rounds "
            f"of refits: after each, weights move by exp({STEP:g} x log loss on {INNER} held-out halves); the last fit "
            "has their mean."
        )
        return [Proposal(cls(groups.name), why)], []

    def weigh(self, training: LabelledSet, learner: Learner, seed: int) -> FloatArray:
        """The mean of the weights over the rounds."""
        codes = training.classes.codes
        _, groups = np.unique(training.group_codes, return_inverse=True)
        sizes = np.bincount(groups).astype(float)
        state, total = dro_start(sizes, step=self.dro), np.zeros(sizes.size)
        for _ in range(self.rounds):
            total += state.weights
            chances = learner.held_out(training, INNER, _by_example(state.weights, sizes, groups))
            known = chances.sum(axis=1) > 0
            losses = -np.log(np.maximum(chances[np.arange(codes.size), codes], SMALLEST_CHANCE))
            state, _ = dro_step(state, losses[known], groups[known])
        return _by_example((total + state.weights) / (self.rounds + 1), sizes, groups)


def _by_example(q: FloatArray, sizes: FloatArray, groups: IntArray) -> FloatArray:
    weights = (q / sizes)[groups]
    return np.asarray(weights / weights.mean())
