"""The class sums of an epoch as arrays, and whether the rows sampled for the scatter stand for all of them."""

from dataclasses import dataclass

import numpy as np

from lopsided.core.validation import FloatArray, IntArray


@dataclass(frozen=True)
class SumsSnapshot:
    """The sums of an epoch as arrays; what carries no class of ours is left out, its count is `unclassed`."""

    counts: IntArray  # K
    means: FloatArray  # K x p, nan for classes without examples
    deviations: FloatArray  # K, sums of |h - mean|^2
    correct: FloatArray  # K
    losses: FloatArray  # K, sums
    within: FloatArray | None  # p x p covariance around class means, from the sampled rows
    within_examples: int
    nc4: float | None
    groups: FloatArray  # G x 3: count, correct, sum of losses
    unclassed: int  # labels out of range that are not the ignored one
    uneven: bool = False  # the rows sampled for scatter and NC4 are not a fair sample of the classes

    @property
    def squared_lengths(self) -> FloatArray:
        """Sums of |h|^2 per class: those around the mean, and the mean's own."""
        own = np.where(self.counts > 0, self.counts * (self.means**2).sum(axis=1), 0.0)
        return np.asarray(self.deviations + own)


def uneven(sampled: FloatArray, counts: IntArray) -> bool:
    """Whether the classes of the sampled rows are not those of all rows, as when batches come class by class.

    Half the summed difference of shares, beyond twice what chance alone makes of it on average, plus a tenth.
    """
    examples, total = float(sampled.sum()), float(counts.sum())
    if not examples or examples >= total:
        return False
    shares = counts / total
    by_chance = 0.5 * float(np.sqrt(2 / np.pi * shares * (1 - shares) / examples).sum())
    return float(np.abs(sampled / examples - shares).sum() / 2) > 2 * by_chance + 0.1
