"""How many examples of every class there are, and how many an epoch showed; a sampler shows some of them repeatedly.

What there is, is told (`counts=`, the data set in `before=`), else it is what the largest epoch so far showed: an epoch
that the planned number of steps cut short does not count. The prior that a network learns, and that adjusting its
logits takes out, is that of the labels it was shown. They are used where they deviate from what was told beyond
chance: where drawn by the told shares p, sum (n_k - N p_k)^2 / (N p_k) has mean K - 1 and variance near 2 (K - 1).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lopsided.core.validation import FloatArray, IntArray
from lopsided.torch.loader_counts import counts_behind

BEYOND_CHANCE = 8.0  # standard deviations: small expected counts have a heavy tail


class ShownCounts:
    """Remembers the largest epoch; `told` are the counts that a user gave, else `counted` is read, if not empty."""

    def __init__(self, told: FloatArray | None, counted: Sequence[float] = ()) -> None:
        self._by_user = told is not None
        self.told = np.array(counted, dtype=np.float64) if told is None and counted else told
        self.largest: FloatArray | None = None
        self.whole = True  # whether the latest epoch was not cut short
        self.resampled = False

    def behind(self, loader: Any, classes: int) -> None:
        """Read the data set of a training loader whose sampler repeats examples."""
        if self.told is None:
            self.told = counts_behind(loader, classes)

    def look(self, labels: IntArray | None) -> None:
        """An epoch with these training labels is over; None for one without training."""
        if labels is None:
            return
        self.whole = self.largest is None or labels.sum() >= self.largest.sum()
        if self.whole:
            self.largest = labels.astype(np.float64)
        self.resampled = self.told is not None and _deviate(labels, self.told)

    @property
    def examples(self) -> FloatArray | None:
        """What there is of every class."""
        return self.largest if self.told is None else self.told

    @property
    def weighed(self) -> FloatArray | None:
        """What a user told to count, else what was shown: in the loss, a repeated example has the weight of several."""
        return self.told if self._by_user else self.prior

    @property
    def prior(self) -> FloatArray | None:
        """Counts in the proportions in which classes were shown."""
        return self.largest if self.resampled else self.examples


def _deviate(labels: IntArray, told: FloatArray) -> bool:
    expected = told * (labels.sum() / told.sum())
    distance = np.square(labels - expected) / np.maximum(expected, 1.0)  # of an expected tenth one says little
    free = max(len(told) - 1, 1)
    return bool(distance.sum() > free + BEYOND_CHANCE * math.sqrt(2 * free))
