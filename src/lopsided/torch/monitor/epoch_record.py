"""The record of one epoch: training and held-out phase, classifier, forecasts, layers, warnings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lopsided.core.jsonable import jsonable
from lopsided.core.notebook import notebook_view
from lopsided.core.validation import BoolArray, FloatArray
from lopsided.measure.angles import PairwiseAngles, pairwise_angles
from lopsided.measure.neural_collapse import NeuralCollapse, PooledMoments, summarise
from lopsided.measure.posthoc_gain import PosthocGain
from lopsided.theory.class_evidence import ClassEvidence
from lopsided.torch.monitor.activation_probe import LayerPatterns
from lopsided.torch.monitor.class_sums import SumsSnapshot
from lopsided.torch.monitor.layer_change import LayerChange
from lopsided.torch.monitor.recall_outlook import RecallOutlook
from lopsided.torch.monitor.run_forecast import RunForecast


@dataclass(frozen=True)
class Angles:
    """Mean cosines of class vectors within and between majority and minority, and their mean lengths."""

    majority_cosine: float | None
    minority_cosine: float | None
    between_cosine: float | None
    largest_cosine: float | None
    majority_norm: float | None
    minority_norm: float | None


@dataclass(frozen=True)
class GroupRecord:
    """Accuracy and mean cross entropy of a group; None where it had no examples."""

    name: str
    examples: int
    accuracy: float | None
    loss: float | None


@dataclass(frozen=True)
class PhaseRecord:
    """Training or held-out examples of an epoch.

    In training the weights move while the epoch runs, and so do the features; means and scatter are those of the whole
    epoch. `within_variance` is tr S_W from all examples, `scatter_ratio` tr S_W / tr S_B; NC1 uses the sampled scatter.
    NC4 compares with the class means of the epoch before (`Monitor.measure` gives it exactly). `means` and
    `neural_collapse` are None in epochs that are not measured in full (`geometry_every`), and so are the variances in
    most of those.
    """

    examples: int
    counts: tuple[int, ...]
    absent: tuple[int, ...]
    accuracy: float
    balanced_accuracy: float
    majority_accuracy: float | None
    minority_accuracy: float | None
    loss: float
    class_accuracy: tuple[float | None, ...]
    class_loss: tuple[float | None, ...]
    groups: tuple[GroupRecord, ...]
    means: Angles | None
    neural_collapse: NeuralCollapse | None
    within_variance: float | None
    class_variance: tuple[float | None, ...]
    scatter_ratio: float | None
    scatter_examples: int


@dataclass(frozen=True)
class ClassifierRecord:
    """The head's rows: angles, lengths, energy and the pair with the largest cosine, at the end of the epoch."""

    angles: Angles
    norms: tuple[float, ...]
    energy: float
    closest: tuple[int, int] | None


