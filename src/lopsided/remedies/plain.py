"""Plain training, without a remedy: every remedy is compared with it."""

from dataclasses import dataclass
from typing import ClassVar

from lopsided.remedies.contract import Remedy


@dataclass(frozen=True)
class Plain(Remedy):
    """The learner without a remedy."""

    kind: ClassVar[str] = "plain"
    name: ClassVar[str] = "plain"
    reference: ClassVar[bool] = True
    silent: ClassVar[str] = "gains are measured against it"
