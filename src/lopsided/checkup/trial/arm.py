"""One arm of a trial: its metrics and gains, whether it helps, whether its forecast held, what its gain costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lopsided.core.jsonable import jsonable
from lopsided.measure.paired_scores import Estimate
from lopsided.remedies.contract import GainForecast, Remedy

ForecastOutcome = Literal["right", "wrong", "undecided"]
Helps = Literal["yes", "no", "unclear"]
_HELD = {"right": "yes", "wrong": "no", "undecided": "unclear", None: "–"}  # did the forecast hold?
VAGUE = 0.1  # a forecast whose interval is wider says too little to be right by holding the outcome
# Precision collapses below this share of plain training's and below `LEAST`, where there are more than four false
# alarms, (1 - p) / p, for every example found.
LEAST_KEPT = 0.5
LEAST = 0.2


@dataclass(frozen=True)
class Measured:
    """A metric of an arm, and its paired difference to what the arm is compared with."""

    estimate: Estimate
    gain: Estimate | None

    def to_dict(self) -> dict[str, float | None]:
        """Plain values."""
        facts: dict[str, float | None] = {name: getattr(self.estimate, name) for name in ("value", "low", "high")}
        gained = {"gain": "value", "gain_low": "low", "gain_high": "high", "gain_p": "p"}
        return facts | {name: getattr(self.gain, own, None) for name, own in gained.items()}


@dataclass(frozen=True)
class Arm:
    """One way to train. `read_in` is the metric its gain is read in: the trial's, for collection the subject's own.
    `widened` is the gain's interval in the trial's metric for all arms at once; `against` says
    what gains compare with; `skipped` why it was not run."""

    remedy: Remedy
    metrics: Mapping[str, Measured]
    read_in: str
    forecast: GainForecast | None
    why: str
    outcome: ForecastOutcome | None = None
    widened: tuple[float, float] | None = None
    skipped: str | None = None
    against: str = ""

    @property
    def name(self) -> str:
        """The name of the arm."""
        return self.remedy.name

    @property
    def kind(self) -> str:
        """The name used in files."""
        return self.remedy.kind

    @property
    def simulated(self) -> bool:
        """Whether it simulates examples still to be collected: its model is plain training, and only its gain is its
        own."""
        return self.remedy.collects is not None

    @property
    def helps(self) -> Helps | None:
        """Whether the gain's interval lies above zero (no: below): in the trial's metric for all arms at once, for
        collection in its subject's own metric. None for plain training and for what was not run."""
        bounds = self.widened
        if self.simulated and self.skipped is None and (gain := self.metrics[self.read_in].gain) is not None:
            bounds = gain.low, gain.high
        if bounds is None:
            return None
        return "yes" if bounds[0] > 0 else "no" if bounds[1] < 0 else "unclear"

    @property
    def held(self) -> str:
        """Whether the forecast came true, in a word."""
        return _HELD[self.outcome]

    def words(self, metric: str) -> str:
        """Its value in the trial's metric; of collection, whose model is plain training, what the simulation gained."""
        if self.skipped is not None:
            return self.skipped
        gain = self.metrics[self.read_in].gain
        if not self.simulated or gain is None:
            return f"{metric} {self.metrics[metric].estimate.value:.3f}"
        after = self.metrics[self.read_in].estimate.value
        return (
            f"simulated, {self.read_in} from {after - gain.value:.3f} to {after:.3f}, a gain of {gain.value:+.3f} "
            f"[{gain.low:+.3f}, {gain.high:+.3f}] against {self.against}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names that scripts rely on."""
        return {
            **{name: getattr(self, name) for name in ("name", "kind", "read_in", "outcome", "helps", "why", "skipped")},
            "metrics": {name: measured.to_dict() for name, measured in self.metrics.items()},
            "forecast": jsonable(self.forecast),
            "simultaneous_interval": None if self.widened is None else list(self.widened),
            "against": self.against or None,
        }


def forecast_outcome(forecast: GainForecast, outcome: Estimate) -> ForecastOutcome:
    """Wrong where the two intervals do not meet. Right where they meet and both lie on the same side of zero, or where
    the outcome's interval lies inside a forecast's that is no wider than `VAGUE`. Undecided otherwise."""
    if outcome.low > forecast.high or outcome.high < forecast.low:
        return "wrong"
    same_side = (outcome.low > 0 and forecast.low > 0) or (outcome.high < 0 and forecast.high < 0)
    inside = forecast.low <= outcome.low and outcome.high <= forecast.high
    if same_side or (inside and forecast.high - forecast.low <= VAGUE):
        return "right"
    return "undecided"


def precision_collapse(arm: Arm, plain: Arm) -> str | None:
    """A sentence without its full stop where the precision of the smaller of two classes (of more, the mean) collapses.

    Plain training that finds no example of the class has no precision to keep; the arm's own is then judged alone.
    """
    names = (name for name in plain.metrics if name.startswith("precision of ") or name == "macro precision")
    name = next(names, None)
    if name is None or name not in arm.metrics or arm.simulated:
        return None
    before, after = plain.metrics[name].estimate.value, arm.metrics[name].estimate.value
    if after >= LEAST or (before > 0 and after >= LEAST_KEPT * before):
        return None
    fall = f"{name} falls from {_share(before)} to {_share(after)}" if before > 0 else f"{name} is {_share(after)}"
    if name == "macro precision":
        return fall
    if after == 0:
        return f"{fall}: none is found"
    return f"{fall}: {(1 - after) / after:,.0f} false alarms per {name.removeprefix('precision of ')} found"


def _share(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