@dataclass(frozen=True)
class EpochRecord:
    """The measurements of one epoch; `to_dict` gives plain values, `scalars` the flat numbers for a logger.

    Attributes
    ----------
    epoch : int
        Number of the epoch.
    step : int
        Optimizer steps so far.
    classifier : ClassifierRecord, optional
        Angles and lengths of the classifier's rows; None if its weights are not finite.
    train : PhaseRecord, optional
        Training examples of the epoch.
    held_out : PhaseRecord, optional
        Held-out examples of the epoch.
    forecast : RunForecast
        Which classes the forecasts expect to be lost.
    layers : tuple of LayerChange
        How far each layer has moved.
    patterns : tuple of LayerPatterns
        Activation patterns of the layers that are watched.
    warnings : tuple of str
        Warnings of this epoch.
    notes : tuple of str
        Why something was not measured or forecast.
    seconds : float
        Time spent by the monitor, in hooks and at the end of the epoch.
    epoch_seconds : float
        Time since the end of the epoch before.
    seen : float, optional
        Share of the planned training that is done; None if its length is not known.
    labels : tuple of int, optional
        Training labels of the epoch per class, including batches that were not observed.
    phases : dict of PhaseRecord
        Phases that were named with `monitor.phase`.
    recall_forecast : RecallOutlook, optional
        Forecast recall of every class at the end of the training.
    evidence : ClassEvidence, optional
        What that forecast uses; None without training examples.
    posthoc : PosthocGain, optional
        Gain from logit adjustment on the held-out examples; None without any.
    merged : tuple of int
        Classes whose classifier points in the direction of another one.
    """

    epoch: int
    step: int
    classifier: ClassifierRecord | None
    train: PhaseRecord | None
    held_out: PhaseRecord | None
    forecast: RunForecast
    layers: tuple[LayerChange, ...]
    patterns: tuple[LayerPatterns, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float
    epoch_seconds: float
    seen: float | None = None
    labels: tuple[int, ...] | None = None
    phases: Mapping[str, PhaseRecord] = field(default_factory=dict)
    recall_forecast: RecallOutlook | None = None
    evidence: ClassEvidence | None = None
    posthoc: PosthocGain | None = None
    merged: tuple[int, ...] = ()

    def __str__(self) -> str:
        done = "" if self.seen is None else f", {self.seen:.0%} of the training"
        told = [f"{name}: {words}" for name, words in self._phases()]
        told += [] if self.recall_forecast is None else [str(self.recall_forecast)]
        return "\n".join([f"epoch {self.epoch}{done}", *told, *self.warnings])

    def _repr_html_(self) -> str:
        rows = [[name, words] for name, words in self._phases()] + [["warning", one] for one in self.warnings]
        forecast = "" if self.recall_forecast is None else self.recall_forecast._repr_html_()
        return notebook_view(f"Epoch {self.epoch}", (("examples", "result"), rows)) + forecast

    def _phases(self) -> Iterator[tuple[str, str]]:
        for name, phase in (("training", self.train), ("held out", self.held_out), *self.phases.items()):
            known = () if phase is None else enumerate(phase.class_accuracy)
            recall = [(value, k) for k, value in known if value is not None]
            if phase is not None and recall:
                low, k = min(recall)
                rates = f"accuracy {phase.accuracy:.3f}, balanced accuracy {phase.balanced_accuracy:.3f}"
                yield name, f"loss {phase.loss:.3g}, {rates}, lowest recall {low:.3f} (class {k})"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        plain: dict[str, Any] = jsonable(self)
        plain["forecast"] = {_WRITTEN_AS.get(name, name): value for name, value in plain["forecast"].items()}
        return plain

    def scalars(self) -> dict[str, float]:
        """Every number of the record except spectra, under names such as train/neural_collapse/nc1.

        Of the numbers per class, only recall is included: train/recall/7; for more than 100 classes, the ten lowest
        (train/recall/lowest_1) and quantiles (train/recall/quantile_0.25).
        """
        phases = {"train": self.train, "held_out": self.held_out}
        phases |= {f"phases/{name}": phase for name, phase in self.phases.items()}
        recall = {f"{name}/recall/{key}": value for name, phase in phases.items() for key, value in _recall(phase)}
        return {name: value for name, value in (*_flat(self, ""), *recall.items()) if np.isfinite(value)}


MOST_LOGGED = 100  # classes whose recall is logged one by one
QUANTILES = (0.1, 0.25, 0.5, 0.75)
# Names in records and loggers, which stay as they were first written.
_WRITTEN_AS = {"merging_threshold": "survival_threshold", "merging_minority_cosine": "survival_minority_cosine"}
_LEFT_OUT = {"epoch", "step", "settings", "examples", "scatter_examples", "spectrum", "undefined_pairs"}


def _recall(phase: PhaseRecord | None) -> Iterator[tuple[str, float]]:
    known = {} if phase is None else {k: value for k, value in enumerate(phase.class_accuracy) if value is not None}
    if phase is None or len(phase.class_accuracy) <= MOST_LOGGED:
        yield from ((str(k), value) for k, value in known.items())
    elif known:
        values = np.sort(list(known.values()))
        yield from ((f"lowest_{place + 1}", float(value)) for place, value in enumerate(values[:10]))
        for share, value in zip(QUANTILES, np.quantile(values, QUANTILES), strict=True):
            yield f"quantile_{share:g}", float(value)


def _flat(record: Any, path: str) -> Iterator[tuple[str, float]]:
    for name in record.__dataclass_fields__:
        value = getattr(record, name)
        if name in _LEFT_OUT or value is None or isinstance(value, (str, bool)):
            continue
        if isinstance(value, (int, float)):
            yield path + _WRITTEN_AS.get(name, name), float(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], (LayerChange, LayerPatterns, GroupRecord)):
            for entry in value:
                yield from _flat(entry, f"{path}{name}/{entry.name}/")
        elif isinstance(value, Mapping):
            for key, entry in value.items():
                yield from _flat(entry, f"{path}{name}/{key}/")
        elif hasattr(value, "__dataclass_fields__"):
            yield from _flat(value, f"{path}{name}/")
        elif name in ("collapsed", "at_risk", "absent"):
            yield f"{path}{name}_classes", float(len(value))


def angles(found: PairwiseAngles | None, lengths: FloatArray, minority: BoolArray) -> Angles:
    """Cosines, where they were taken, and lengths of rows; with no minority, all rows are the majority."""
    return Angles(
        majority_cosine=None if found is None else found.mean(~minority),
        minority_cosine=None if found is None else found.mean(minority),
        between_cosine=None if found is None else found.mean(minority, ~minority),
        largest_cosine=None if found is None else found.largest,
        majority_norm=float(lengths[~minority].mean()) if (~minority).any() else None,
        minority_norm=float(lengths[minority].mean()) if minority.any() else None,
    )


