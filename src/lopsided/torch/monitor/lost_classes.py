"""Classes whose recall is zero, or nearly, on training or held-out examples: the most serious warning of the monitor.

A class is lost when its recall was 0 in LOST_AFTER epochs in a row, and nearly lost when it stayed below LOW. Epochs
without an example of the class are ignored. The warning is repeated when twice as many epochs have passed (3, 6, 12,
...); for a class that is nearly lost it is given once. "Lost" is about recall; classifiers that become equal are
"merging".
"""

from collections.abc import Sequence

import numpy as np

from lopsided.core.validation import FloatArray
from lopsided.torch.monitor.class_words import class_list, joined, numbers

LOST_AFTER = 3  # epochs in a row
LOW = 0.1
Recall = Sequence[float | None]


class LostClasses:
    """Remembers how long each class has been at zero, on training and held-out examples."""

    def __init__(self, classes: int, names: Sequence[str]) -> None:
        self._names = names
        self.zero = np.zeros((2, classes), dtype=np.int64)  # epochs in a row with recall 0: training, held out
        self.low = np.zeros((2, classes), dtype=np.int64)
        self.said_low = np.zeros(classes, dtype=bool)
        self.looks = 0  # epochs
        self.quiet_until = np.zeros(classes, dtype=np.int64)

    def look(self, train: Recall | None, held_out: Recall | None, counts: FloatArray | None) -> list[str]:
        """What is new this epoch, from the recall of each class; None where it was not measured."""
        self.looks += 1
        recalls = np.full(self.zero.shape, np.nan)
        for phase, recall in enumerate((train, held_out)):
            if recall is not None:
                recalls[phase] = recall  # None becomes nan
        known = ~np.isnan(recalls)
        self.zero = np.where(recalls == 0, self.zero + 1, np.where(known, 0, self.zero))
        self.low = np.where(recalls < LOW, self.low + 1, np.where(known, 0, self.low))
        return [*self._lost(recalls, counts), *self._nearly(recalls)]

    def _lost(self, recalls: FloatArray, counts: FloatArray | None) -> list[str]:
        long = self.zero >= LOST_AFTER
        due = long & ~np.isnan(recalls) & (self.looks >= self.quiet_until)
        found: list[str] = []
        if not due.any():
            return found
        kinds = {
            "training and held-out": due.any(axis=0) & long.all(axis=0),
            "held-out": due[1] & long[1] & ~long[0],
            "training": due[0] & long[0] & ~long[1],
        }
        for words, chosen in kinds.items():
            members = np.flatnonzero(chosen)
            if not len(members):
                continue
            self.said_low[members] = True
            self.quiet_until[members] = 2 * self.looks
            rows = self.zero[:, members] if " and " in words else self.zero[int(words == "held-out"), members][None]
            details = [] if counts is None else [f"{numbers(counts[members])} training examples"]
            if words == "held-out" and np.isfinite(recalls[0][members]).any():
                details.append(f"training recall {_range(recalls[0][members])}")
            found.append(
                f"{class_list(self._names, members.tolist())} {'is' if len(members) == 1 else 'are'} lost: recall 0 on "
                f"{words} examples in the last {int(rows.min())} epochs" + (f" ({joined(details)})" if details else "")
            )
        return found

    def _nearly(self, recalls: FloatArray) -> list[str]:
        # What is held out is what counts; without it, the training examples.
        judged = 1 if np.isfinite(recalls[1]).any() else 0
        fresh = (self.low[judged] >= LOST_AFTER) & (recalls[judged] > 0) & ~self.said_low
        members = np.flatnonzero(fresh)
        if not len(members):
            return []
        self.said_low |= fresh
        named = {"held-out": recalls[1][members], "training": recalls[0][members]}
        shown = joined([f"{name} recall {_range(found)}" for name, found in named.items() if np.isfinite(found).any()])
        verb = "is" if len(members) == 1 else "are"
        return [f"{class_list(self._names, members.tolist())} {verb} nearly lost after {LOST_AFTER} epochs: {shown}"]


def _range(values: FloatArray) -> str:
    known = values[np.isfinite(values)]
    low, high = float(known.min()), float(known.max())
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"
