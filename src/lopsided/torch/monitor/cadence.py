"""Decides which epochs are measured in full, because geometry costs the same for long and short epochs.

Recall, losses, counts and the cosines of up to MANY classifiers are taken in every epoch. NC1-NC4, the angles of class
means and of more classifiers, the change of the layers and the activation patterns take as long as training a network
of WEIGHTS weights on some hundred examples to some thousand; so an epoch of ENOUGH examples has them always, and of
shorter epochs so few, one in RAREST at least, that they cost little. A larger network needs fewer examples. The FIRST
epochs are measured in full, and the last one where it is known.

What forecasts of recall read from single rows (margins, ranks, nearest means) is due in full epochs, and whenever the
training has become LATER times as long as at the last time: the law of those forecasts goes by the logarithm of time.
(On the development networks of `lopsided skill`, rows that are twice as old cost it at most 0.005 of its AUC.) Class
means are taken then, and in the epoch before a full one, with whose means NC4 compares.
"""

import math
from dataclasses import dataclass

ENOUGH = 300_000  # examples
ENOUGH_OF_MANY = 1_200_000  # for more than MANY classes
WEIGHTS = 500_000
RAREST = 60  # epochs
EPOCHS_OF_A_SPECTRUM = 4  # `spectra_every` is kept as long as every fourth epoch or more is measured in full
FIRST = 3
LATER, LATER_OF_MANY = 1.5, 2.0
MANY = 64


@dataclass
class Cadence:
    """`full` tells whether the running epoch is measured in full, `rows` whether rows are kept, `means` whether class
    means are taken; `spectra` whether whole spectra are due."""

    told: int | None
    spectra_every: int
    classes: int = 2
    weights: int = WEIGHTS
    full: bool = True
    waited: int = 0  # epochs since the last full one
    every: int = 1  # epochs from one full measurement to the next
    last_spectra: int | None = None
    rows: bool = True
    rows_at: int = 0  # the latest epoch in which they were kept, counted from 1
    means: bool = True

    def spectra(self, epoch: int) -> bool:
        """Whether whole spectra are taken at the end of this epoch. Only full epochs have them, and short epochs more
        rarely, because they cost as much there as in long ones."""
        waited = None if self.last_spectra is None else epoch - self.last_spectra
        wanted = self.spectra_every * math.ceil(self.every / EPOCHS_OF_A_SPECTRUM)
        due = self.full and self.spectra_every > 0 and (waited is None or waited >= wanted)
        if due:
            self.last_spectra = epoch
        return due

    def end_epoch(self, examples: int, epochs_done: int, seen: float | None) -> None:
        """Decide about the next epoch, after one of so many examples."""
        enough = (ENOUGH if self.classes <= MANY else ENOUGH_OF_MANY) * min(WEIGHTS / max(self.weights, 1), 1.0)
        self.every = self.told or min(max(math.ceil(enough / max(examples, 1)), 1), RAREST)
        self.waited = 1 if self.full else self.waited + 1

        def due(ahead: int) -> bool:
            last = seen is not None and seen * (epochs_done + ahead + 1) / max(epochs_done, 1) > 1 - 1e-9
            return epochs_done + ahead < FIRST or self.waited + ahead >= self.every or last

        self.full = due(0)
        self.rows_at = epochs_done if self.rows else self.rows_at
        self.rows = self.full or epochs_done + 1 >= self.rows_at * (LATER if self.classes <= MANY else LATER_OF_MANY)
        self.means = self.rows or due(1)
