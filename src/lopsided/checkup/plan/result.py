"""A plan: remedies with their parameters, each with what it is forecast to gain, in the order of `plan_order`.

Every remedy can be taken along: `indices` (rows to train on), `weights` (one per training row), `offsets` (one per
class, added to log probabilities), `sklearn` (a classifier with the remedy around it) and `torch` (a sampler, a loss
or a layer).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lopsided.checkup.inputs.evidence import Partition
from lopsided.core.errors import InputError, MissingPackage
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.paired_scores import METRICS

_IN_TORCH = {
    "group DRO": "use lopsided.torch.GroupDROLoss with the groups' counts",
    "group standardising": "use lopsided.torch.GroupWhitening over a fitted lopsided.remedies.GroupStandardiser",
    "collect": "collect the examples first",
}


@dataclass(frozen=True)
class GainForecast:
    """Change of a metric (its name as in a trial: worst class recall, balanced accuracy...) and what it rests on.

    learned: for collection, the part that does not come from the class being likelier, which others pay for."""

    metric: str
    gain: float
    low: float
    high: float
    ground: str
    learned: float | None = None


@dataclass(frozen=True)
class TrainingRows:
    """The rows that a plan was made for: positions in the user's data, classes and groups."""

    rows: IntArray
    classes: Partition
    groups: Partition | None


