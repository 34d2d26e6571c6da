"""Plain training: nothing is done. What every other remedy is compared with."""

from dataclasses import dataclass
from typing import ClassVar

from lopsided.remedies.contract import Remedy


@dataclass(frozen=True)
class Plain(Remedy):
    """The learner as it is."""

    kind: ClassVar[str] = "plain"
    name: ClassVar[str] = "plain"
    silent: ClassVar[str] = "gains are measured against it"
