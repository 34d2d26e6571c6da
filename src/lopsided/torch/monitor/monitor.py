"""Watch imbalance at work in any network, by forward hooks:

    monitor = Monitor(model, loss=loss, optimizer=optimizer)     # before the loop
    record = monitor.end_epoch()                                 # after each epoch
    monitor.report("monitor.html")                               # at the end

The head's input are the features, its output the logits. Labels come from the loss module's second argument (`loss=`),
from a keyword of the model's forward (`labels="labels"`, as Hugging Face models have), or from `monitor.update(labels)`
after each forward. Forwards in training mode feed the training sums of the epoch, forwards in evaluation mode (a
validation loop) the held-out sums; an epoch lasts until `end_epoch`. Nothing here touches gradients, random state,
modes or buffers, and no graph is kept: what is held between a forward and its labels is detached.

In a distributed run each process sees its own shard; with `all_reduce=True`, `end_epoch` adds the sums of all
processes (every rank must call it). Sharded parameters (FSDP) are not supported.
"""

import os
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from lopsided.core.blas import one_blas_thread
from lopsided.core.counts import class_counts
from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray, FloatArray, check_count, check_in_range
from lopsided.measure.angles import PairwiseAngles, pairwise_angles
from lopsided.theory.layer_peeled.solve import minority_of
from lopsided.torch.code_checks import class_codes, group_codes
from lopsided.torch.loggers import Logger
from lopsided.torch.monitor import monitor_arguments as checked
from lopsided.torch.monitor.activation_probe import ActivationProbe
from lopsided.torch.monitor.batch_rows import rows_of
from lopsided.torch.monitor.class_sums import SumsSnapshot, affordable_interval
from lopsided.torch.monitor.early_warnings import EarlyWarnings, ImbalanceWarning, merging_cosines
from lopsided.torch.monitor.epoch_counters import EpochCounters, sparse_observation
from lopsided.torch.monitor.epoch_record import (
    ClassifierRecord,
    EpochRecord,
    PhaseRecord,
    classifier_record,
    phase_record,
)
from lopsided.torch.monitor.forward_watch import ForwardWatch
from lopsided.torch.monitor.head import Head, find_head, unwrap, weight_count
from lopsided.torch.monitor.layer_change import LayerStarts
from lopsided.torch.monitor.phase_sums import Batches, PhaseSums, measure_exactly, quiet
from lopsided.torch.monitor.run_forecast import RunForecast, run_forecast
from lopsided.torch.monitor.run_settings import RunReader, RunSettings
from lopsided.torch.monitor.training_plan import TrainingPlan
from lopsided.torch.processes import process_group
from torch import nn

DIVERGED = "the classifier holds NaN or infinite weights: the training has diverged"
Counts = str | Mapping[str, float] | Iterable[float]


class NothingSeen(InputError):
    """An epoch was closed in which no labels came."""


