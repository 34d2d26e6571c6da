"""Balanced softmax (Ren et al. 2020): the loss CE(f(x) + log n, y)."""

from dataclasses import dataclass
from typing import ClassVar

from lopsided.remedies.network import NetworkLoss


@dataclass(frozen=True)
class BalancedSoftmax(NetworkLoss):
    """Logit adjustment in the loss, with tau = 1."""

    kind: ClassVar[str] = "balanced softmax"
    name: ClassVar[str] = "balanced softmax"
    why: ClassVar[str] = "The loss adds the log of each class's count to its logit; prediction leaves it out."
