"""The running sums of the two phases of an epoch: training examples and held-out ones."""

import torch
from lopsided.torch.monitor.class_sums import ClassSums
from lopsided.torch.monitor.head import Head
from lopsided.torch.monitor.quiet import quiet
from lopsided.torch.monitor.row_buffer import RowBuffer
from lopsided.torch.monitor.sums_snapshot import SumsSnapshot


class PhaseSums:
    """Sums by phase (True for training), made when a phase shows its first examples."""

    def __init__(self, head: Head, *, interval: int, ignored: int, all_reduce: bool) -> None:
        self._head, self._interval, self._ignored, self._all_reduce = head, interval, ignored, all_reduce
        self._buffers: dict[bool, RowBuffer] = {}

    def add(
        self,
        training: bool,  # a key, not a switch
        features: torch.Tensor,
        logits: torch.Tensor,
        codes: torch.Tensor,
        groups: torch.Tensor | None,
    ) -> None:
        """Add the rows of a batch."""
        if training not in self._buffers:
            self._buffers[training] = RowBuffer(self.new(features))
        self._buffers[training].add(features, logits, codes, groups)

    def new(self, features: torch.Tensor, interval: int | None = None) -> ClassSums:
        """Empty sums for features such as these."""
        with quiet(features.device):
            return ClassSums(
                self._head.classes,
                features.shape[1],
                features.device,
                interval=interval or self._interval,
                ignored=self._ignored,
            )

    def flush(self) -> bool:
        """Add what waits in the buffers; whether there is anything to close."""
        for buffer in self._buffers.values():
            buffer.flush()
        return self._all_reduce or any(buffer.sums.batches for buffer in self._buffers.values())

    def close(self) -> dict[bool, SumsSnapshot]:
        """The sums of the epoch, of all processes where they are added up; they start anew."""
        if self._all_reduce:
            self._make_what_others_have()
        found = {}
        for phase in (True, False):  # in one order on all processes
            if phase in self._buffers:
                sums = self._buffers[phase].sums
                if self._all_reduce:
                    sums.all_reduce()
                found[phase] = sums.snapshot()
                sums.keep_reference()
                sums.clear()
        return found

    def _make_what_others_have(self) -> None:
        """A phase that only another process saw gets empty sums here, to be added."""
        device = self._head.layer.weight.device
        seen = torch.tensor([float(phase in self._buffers) for phase in (True, False)], device=device)
        torch.distributed.all_reduce(seen, op=torch.distributed.ReduceOp.MAX)
        known = next(iter(self._buffers.values()), None)
        example = torch.empty(0, self._head.width if known is None else known.sums.width, device=device)
        for phase, anywhere in zip((True, False), seen.tolist(), strict=True):
            if anywhere and phase not in self._buffers:
                self._buffers[phase] = RowBuffer(self.new(example))
