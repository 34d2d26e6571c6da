"""What the head saw and whose labels are still to come.

A forward shows features and logits before anybody says the labels, so the latest forwards wait here, detached. Usually
one is taken; the replicas of DataParallel make one batch out of several, in the order of their devices.
"""

from collections import deque
from typing import NamedTuple

import torch
from lopsided.core.errors import InputError
from lopsided.torch.monitor.head import Head


class Seen(NamedTuple):
    """What one forward of the head showed: detached, so the graph is free to go."""

    features: torch.Tensor
    outputs: torch.Tensor
    training: bool
    versions: tuple[int | None, int | None]

    @property
    def unchanged(self) -> bool:
        """Nobody wrote into the tensors since the forward."""
        return self.versions == (version(self.features), version(self.outputs))


def version(tensor: torch.Tensor) -> int | None:
    """PyTorch's count of in-place writes; tensors of inference mode have none."""
    return None if tensor.is_inference() else tensor._version


class ForwardQueue:
    """The latest forwards of the head."""

    def __init__(self, head: Head, longest: int) -> None:
        self._head = head
        self._waiting: deque[Seen] = deque(maxlen=longest)

    def add(self, features: torch.Tensor, outputs: torch.Tensor, *, training: bool) -> None:
        """Keep a forward; both tensors are detached."""
        self._waiting.append(Seen(features, outputs, training, (version(features), version(outputs))))

    def __len__(self) -> int:
        return len(self._waiting)

    def clear(self) -> None:
        """Forget all."""
        self._waiting.clear()

    def take(self, rows: int) -> Seen:
        """The latest forward, or the latest few together when only together they have so many rows."""
        if not self._waiting:
            raise InputError(
                f"a forward through the head {self._head.name!r} before its labels",
                "none",
                "call the model first, once per update; name the layer with head= if this one is not used, and make "
                "the monitor before a compiled model's first forward",
            )
        latest = self._waiting[-1]
        if latest.outputs.shape[0] == rows:
            self._waiting.clear()
            return latest
        waiting = list(self._waiting)
        self._waiting.clear()
        for start in range(len(waiting) - 2, -1, -1):
            together = waiting[start:]
            if sum(len(seen.outputs) for seen in together) == rows:
                return _joined(together)
        return latest  # whose rows do not fit; the sentence about it is `rows_of`'s


def _joined(parts: list[Seen]) -> Seen:
    ordered = sorted(parts, key=lambda part: part.features.device.index or 0)  # stable: else in order of arrival
    device = ordered[0].features.device
    features = torch.cat([part.features.to(device) for part in ordered])
    outputs = torch.cat([part.outputs.to(device) for part in ordered])
    return Seen(features, outputs, ordered[0].training, (version(features), version(outputs)))
