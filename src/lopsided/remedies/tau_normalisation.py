"""Tau-normalisation (Kang et al. 2020): each classifier is divided by its length^tau."""

from dataclasses import dataclass
from typing import ClassVar

from lopsided.remedies.network import NetworkHead


@dataclass(frozen=True)
class TauNormalisation(NetworkHead):
    """`tau`: 0 changes nothing, 1 makes all classifiers equally long."""

    kind: ClassVar[str] = "tau-normalisation"
    name: ClassVar[str] = "tau-normalisation"
    why: ClassVar[str] = "Frequent classes have longer classifier vectors; all are rescaled to the same length."
    tau: float = 1.0
