"""A plan: remedies with their parameters, each with what it is forecast to gain, the most promising first.

Every remedy can be used elsewhere: `indices` (rows to train on), `weights` (one per training row), `offsets` (one per
class, added to log probabilities), `sklearn` (a classifier with the remedy around it) and `torch` (a sampler, a loss or
a layer).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lopsided.core.errors import InputError, MissingPackage
from lopsided.core.jsonable import jsonable
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.columns import Columns
from lopsided.data.frames import frame_of
from lopsided.data.labelled_set import LabelledSet
from lopsided.measure.metrics import METRICS
from lopsided.measure.metrics.contract import Metric
from lopsided.remedies.contract import GainForecast, Remedy, load_forms, torch_form


@dataclass(frozen=True)
class PlannedRemedy:
    """A remedy with the reason for it; `forecast` is None if no theory applies, and `why` says so. `counts_as` is the
    expected gain in the plan's metric, by which the plan is ordered; if it uses what such remedies gained on other
    data, the gain lies between `counts_low` and `counts_high` with a chance of 90%."""

    remedy: Remedy
    why: str
    forecast: GainForecast | None
    training: LabelledSet | None = field(default=None, repr=False, compare=False)
    counts_as: float | None = None
    counts_low: float | None = None
    counts_high: float | None = None

    @property
    def name(self) -> str:
        """The name of the remedy."""
        return self.remedy.name

    @property
    def kind(self) -> str:
        """The name used in files."""
        return self.remedy.kind

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Plain values."""
        return self.remedy.parameters

    def expected_words(self, digits: int = 3) -> str:
        """The expected gain with its interval, where it has one."""
        if self.counts_as is None:
            return "–"
        if self.counts_low is None or self.counts_high is None:
            return f"{self.counts_as:+.{digits}f}"
        return f"{self.counts_as:+.{digits}f} [{self.counts_low:+.{digits}f}, {self.counts_high:+.{digits}f}]"

    def indices(self, seed: int = 0) -> IntArray:
        """Rows of the data to train on in one epoch, each repeated as often as it should be seen."""
        return self.remedy.epoch_indices(self._training(), seed)

    def weights(self) -> FloatArray:
        """A weight for every training row (in the order of the data, test rows left out), with mean 1."""
        return self.remedy.example_weights(self._training())

    def offsets(self) -> FloatArray:
        """What to add to the log probability (or logit) of every class, in the order of the class names."""
        return self.remedy.class_offsets(self._training())

    def wrap(self, estimator: Any = "logistic", *, seed: int = 0) -> Any:
        """A classifier with the remedy around `estimator` (a scikit-learn classifier or a learner's name)."""
        return self.remedy.wrap(estimator, seed=seed)

    sklearn = wrap

    def torch(self, *, seed: int = 0) -> Any:
        """A sampler of rows, a loss, or a layer that adds the offsets to logits, as `lopsided.torch.remedies.forms`
        says for each remedy."""
        try:
            load_forms()
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "torch":
                raise
            raise MissingPackage("torch", "exporting a remedy to PyTorch", "torch") from None
        return torch_form(self.remedy, self._training(), seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        fields = ("name", "kind", "parameters", "why", "forecast", "counts_as", "counts_low", "counts_high")
        return {name: jsonable(getattr(self, name)) for name in fields}

    def arrays(self, seed: int = 0) -> dict[str, Any]:
        """Everything that can be written to a file, by name. `rows` are the positions in the data that the weights are
        for (indices are such positions themselves), `classes` the names that the offsets are for."""
        found: dict[str, Any] = {}
        for name, make in (
            ("indices", lambda: self.indices(seed)),
            ("weights", self.weights),
            ("offsets", self.offsets),
        ):
            try:
                found[name] = make()
            except InputError:
                continue
        if "weights" in found:
            found["rows"] = self._training().rows
        if "offsets" in found:
            found["classes"] = np.array(self._training().classes.names, dtype=np.str_)
        return found

    def _training(self) -> LabelledSet:
        if self.training is None:
            raise InputError("a remedy that knows its training rows", "one without", "make the plan from the data")
        return self.training


@dataclass(frozen=True)
class Plan:
    """Remedies, the most promising first, ordered as `order` says; those without a forecast come last. `notes` apply to
    the whole plan."""

    remedies: Sequence[PlannedRemedy]
    metric: str = "balanced"
    notes: Sequence[str] = ()
    skill: str = ""  # how often such a choice came true, where that was measured
    order: str = ""  # what the remedies are ordered by
    groups: str | None = None  # the partition whose worst group counts
    measured_in: Metric | None = field(default=None, repr=False)  # where the metric's word alone does not say it
    columns: Columns = field(default_factory=Columns)  # which columns of the data it used, and why not the others

    @property
    def metric_name(self) -> str:
        """The metric in words."""
        return (self.measured_in or METRICS[self.metric]).name

    def __getitem__(self, name: str) -> PlannedRemedy:
        for remedy in self.remedies:
            if remedy.name == name:
                return remedy
        raise InputError("the name of a planned remedy", repr(name), ", ".join(remedy.name for remedy in self.remedies))

    def __str__(self) -> str:
        lines = [self.columns.sentence(), self.title()]
        for remedy in self.remedies:
            counts = "" if remedy.counts_as is None else f", expected gain {remedy.expected_words(4)}"
            lines.append(f"{remedy.name}: {forecast_words(remedy.forecast)}{counts}; {remedy.why}")
        return "\n".join([*lines, *self.remarks()])

    def frame(self) -> Any:
        """One row per remedy: a pandas frame where pandas is installed, otherwise a list of dictionaries."""
        named = {"metric": "metric", "gain": "forecast", "low": "low", "high": "high", "ground": "ground"}
        told = [{named[name]: getattr(one.forecast, name, None) for name in named} for one in self.remedies]
        rows = zip(self.remedies, told, strict=True)
        counts = ("counts_as", "counts_low", "counts_high")
        return frame_of(
            [
                {"remedy": one.name, **fit, **{name: getattr(one, name) for name in counts}, "why": one.why}
                for one, fit in rows
            ]
        )

    def title(self) -> str:
        """The metric and groups that the plan is for."""
        groups = f" (groups of {self.groups})" if self.groups is not None and self.metric == "worst-group" else ""
        return f"Plan for {self.metric_name}{groups}"

    def remarks(self) -> list[str]:
        """What a reader should know: the order, the notes, the skill."""
        return [line for line in (self.order, *self.notes, self.skill) if line]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        about = next((remedy.training for remedy in self.remedies if remedy.training is not None), None)
        return {
            "remedies": [remedy.to_dict() for remedy in self.remedies],
            **{name: getattr(self, name) for name in ("metric", "metric_name", "groups", "order", "skill")},
            "columns": self.columns.to_dict(),
            "classes": None if about is None else list(about.classes.names),
            "training_rows": None if about is None else int(about.rows.size),
            "notes": list(self.notes),
        }


def forecast_words(forecast: GainForecast | None) -> str:
    """A forecast in words."""
    return "no forecast" if forecast is None else f"gain in {forecast.metric} {forecast.words}"
