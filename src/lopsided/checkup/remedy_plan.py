"""A plan: remedies with their parameters, each with what it is forecast to gain, in the order of that gain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class GainForecast:
    """Change of a metric (its name as in a trial: worst class recall, balanced accuracy...) and what it rests on."""

    metric: str
    gain: float
    low: float
    high: float
    ground: str


@dataclass(frozen=True)
class PlannedRemedy:
    """One arm: `kind` names the remedy (oversample, reweight, logit adjustment, threshold, group weights, noise,
    collect), `parameters` are plain values; `forecast` is None where no theory speaks, with the reason in `why`."""

    name: str
    kind: str
    parameters: Mapping[str, Any]
    why: str
    forecast: GainForecast | None


@dataclass(frozen=True)
class Plan:
    """Remedies, best forecast first; those without a forecast come last."""

    remedies: Sequence[PlannedRemedy]