def classifier_record(lengths: FloatArray, found: PairwiseAngles | None, minority: BoolArray) -> ClassifierRecord:
    """From the lengths of the head's rows and, where they were taken, their angles."""
    return ClassifierRecord(
        angles=angles(found, lengths, minority),
        norms=tuple(lengths.tolist()),
        energy=float((lengths**2).mean()),
        closest=None if found is None else found.closest,
    )


def phase_record(
    sums: SumsSnapshot,
    weight: FloatArray | None,
    weight_angles: PairwiseAngles | None,
    minority: BoolArray,
    group_names: tuple[str, ...],
    *,
    full: bool = True,
) -> PhaseRecord | None:
    """Scores and scatter of a phase; where it is measured in `full`, angles of the means and NC1-NC4 too. `weight` is
    None where the features are not the head's input. None without examples."""
    present = sums.counts > 0
    counts = sums.counts[present]
    total = int(counts.sum())
    if not total:
        return None
    accuracy, loss = sums.correct[present] / counts, sums.losses[present] / counts
    split = minority[present]
    deviations = np.full(len(counts), np.nan) if sums.deviations is None else sums.deviations[present]
    within = float(deviations.sum() / total) if sums.finite else np.nan
    centred = None
    if sums.means is not None and np.isfinite(within) and len(counts) > 1:
        centred = sums.means[present]
        centred -= centred.mean(axis=0)
    found = pairwise_angles(centred) if full and centred is not None else None
    between = float(np.einsum("ij,ij->", centred, centred) / len(counts)) if centred is not None else 0.0
    return PhaseRecord(
        examples=total,
        counts=tuple(sums.counts.tolist()),
        absent=tuple(np.flatnonzero(~present).tolist()),
        accuracy=float(sums.correct[present].sum() / total),
        balanced_accuracy=float(accuracy.mean()),
        majority_accuracy=float(accuracy[~split].mean()) if (~split).any() else None,
        minority_accuracy=float(accuracy[split].mean()) if split.any() else None,
        loss=float(sums.losses[present].sum() / total),
        class_accuracy=_spread(accuracy, present),
        class_loss=_spread(loss, present),
        groups=tuple(_group(name, *row) for name, row in zip(group_names, sums.groups, strict=True)),
        means=None if found is None else angles(found, found.lengths, split),
        neural_collapse=None if found is None else _collapse(sums, present, weight, weight_angles, found),
        within_variance=within if np.isfinite(within) else None,
        class_variance=_spread(deviations / counts, present),
        scatter_ratio=within / between if between > 0 else None,
        scatter_examples=sums.within_examples,
    )


def _collapse(
    sums: SumsSnapshot,
    present: BoolArray,
    weight: FloatArray | None,
    weight_angles: PairwiseAngles | None,
    means_angles: PairwiseAngles,
) -> NeuralCollapse:
    """NC1-NC4 of the classes that were seen, by the same formulas as for whole arrays (`measure.neural_collapse`)."""
    assert sums.means is not None
    assert sums.deviations is not None
    kept = sums.means[present]
    moments = PooledMoments(len(kept), 1)
    moments.counts, moments.means = sums.counts[present], kept
    moments.squared_lengths = sums.deviations[present] + moments.counts * (kept**2).sum(axis=1)
    known = sums.within is not None and bool(np.isfinite(sums.within).all())
    # A scatter that was never taken must not read as zero variability.
    within = sums.within if known and sums.within is not None else np.zeros((kept.shape[1],) * 2)
    moments.scatter = within * int(moments.counts.sum())
    found = summarise(
        moments,
        None if weight is None else weight[present],
        sums.nc4,
        means_angles=means_angles,
        classifier_angles=None if weight is None or weight_angles is None else weight_angles.take(present),
    )
    return found if known else replace(found, nc1=None)


def _spread(values: FloatArray, present: BoolArray) -> tuple[float | None, ...]:
    if present.all() and np.isfinite(values).all():  # the usual case, without detours
        return tuple(values.tolist())
    filled = np.full(len(present), np.nan)
    filled[present] = values
    plain = filled.astype(object)
    plain[~np.isfinite(filled)] = None
    return tuple(plain.tolist())


def _group(name: str, count: float, correct: float, losses: float) -> GroupRecord:
    accuracy, loss = (float(sums / count) if count > 0 else None for sums in (correct, losses))
    return GroupRecord(name, int(count), accuracy, loss)
