"""Collecting more examples of one class or group: what they would bring, by the subject's learning curve.

Training does not change, so there is nothing to wrap; a trial simulates it by holding examples back. The plan decides
which class or group to collect, and how many (`checkup.plan.collection`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.partition import LabelledRows
from lopsided.data.labelled_set import LabelledSet
from lopsided.remedies.contract import Forecast, GainForecast, Remedy, Subject
from lopsided.remedies.learning_curve import FURTHEST, LEAST_EXAMPLES, learning_curve
from lopsided.remedies.pilot import Pilot

CURVE = "the learning curve of a pilot, extrapolated as a power law"


@dataclass(frozen=True)
class Collection(Remedy):
    """`examples` more of the class or group `subject` (`code` along `axis`), which has `have`; `law`: what the large-n
    law of groups says about them, if it applies."""

    kind: ClassVar[str] = "collect"
    without_form: ClassVar[str] = "collect the examples first"
    axis: str
    code: int
    subject: str
    examples: int
    have: int
    law: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:  # type: ignore[override]
        """With its subject."""
        return f"collect {self.axis} {self.subject}"

    @property
    def parameters(self) -> dict[str, Any]:
        """Plain values; the law only if it applies."""
        found = super().parameters
        return found if self.law else {name: value for name, value in found.items() if name != "law"}

    @property
    def collects(self) -> Subject:
        """The class or group to collect."""
        return Subject(self.axis, self.code)

    def forecast(self, pilot: Pilot, metric: str, *, seed: int = 0) -> Forecast:
        """In the subject's own accuracy, whatever the metric."""
        return self.forecast_on(pilot.training, seed)

    def forecast_on(self, training: LabelledSet, seed: int) -> Forecast:
        """The gain in the subject's own accuracy when its `have` examples grow; `training` should be reduced first."""
        partition = training.partition(self.axis)
        if self.subject not in partition.names:
            return None, f"No forecast: {self.subject} is not among the {len(partition.names):,} classes of the pilot."
        code = partition.names.index(self.subject)  # of some classes, which are coded anew
        size, ratio = int(partition.counts[code]), (self.have + self.examples) / self.have
        if size < LEAST_EXAMPLES:
            return None, f"No forecast: a learning curve needs {LEAST_EXAMPLES} examples."
        if ratio > FURTHEST:
            return None, f"No forecast: the learning curve does not extend to {ratio:.1f} times as many examples."
        curve = learning_curve(training, self.axis, code, seed, ratio=ratio)
        value, low, high = curve.gain(since=self.have / size)
        metric = f"recall of {self.subject}" if self.axis == "class" else f"accuracy on {self.subject}"
        ground, learned = f"{CURVE} with exponent {curve.exponent:.2f}", curve.learned(since=self.have / size)
        return GainForecast(metric, value, low, high, ground, learned), ""

    def forecast_of_held_back(self, kept: LabelledSet, shown: LabelledSet, share: float, seed: int) -> Forecast:
        """As many more examples as are held back."""
        have = int(kept.partition(self.axis).counts[self.code])
        return replace(self, have=have, examples=round(have * share / (1.0 - share))).forecast_on(shown, seed)

    def share_of(self, metric: str, training: LabelledRows) -> float:
        """A class counts 1/K towards balanced accuracy and in full towards the worst class, a group in full towards the
        worst group, both otherwise by their share of the data."""
        if metric == "balanced" and self.axis == "class":
            return float(1.0 / np.count_nonzero(training.classes.counts))
        return 1.0 if metric == f"worst-{self.axis}" else self.have / training.size

    def wrap(self, estimator: Any = "logistic", *, seed: int = 0) -> Any:
        """Always an error: the examples have to be collected first."""
        raise InputError("a remedy that can be trained", f"{self.name!r}", "collect the examples first")