class Monitor:
    """Per epoch: angles, norms, energies, NC1-NC4, scatter, forecasts, layers, groups; early warnings in words.

    Arguments
    ---------
    model: any module, also inside DataParallel, DistributedDataParallel or torch.compile.
    head: name or module of the layer that gives the logits; the last linear layer when not told.
    features: name or module whose output is the features; the head's input when not told.
    loss: loss module called as loss(logits, labels); its labels are read.
    labels: keyword of the model's forward that holds the labels.
    optimizer: its weight decay, step and momentum are read for the forecasts, and its steps counted.
    settings: a `RunSettings` (or a dict of its fields) with what cannot be read, or should be read differently.
    counts: training examples per class (list, mapping with names, "5000*5,50*5"); what the epoch saw when not told.
    names: class names for the warnings.
    minority: indices of the minority classes; those with fewer examples than the mean when not told.
    groups: names of the groups whose codes are given to `update`.
    loggers: one logger, several or none, see `lopsided.torch.Logger`.
    warn_at, patience: classes are said to merge when their cosine is that high in so many epochs in a row.
    layers: follow every layer (True), none (False), or the named ones.
    spectra_every: epochs between whole spectra of the layers' changes, and of the logits of a head with more than 128
        classes and features; 0 for none.
    patterns: examples kept to follow activation patterns; 0 for none.
    observe_every: after the first 8192 examples of a training epoch, one batch in so many is observed, one in 8 when
        not told (for more than 256 classes, after 2048 examples, one in 16); held-out batches all are. 1 observes all.
    scatter_every: after the first 512 examples of an epoch, one example in so many feeds the within-class
        scatter and NC4; when not told, so few that it costs a quarter of a percent of the network's arithmetic.
    ignore_index: label that carries no class.
    all_reduce: add the sums of all processes at the end of an epoch.
    epochs, steps: planned length of the training, in epochs or optimizer steps, for `seen`.
    scheduler: learning-rate scheduler, from which the length is read where neither is told.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        head: str | nn.Module | None = None,
        features: str | nn.Module | None = None,
        loss: nn.Module | None = None,
        labels: str | None = None,
        optimizer: Any = None,
        settings: RunSettings | Mapping[str, Any] | None = None,
        counts: Counts | None = None,
        names: Sequence[str] | None = None,
        minority: Iterable[int] | None = None,
        groups: Sequence[str] = (),
        loggers: Logger | Sequence[Logger] | None = None,
        warn_at: float = 0.9,
        patience: int = 2,
        layers: bool | Iterable[str] = True,
        spectra_every: int = 10,
        patterns: int = 64,
        observe_every: int | None = None,
        scatter_every: int | None = None,
        ignore_index: int = -100,
        all_reduce: bool = False,
        epochs: int | None = None,
        steps: int | None = None,
        scheduler: Any = None,
    ) -> None:
        if not isinstance(model, nn.Module):
            raise InputError("a torch.nn.Module to watch", type(model).__name__, "give the network itself")
        given = None if counts is None else class_counts(counts)
        self.head: Head = find_head(model, head, None if given is None else given.classes)
        self.names = checked.class_names(names or (None if given is None else given.names), self.head.classes)
        self.records: list[EpochRecord] = []
        self._model, self._told_features, self._all_reduce = model, features is not None, all_reduce
        self._counts: FloatArray | None = None if given is None else given.counts
        self._minority = checked.minority_mask(minority, self.head.classes)
        self._group_names = checked.group_names(groups)
        self._loggers = checked.several_loggers(loggers)
        self._counted_by_optimizer = checked.any_optimizer(optimizer) is not None
        self._run = RunReader(unwrap(model), self.head.layer.weight, optimizer, settings)
        self._warnings = EarlyWarnings(
            self.head.classes,
            self.names,
            warn_at=check_in_range(warn_at, "warn_at", -1.0, 1.0),
            patience=check_count(patience, "patience"),
        )
        self._layers = LayerStarts(model, layers)
        self._spectra_every = check_count(spectra_every, "spectra_every", at_least=0)
        self._probe = ActivationProbe(model, self.head, check_count(patterns, "patterns", at_least=0))
        self._phases = PhaseSums(
            self.head,
            interval=affordable_interval(self.head.width, self.head.classes, weight_count(model))
            if scatter_every is None
            else check_count(scatter_every, "scatter_every"),
            ignored=checked.ignored_label(ignore_index),
            all_reduce=all_reduce,
        )
        every = None if observe_every is None else check_count(observe_every, "observe_every")
        self._plan = TrainingPlan(epochs, steps, scheduler)
        self._counters = EpochCounters(*sparse_observation(self.head.classes, every))
        self._diverged = False
        self._own_seconds, self._epoch_began = 0.0, time.perf_counter()
        self._watch = ForwardWatch(
            model,
            self.head,
            self._counters,
            features=features,
            loss=loss,
            label_keyword=labels,
            optimizer=optimizer,
            probe=self._probe,
            head_was_told=head is not None,
            on_labels=self.update,
        )

    # -- what a training loop calls ------------------------------------------------------------------------------------

    def update(self, labels: Any, groups: Any = None) -> None:
        """Say the labels (and groups) of the latest forward: whole numbers 0, 1, 2, ...; -100 is ignored."""
        if self._watch.take_passed():
            self._counters.training_batch()
            return
        began = time.perf_counter()
        # a copy: the caller may reuse its buffer before the rows are summed
        codes = class_codes(labels, self.head.outputs).clone()
        seen = self._watch.take(len(codes))
        if not seen.unchanged:
            self._counters.overwritten += 1
            return
        features, logits, codes = rows_of(seen, codes, self.head, told_features=self._told_features)
        places = None if groups is None else group_codes(groups, codes)
        self._phases.add(seen.training, features, logits, codes, places)
        if seen.training:
            self._counters.training_batch(len(codes), is_step=not self._counted_by_optimizer)
        self._own_seconds += time.perf_counter() - began

    @property
    def seen(self) -> float | None:
        """Share of the planned training that is done, from 0 to 1; None where its length is not known."""
        counters = self._counters
        return self._plan.seen(counters.steps or counters.all_batches, counters.batches)

    def end_epoch(self, step: int | None = None) -> EpochRecord:
        """Close the epoch: measure, forecast, warn, log; the sums start anew. `step` is for the loggers."""
        began = time.perf_counter()
        if not self._phases.flush():
            raise self._nothing_seen()
        epoch, counters = len(self.records), self._counters
        self._plan.end_epoch(counters.batches)
        counters.batches = 0  # from here on, `seen` counts the epoch as done
        with one_blas_thread():  # beside PyTorch's own threads, those of NumPy would wait for a core and burn it
            with quiet(self.head.layer.weight.device):
                snapshots = self._phases.close()
                weight = self.head.weight()
                spectra = bool(self._spectra_every) and epoch % self._spectra_every == 0
                layers = self._layers.compare(epoch, spectra=spectra)
                patterns = self._probe.compare()
            shown = self._class_counts(snapshots.get(True))
            minority = self._minority_of(np.zeros(self.head.classes) if shown is None else shown)
            angles = pairwise_angles(weight) if np.isfinite(weight).all() else None
            phases = {training: self._phase(sums, weight, angles, minority) for training, sums in snapshots.items()}
            forecast = self._forecast(snapshots.get(True), weight, shown, finite=angles is not None, spectra=spectra)
            classifier, said = self._look(weight, angles, minority, forecast, shown, phases.get(True))
        now = time.perf_counter()
        record = EpochRecord(
            epoch=epoch,
            step=step if step is not None else counters.steps or counters.all_batches,
            classifier=classifier,
            train=phases.get(True),
            held_out=phases.get(False),
            forecast=forecast,
            layers=layers,
            patterns=patterns,
            warnings=tuple(said),
            notes=(
                *self._layers.notes,
                *self._probe.notes,
                *counters.notes(snapshots.values(), classes=self.head.classes, all_reduce=self._all_reduce),
            ),
            seconds=self._own_seconds + self._watch.seconds + now - began,
            epoch_seconds=now - self._epoch_began,
            seen=self.seen,
        )
        self.records.append(record)
        self._own_seconds, self._watch.seconds, self._epoch_began = 0.0, 0.0, now
        counters.start_epoch()
        numbers = {f"lopsided/{name}": value for name, value in record.scalars().items()}
        for logger in self._loggers:
            logger.log(numbers, record.step)
        for words in said:
            warnings.warn(f"epoch {epoch}: {words}", ImbalanceWarning, stacklevel=2)
        return record

    def measure(self, batches: Batches) -> PhaseRecord:
        """Measure frozen weights exactly: two passes in evaluation mode over batches (inputs, labels).

        Unlike the running sums, the features do not move, every example enters the scatter, and NC4 compares with the
        means of these very examples. `batches` is a DataLoader, a list, or a function that starts a new pass.
        """
        told = self._told_features
        found = measure_exactly(self._model, self.head, self._watch, self._phases, batches, told_features=told)
        counts = found.counts.astype(np.float64) if self._counts is None else self._counts
        weight = self.head.weight()
        angles = pairwise_angles(weight) if np.isfinite(weight).all() else None
        record = self._phase(found, weight, angles, self._minority_of(counts))
        if record is None:
            raise InputError("labels among the head's classes", "none", "check the labels")
        return record

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the epochs so far as one offline page (.html), or their panels as a picture (.png)."""
        from lopsided.torch.monitor.report import write_report

        return write_report(path, self.records, self.names)

    def close(self) -> None:
        """Take every hook off the model; the records stay."""
        self._watch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- parts of an epoch's end ---------------------------------------------------------------------------------------

    def _nothing_seen(self) -> InputError:
        """The sentence for an epoch without a batch that could be counted."""
        if self._counters.overwritten:
            return InputError(
                "features and logits as the head gave them when their labels come",
                f"{self._counters.overwritten_batches} overwritten in place, and no other",
                "call monitor.update(labels) right after the forward, or write logits = logits * 2 instead of mul_(2)",
            )
        return NothingSeen(
            "labelled forwards since the last epoch",
            "none",
            "give loss=, labels=, or call monitor.update(labels) after each forward",
        )

    def _class_counts(self, train: SumsSnapshot | None) -> FloatArray | None:
        """As told, or as seen: of what was passed over, the classes are taken to be spread as in what was observed."""
        if self._counts is not None or train is None:
            return self._counts
        return np.round(train.counts / (self._counters.share_observed or 1))

    def _minority_of(self, counts: FloatArray) -> BoolArray:
        return minority_of(counts) if self._minority is None else self._minority

    def _phase(
        self, sums: SumsSnapshot, weight: FloatArray, angles: PairwiseAngles | None, minority: BoolArray
    ) -> PhaseRecord | None:
        named = self._group_names
        names = tuple(named[g] if g < len(named) else str(g) for g in range(len(sums.groups)))
        own = None if angles is None or self._told_features else weight
        return phase_record(sums, own, angles, minority, names)

    def _forecast(
        self, train: SumsSnapshot | None, weight: FloatArray, shown: FloatArray | None, *, finite: bool, spectra: bool
    ) -> RunForecast:
        processes, _ = process_group()
        return run_forecast(
            self._run.read(self._counters.batch_size * processes),
            np.zeros(self.head.classes) if shown is None else shown,
            weight if finite else np.zeros_like(weight),
            None if train is None or self._told_features or not finite else train.means,
            "relu" if train is not None and bool((np.nan_to_num(train.means) >= 0).all()) else "free",
            spectra=spectra,
        )

    def _look(
        self,
        weight: FloatArray,
        angles: PairwiseAngles | None,
        minority: BoolArray,
        forecast: RunForecast,
        shown: FloatArray | None,
        train: PhaseRecord | None,
    ) -> tuple[ClassifierRecord | None, list[str]]:
        """The classifier's facts, and the warnings that are new."""
        before, self._diverged = self._diverged, angles is None
        if angles is None:
            return None, [] if before else [DIVERGED]
        absent = () if train is None or self._counters.passed_rows else train.absent
        merging = merging_cosines(weight, angles)
        said = self._warnings.look(merging, angles.lengths, forecast, shown, absent)
        return classifier_record(angles, minority), said
