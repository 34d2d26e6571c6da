"""Group DRO with the size adjustment (Sagawa et al. 2020): weights over groups by exponentiated gradient.

    q_g <- q_g exp(eta (l_g + C / sqrt(n_g))) / normaliser;   loss = sum_g q_g l_g   (Algorithm 1, group-adjusted)

Deviation from the authors' script: a group that is absent from a batch keeps its q_g before normalisation (Algorithm
1 touches only the group that was drawn), whereas the script counts its loss as 0 and still adds the adjustment. In
the loss of a batch the weights of the groups present are not rescaled, as in the script.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.counts import CountsLike, class_counts
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_finite, check_positive


@dataclass(frozen=True)
class DroState:
    """q over groups, their sizes, the step eta and the adjustment C."""

    weights: FloatArray
    counts: FloatArray
    step: float = 0.01
    adjustment: float = 0.0

    @property
    def offsets(self) -> FloatArray:
        """C / sqrt(n_g): small groups generalise worse than their training loss says."""
        return np.asarray(self.adjustment / np.sqrt(self.counts))


def dro_start(counts: CountsLike, *, step: float = 0.01, adjustment: float = 0.0) -> DroState:
    """Equal weights on all groups."""
    sizes = _group_counts(counts)
    if adjustment != 0:
        check_positive(adjustment, "the size adjustment C")
    return DroState(np.full(sizes.size, 1.0 / sizes.size), sizes, check_positive(step, "the step"), float(adjustment))


def _group_counts(counts: CountsLike) -> FloatArray:
    try:
        return class_counts(counts).counts
    except InputError as error:  # counts are read as those of classes are, but these are groups
        raise InputError(*(_of_groups(part) for part in (error.expected, error.got, error.remedy))) from None


def _of_groups(words: str) -> str:
    return words.replace("classes", "groups").replace("class", "group")


def group_means(losses: ArrayLike, groups: ArrayLike, number: int) -> tuple[FloatArray, IntArray]:
    """Mean loss of every group in a batch (0 where absent) and how many examples it had."""
    values, codes = np.asarray(losses, dtype=np.float64), np.asarray(groups)
    if values.ndim != 1 or codes.shape != values.shape:
        raise InputError("one loss and one group per example", f"{values.shape} and {codes.shape}", "flatten them")
    check_finite(values, "losses")
    if codes.size and (codes.dtype.kind not in "iu" or codes.min() < 0 or codes.max() >= number):
        raise InputError(f"groups 0..{number - 1}", f"{codes.min()}..{codes.max()}", "number the groups from 0")
    seen = np.bincount(codes, minlength=number)
    return np.bincount(codes, weights=values, minlength=number) / np.maximum(seen, 1), seen.astype(np.int64)


def dro_step(state: DroState, losses: ArrayLike, groups: ArrayLike) -> tuple[DroState, float]:
    """Update q from the losses of a batch; the new state and the loss sum_g q_g l_g under the new q."""
    means, seen = group_means(losses, groups, state.weights.size)
    exponents = np.where(seen > 0, state.step * (means + state.offsets), 0.0)
    raised = state.weights * np.exp(exponents - exponents.max())  # the shift cancels in the normaliser
    updated = raised / raised.sum()
    return replace(state, weights=updated), float(updated @ means)
