"""Which epochs are measured in full: geometry costs the same whether an epoch is long or short.

Recall, losses, counts and the cosines of up to MANY classifiers are taken in every epoch. NC1-NC4, the angles of class
means and of many classifiers, the change of the layers and the activation patterns take as long as training on some
hundred examples to some thousand; so an epoch of ENOUGH examples has them always, and of shorter epochs so few, one in
RAREST at least, that they cost little. The FIRST epochs are measured in full, and the last one where it is known.
"""

import math
from dataclasses import dataclass

ENOUGH = 16_384  # examples
RAREST = 10  # epochs
FIRST = 3
MANY = 256


@dataclass
class Cadence:
    """`full` tells whether the running epoch is measured in full; `spectra` whether whole spectra are due."""

    told: int | None
    spectra_every: int
    full: bool = True
    waited: int = 0  # epochs since the last full one
    next_spectra: int = 0

    def spectra(self, epoch: int) -> bool:
        """Whether whole spectra are taken at the end of this epoch."""
        due = self.full and self.spectra_every > 0 and epoch >= self.next_spectra
        if due:
            self.next_spectra = epoch + self.spectra_every
        return due

    def end_epoch(self, examples: int, epochs_done: int, seen: float | None) -> None:
        """Decide about the next epoch, after one of so many examples."""
        every = self.told or min(max(math.ceil(ENOUGH / max(examples, 1)), 1), RAREST)
        self.waited = 1 if self.full else self.waited + 1
        last = seen is not None and seen * (epochs_done + 1) / max(epochs_done, 1) > 1 - 1e-9
        self.full = epochs_done < FIRST or self.waited >= every or last
