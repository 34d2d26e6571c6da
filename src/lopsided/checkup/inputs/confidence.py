"""How sure the model was, how often it was right and what it lost: all that calibration asks of probabilities.

One row per example where probabilities are kept. Of data too large for that, one row for all examples of one class,
group, guess and bin, with sums; means and rates are the same.
"""

from dataclasses import dataclass

import numpy as np

from lopsided.core.validation import BoolArray, FloatArray, IntArray

BINS = 15  # of equal width, of the largest probability
LEAST_CHANCE = 1e-12  # log loss of a zero probability is cut here, and says so


@dataclass(frozen=True)
class Confidence:
    """Of every row: the most probable class, the bin of its probability, and sums over the row's examples of that
    probability, of the log loss and of its square. `single`: every row is one example."""

    guess: IntArray
    bin: IntArray
    sure: FloatArray
    loss: FloatArray
    squares: FloatArray
    single: bool = True

    def where(self, rows: BoolArray) -> "Confidence":
        """The chosen rows."""
        sums = (self.sure[rows], self.loss[rows], self.squares[rows])
        return Confidence(self.guess[rows], self.bin[rows], *sums, self.single)


def confidence_of(chances: FloatArray, codes: IntArray) -> Confidence:
    """From probabilities (n x K) and the codes of the true classes, one row per example."""
    every = np.arange(len(codes))
    guess = chances.argmax(axis=1).astype(np.int64)
    sure = chances[every, guess]
    loss = -np.log(np.maximum(chances[every, codes], LEAST_CHANCE))
    place = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    return Confidence(guess, place, sure, loss, np.square(loss))
