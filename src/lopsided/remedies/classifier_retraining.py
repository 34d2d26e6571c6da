"""Classifier retraining (Kang et al. 2020): the last layer is fitted again, without the prior."""

from dataclasses import dataclass
from typing import ClassVar

from lopsided.remedies.network import NetworkHead


@dataclass(frozen=True)
class ClassifierRetraining(NetworkHead):
    """`variance`: how far a logit may move from where training has put it."""

    kind: ClassVar[str] = "classifier retraining"
    name: ClassVar[str] = "classifier retraining"
    why: ClassVar[str] = (
        "The last layer is fitted again as if classes were equally frequent; the features do not change."
    )
    variance: float = 30.0
