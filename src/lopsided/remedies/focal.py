"""Focal loss (Lin et al. 2017): (1 - p_y)^gamma CE(f(x), y)."""

from dataclasses import dataclass
from typing import ClassVar

from lopsided.remedies.network import NetworkLoss


@dataclass(frozen=True)
class Focal(NetworkLoss):
    """`gamma`: the larger, the less weight confident correct examples have."""

    kind: ClassVar[str] = "focal"
    name: ClassVar[str] = "focal loss"
    why: ClassVar[str] = (
        "Examples that the network already classifies correctly with confidence get little weight in the loss."
    )
    gamma: float = 2.0
