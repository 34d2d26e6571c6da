"""Plain training: nothing is done. What every other remedy is compared with."""

from dataclasses import dataclass
from typing import ClassVar

from lopsided.remedies.contract import Forecast, Remedy
from lopsided.remedies.pilot import Pilot


@dataclass(frozen=True)
class Plain(Remedy):
    """The learner as it is."""

    kind: ClassVar[str] = "plain"

    @property
    def name(self) -> str:
        """As in a trial's table."""
        return "plain"

    def forecast(self, pilot: Pilot, metric: str, *, seed: int = 0) -> Forecast:
        """It is what gains are measured against."""
        return None, "No forecast: gains are measured against it."
