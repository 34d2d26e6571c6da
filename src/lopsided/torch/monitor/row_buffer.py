"""Small batches gathered until they are worth adding.

Adding a batch takes some twenty small operations, whose start costs more than their work; so the rows of small batches
are copied into one buffer, and added when it is full. Keeping the batches themselves would be no cheaper: it takes the
memory away that the next forward would use again. Of the logits, which may be a thousand a row, only what is needed is
kept: the predicted class and the cross entropy.
"""

import torch
from lopsided.torch.monitor.class_sums import ClassSums
from lopsided.torch.monitor.quiet import quiet

MOST_ROWS = 2048
MOST_NUMBERS = 4_000_000  # of features: 16 MB in single precision


class RowBuffer:
    """Stands before the sums of one phase."""

    def __init__(self, sums: ClassSums) -> None:
        self.sums = sums
        self._capacity = min(MOST_ROWS, MOST_NUMBERS // sums.width)
        self._used = 0
        self._grouped = False
        self._features: torch.Tensor | None = None

    def add(
        self, features: torch.Tensor, logits: torch.Tensor, codes: torch.Tensor, groups: torch.Tensor | None = None
    ) -> None:
        """Keep or add examples: features (n, p), logits (n, K), class codes (n,) and group codes (n,)."""
        n = len(codes)
        predicted, losses = outcomes(logits, codes)
        if n > self._capacity // 2:
            self.flush()
            with quiet(self.sums.device):
                self.sums.add(features, predicted, losses, codes, groups)
            return
        if self._used + n > self._capacity:
            self.flush()
        if self._features is None:
            self._allocate(features)
        assert self._features is not None
        place = slice(self._used, self._used + n)
        self._features[place] = features
        self._predicted[place] = predicted
        self._losses[place] = losses
        self._codes[place] = codes
        if groups is not None or self._grouped:
            self._add_groups(place, groups)
        self._used += n

    def flush(self) -> None:
        """Add what was kept."""
        if self._used and self._features is not None:
            kept = slice(0, self._used)
            groups = self._groups[kept] if self._grouped else None
            self._used, self._grouped = 0, False
            with quiet(self.sums.device):
                self.sums.add(
                    self._features[kept], self._predicted[kept], self._losses[kept], self._codes[kept], groups
                )

    def _add_groups(self, place: slice, groups: torch.Tensor | None) -> None:
        if not self._grouped:
            self._groups[: place.start] = -1  # of those before, no group is known
            self._grouped = True
        self._groups[place] = -1 if groups is None else groups

    def _allocate(self, features: torch.Tensor) -> None:
        # The rows come detached, so copying them records nothing; only what is made here must be no inference tensor.
        kind = torch.float64 if features.dtype == torch.float64 else torch.float32
        rows, device = self._capacity, self.sums.device
        with quiet(device):
            self._features = torch.empty(rows, self.sums.width, dtype=kind, device=device)
            self._losses = torch.empty(rows, dtype=torch.float32, device=device)
            self._codes, self._groups, self._predicted = (
                torch.empty(rows, dtype=torch.int64, device=device) for _ in range(3)
            )


def outcomes(logits: torch.Tensor, codes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The predicted class and the cross entropy of every row; codes out of range are for the sums to leave out."""
    inside = codes.clamp(0, logits.shape[1] - 1)
    chances = torch.log_softmax(logits.float(), dim=1).gather(1, inside[:, None])[:, 0]
    return logits.argmax(dim=1), -chances
