"""Indices for given rates: whole copies plus a random fraction without replacement, the same for (seed, epoch).

A class of n examples at rate w is seen round(w n) times an epoch: every example floor(w) times, and a random subset
of the rest once more. So no example is left out at w >= 1, none is seen more than ceil(w) times, and the number of
indices is the same in every epoch. Drawing with replacement (`WeightedRandomSampler`, `RandomOverSampler`) leaves out
a share e^-w of a class by chance.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray

MOST_INDICES = 2**40  # an epoch of 8 TiB of indices is a mistake in the rates


@dataclass(frozen=True)
class ResamplingPlan:
    """Examples sorted by class, and how often each class is seen per epoch.

    Attributes
    ----------
    order : array of ints
        Indices of the examples, class by class.
    starts : array of K + 1 ints
        Where each class begins in `order`, and the end.
    targets : array of K ints
        Indices of each class per epoch: its rate times its size, rounded, at least 1.
    """

    order: IntArray
    starts: IntArray
    targets: IntArray

    @property
    def length(self) -> int:
        """Indices an epoch."""
        return int(self.targets.sum())

    def indices(self, seed: int = 0, epoch: int = 0, *, shuffle: bool = True) -> IntArray:
        """The indices of an epoch; without `shuffle` class by class, in the order in which they appear, and copies in
        rounds."""
        stream = generator(seed, "oversampling", epoch)
        found = np.empty(self.length, dtype=np.int64)
        position = 0
        for place in np.argsort(self.order[self.starts[:-1]]):  # by the first example of each class, not by its name
            members = self.order[self.starts[place] : self.starts[place + 1]]
            whole, rest = divmod(int(self.targets[place]), members.size)
            # broadcasting fills the rounds without a temporary copy
            found[position : position + whole * members.size].reshape(whole, members.size)[:] = members
            position += whole * members.size
            if rest:
                found[position : position + rest] = members[stream.choice(members.size, rest, replace=False)]
                position += rest
        if shuffle:
            stream.shuffle(found)
        return found


def resampling_plan(codes: ArrayLike, rates: FloatArray, *, length: int | None = None) -> ResamplingPlan:
    """Sort the examples by class once, so that the indices of an epoch are quick to draw.

    Parameters
    ----------
    codes : array of n ints
        The class of each example, as a code 0, 1, 2, ...
    rates : array of K floats
        The rate of each class, positive.
    length : int, optional
        Number of indices per epoch, in the proportions of the rates. By default, the sum of rate times size.

    Returns
    -------
    ResamplingPlan
        `indices(seed, epoch)` gives the indices of an epoch.
    """
    given = np.asarray(codes)
    classes = rates.shape[0]
    counts = np.bincount(given, minlength=classes).astype(np.int64)
    if counts.shape[0] != classes or (counts == 0).any():
        raise InputError(f"examples in each of {classes} classes", f"{np.count_nonzero(counts)}", "drop empty classes")
    wanted = rates * counts
    if not wanted.sum() <= MOST_INDICES:
        raise InputError(f"at most {MOST_INDICES} indices an epoch", f"{wanted.sum():.3g}")
    # NumPy sorts 16-bit integers by radix, several times faster than wide ones
    narrow = given.astype(np.uint16) if classes <= 2**16 else given
    order = np.argsort(narrow, kind="stable").astype(np.int64, copy=False)
    starts = np.concatenate([[0], np.cumsum(counts)])
    whole = np.maximum(np.rint(wanted), 1).astype(np.int64)
    targets = whole if length is None else _shared(wanted, length, order[starts[:-1]])
    return ResamplingPlan(order, starts, targets)


def _shared(wanted: FloatArray, length: int, appears: IntArray) -> IntArray:
    """Whole numbers of at least 1 with sum `length`, in proportion to `wanted`: rounded down, the largest remainders
    up, of equal ones those of the classes that appear first."""
    if length < wanted.size:
        raise InputError(f"an epoch of at least {wanted.size} indices, one per class", length)
    spare = length - wanted.size  # every class has one
    exact = np.maximum(wanted * (length / wanted.sum()) - 1.0, 0.0)
    exact *= spare / max(exact.sum(), 1e-300)
    targets = np.floor(exact).astype(np.int64)
    targets[np.lexsort((appears, targets - exact))[: spare - int(targets.sum())]] += 1
    return np.asarray(targets + 1)
