"""Labels of the training batches that are not observed, counted class by class.

A batch costs one copy of its labels; they are counted together, when some ten thousand wait. Nothing is moved between
devices before the epoch ends.
"""

import torch
from lopsided.core.validation import IntArray

MOST_WAITING = 65_536


class LabelCounts:
    """Counts of one epoch."""

    def __init__(self, classes: int) -> None:
        self._classes = classes
        self._waiting: list[torch.Tensor] = []
        self._rows = 0
        self._counts: torch.Tensor | None = None

    def add(self, codes: torch.Tensor) -> None:
        """Count these class codes, which nobody writes into; codes of no class are left out."""
        self._waiting.append(codes)
        self._rows += len(codes)
        if self._rows >= MOST_WAITING:
            self._flush()

    def take(self, device: torch.device, *, all_reduce: bool = False) -> IntArray:
        """The counts since the last call, of all processes where they are added up."""
        self._flush()
        counts = torch.zeros(self._classes, dtype=torch.int64, device=device)
        if self._counts is not None:
            counts += self._counts.to(device)
        if all_reduce:
            torch.distributed.all_reduce(counts)
        self._counts = None
        found: IntArray = counts.cpu().numpy()
        return found

    def _flush(self) -> None:
        if self._waiting:
            codes = torch.cat([part.to(self._waiting[0].device) for part in self._waiting])
            self._waiting, self._rows = [], 0
            places = torch.where((codes >= 0) & (codes < self._classes), codes, self._classes)
            found = torch.bincount(places, minlength=self._classes + 1)[: self._classes]
            self._counts = found if self._counts is None else self._counts + found