@dataclass(frozen=True)
class PlannedRemedy:
    """One arm: `kind` names the remedy (oversample, reweight, logit adjustment, threshold, group weights, group DRO,
    group standardising, noise, collect), `parameters` are plain values; `forecast` is None where no theory speaks, with
    the reason in `why`. `counts_as` is what the forecast counts towards the plan's metric, by which the plan is
    ordered."""

    name: str
    kind: str
    parameters: Mapping[str, Any]
    why: str
    forecast: GainForecast | None
    training: TrainingRows | None = field(default=None, repr=False, compare=False)
    counts_as: float | None = None

    def options(self) -> dict[str, Any]:
        """The remedy as arguments of `MendedClassifier`, keyed by class and group names."""
        wanted = {
            "oversample": ("rates",),
            "noise": ("rates", "noise"),
            "reweight": ("class_weights",),
            "group weights": ("group_weights",),
            "group DRO": ("dro",),
            "group standardising": ("standardise",),
            "logit adjustment": ("offsets",),
            "threshold": ("tuned_for",),
            "collect": (),
        }
        return {name: self.parameters[name] for name in wanted[self.kind]}

    def indices(self, seed: int = 0) -> IntArray:
        """Rows of the data to train on, each as often as it is to be seen; one epoch."""
        from lopsided.remedies.resampling import resampling_plan

        training = self._training()
        if self.kind in ("oversample", "noise"):
            rates = by_name(self.parameters["rates"], training.classes.names)[training.classes.codes]
            cells = training.classes.codes
        elif self.kind in ("reweight", "group weights"):
            weights = self.weights()
            rates, cells = weights / weights.min(), _cells(training)
        else:
            raise InputError("a remedy that changes the sample", f"{self.name!r}", "ask for offsets() or sklearn()")
        _, first, compact = np.unique(cells, return_index=True, return_inverse=True)
        return training.rows[resampling_plan(compact, rates[first]).indices(seed)]

    def weights(self) -> FloatArray:
        """A weight for every training row (in the order of the data, test rows left out), with mean 1."""
        training = self._training()
        if self.kind in ("oversample", "noise"):
            weights = by_name(self.parameters["rates"], training.classes.names)[training.classes.codes]
        elif self.kind == "reweight":
            weights = by_name(self.parameters["class_weights"], training.classes.names)[training.classes.codes]
        elif self.kind == "group weights" and training.groups is not None:
            weights = by_name(self.parameters["group_weights"], training.groups.names)[training.groups.codes]
        else:
            raise InputError("a remedy that weights examples", f"{self.name!r}", "ask for offsets() or sklearn()")
        return np.asarray(weights / weights.mean())

    def offsets(self) -> FloatArray:
        """What to add to the log probability (or logit) of every class, in the order of the class names."""
        if "offsets" not in self.parameters:
            raise InputError("a remedy that moves decisions", f"{self.name!r}", "ask for weights() or indices()")
        training = self._training()
        return np.array([float(self.parameters["offsets"].get(name, 0.0)) for name in training.classes.names])

    def sklearn(self, estimator: Any = "logistic", *, seed: int = 0) -> Any:
        """A classifier with the remedy around `estimator` (a scikit-learn classifier or a learner's name)."""
        from lopsided.remedies.mended import MendedClassifier

        if self.kind == "collect":
            raise InputError("a remedy that can be trained", f"{self.name!r}", "collect the examples first")
        return MendedClassifier(estimator, **self.options(), seed=seed)

    def torch(self, *, seed: int = 0) -> Any:
        """A sampler of rows (oversampling, group weights), a loss (class weights, group DRO), or a layer that adds the
        offsets to logits."""
        try:
            import torch
        except ImportError:
            raise MissingPackage("torch", "exporting a remedy to PyTorch", "torch") from None
        if self.kind == "reweight":
            training = self._training()
            weights = by_name(self.parameters["class_weights"], training.classes.names)
            return torch.nn.CrossEntropyLoss(weight=torch.tensor(weights, dtype=torch.float32))
        if self.kind in ("oversample", "noise", "group weights"):
            stream = torch.Generator().manual_seed(seed)
            return torch.utils.data.SubsetRandomSampler(self.indices(seed).tolist(), generator=stream)
        if self.kind in _IN_TORCH:
            raise InputError("a remedy that needs nothing but the plan", f"{self.name!r}", _IN_TORCH[self.kind])
        offsets = torch.tensor(self.offsets(), dtype=torch.float32)
        layer = torch.nn.Linear(offsets.numel(), offsets.numel())
        with torch.no_grad():
            layer.weight.copy_(torch.eye(offsets.numel()))
            layer.bias.copy_(offsets)
        return layer.requires_grad_(False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        from lopsided.core.jsonable import jsonable

        fields = ("name", "kind", "parameters", "why", "forecast", "counts_as")
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

    def _training(self) -> TrainingRows:
        if self.training is None:
            raise InputError("a remedy that knows its training rows", "one without", "make the plan from the data")
        return self.training


@dataclass(frozen=True)
class Plan:
    """Remedies, the most promising first, as `order` says; those without a forecast come last. `notes` are sentences
    about all of it."""

    remedies: Sequence[PlannedRemedy]
    metric: str = "balanced"
    notes: Sequence[str] = ()
    skill: str = ""  # how often such a choice came true, where that was measured
    order: str = ""  # what the remedies are ordered by
    groups: str | None = None  # the partition whose worst group counts

    def __getitem__(self, name: str) -> PlannedRemedy:
        for remedy in self.remedies:
            if remedy.name == name:
                return remedy
        raise InputError("the name of a planned remedy", repr(name), ", ".join(remedy.name for remedy in self.remedies))

    def __str__(self) -> str:
        lines = [self.title()]
        for remedy in self.remedies:
            counts = "" if remedy.counts_as is None else f", counts as {remedy.counts_as:+.4f}"
            lines.append(f"{remedy.name}: {forecast_words(remedy.forecast)}{counts}; {remedy.why}")
        return "\n".join([*lines, *self.remarks()])

    def title(self) -> str:
        """What the plan is for."""
        groups = f" (groups of {self.groups})" if self.groups is not None and self.metric == "worst-group" else ""
        return f"Plan for {METRICS[self.metric].name}{groups}"

    def remarks(self) -> list[str]:
        """What a reader should know: the order, the notes, the skill."""
        return [line for line in (self.order, *self.notes, self.skill) if line]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        remedies = [remedy.to_dict() for remedy in self.remedies]
        about = next((remedy.training for remedy in self.remedies if remedy.training is not None), None)
        return {
            "remedies": remedies,
            "metric": self.metric,
            "metric_name": METRICS[self.metric].name,
            "groups": self.groups,
            "classes": None if about is None else list(about.classes.names),
            "training_rows": None if about is None else int(about.rows.size),
            "order": self.order,
            "notes": list(self.notes),
            "skill": self.skill,
        }


def forecast_words(forecast: GainForecast | None) -> str:
    """A forecast in a few letters."""
    if forecast is None:
        return "no forecast"
    return f"{forecast.metric} {forecast.gain:+.3f} [{forecast.low:+.3f}, {forecast.high:+.3f}]"


def by_name(values: Mapping[str, float], names: Sequence[str]) -> FloatArray:
    """One number per name; 1 for names that are left out."""
    return np.array([float(values.get(name, 1.0)) for name in names])


def _cells(training: TrainingRows) -> IntArray:
    """Class and group of every row as one code."""
    if training.groups is None:
        return training.classes.codes
    return training.classes.codes * len(training.groups.names) + training.groups.codes
