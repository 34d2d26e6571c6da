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
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import nn

from lopsided.core.counts import class_counts
from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray, FloatArray, check_count, check_in_range
from lopsided.theory.layer_peeled.models import minority_of
from lopsided.torch.activation_probe import ActivationProbe
from lopsided.torch.batch_rows import class_codes, rows_of
from lopsided.torch.class_sums import ClassSums, SumsSnapshot, affordable_interval
from lopsided.torch.early_warnings import EarlyWarnings, ImbalanceWarning, merging_cosines
from lopsided.torch.epoch_record import EpochRecord, PhaseRecord, classifier_record, phase_record
from lopsided.torch.forward_queue import ForwardQueue
from lopsided.torch.head import Head, check_output, find_head, named_module, unwrap, weight_count
from lopsided.torch.hook import Hook
from lopsided.torch.layer_change import LayerStarts
from lopsided.torch.loggers import Logger
from lopsided.torch.quiet import modes_kept, quiet
from lopsided.torch.row_buffer import RowBuffer
from lopsided.torch.run_forecast import Forecaster
from lopsided.torch.run_settings import RunSettings, model_settings, optimizer_settings

FULLY_OBSERVED = 8192  # examples at the start of an epoch that are all observed
DIVERGED = "the classifier holds NaN or infinite weights: the training has diverged"
Counts = str | Mapping[str, float] | Iterable[float]


MOST_GROUPS = 100_000


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
    settings: a `RunSettings` with what cannot be read, or should be read differently.
    counts: training examples per class (list, mapping with names, "5000*5,50*5"); what the epoch saw when not told.
    names: class names for the warnings.
    minority: indices of the minority classes; those with fewer examples than the mean when not told.
    groups: names of the groups whose codes are given to `update`.
    loggers: one logger or several, see `lopsided.torch.Logger`.
    warn_at, patience: classes are said to merge when their cosine is that high in so many epochs in a row.
    layers: follow every layer (True), none (False), or the named ones.
    spectra_every: epochs between whole spectra of the layers' changes; 0 for none.
    patterns: examples kept to follow activation patterns; 0 for none.
    observe_every: after the first 8192 examples of a training epoch, every so-manieth batch is observed; held-out
        batches all are. 1 observes everything.
    scatter_every: after the first 512 examples of an epoch, one example in so many feeds the within-class
        scatter and NC4; when not told, so few that it costs a quarter of a percent of the network's arithmetic.
    ignore_index: label that carries no class.
    all_reduce: add the sums of all processes at the end of an epoch.
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
        settings: RunSettings | None = None,
        counts: Counts | None = None,
        names: Sequence[str] | None = None,
        minority: Iterable[int] | None = None,
        groups: Sequence[str] = (),
        loggers: Logger | Sequence[Logger] = (),
        warn_at: float = 0.9,
        patience: int = 2,
        layers: bool | Iterable[str] = True,
        spectra_every: int = 10,
        patterns: int = 64,
        observe_every: int = 8,
        scatter_every: int | None = None,
        ignore_index: int = -100,
        all_reduce: bool = False,
    ) -> None:
        if not isinstance(model, nn.Module):
            raise InputError("a torch.nn.Module to watch", type(model).__name__, "give the network itself")
        given = None if counts is None else class_counts(counts)
        self.head: Head = find_head(model, head, None if given is None else given.classes)
        self.records: list[EpochRecord] = []
        self._model = model
        self._told_features = features is not None
        self._optimizer, self._settings, self._most_step = optimizer, settings, 0.0
        self._counts: FloatArray | None = None if given is None else given.counts
        known = names or (given.names if given is not None else None)
        self.names = _class_names(known, self.head.classes)
        self._minority = _mask(minority, self.head.classes)
        self._group_names = tuple(str(name) for name in groups)
        self._loggers: tuple[Logger, ...] = tuple(loggers) if isinstance(loggers, Sequence) else (loggers,)
        self._scatter_every = (
            affordable_interval(self.head.width, self.head.classes, weight_count(model))
            if scatter_every is None
            else check_count(scatter_every, "scatter_every")
        )
        self._observe_every = check_count(observe_every, "observe_every")
        self._spectra_every = check_count(spectra_every, "spectra_every", at_least=0)
        self._ignored, self._all_reduce = ignore_index, all_reduce
        self._warnings = EarlyWarnings(
            self.head.classes,
            self.names,
            warn_at=check_in_range(warn_at, "warn_at", -1.0, 1.0),
            patience=check_count(patience, "patience"),
        )
        self._forecaster = Forecaster()
        self._layers = LayerStarts(model, layers)
        probe = check_count(patterns, "patterns", at_least=0)
        self._probe = ActivationProbe(model, self.head, probe) if probe else None
        self._buffers: dict[bool, RowBuffer] = {}  # by training mode
        devices = len(model.device_ids) if isinstance(model, nn.DataParallel) and model.device_ids else 1
        self._pending = ForwardQueue(self.head, max(2, devices))
        self._latest_features: torch.Tensor | None = None
        self._label_keyword = labels
        self._label_now: Any = None
        self._check_output = head is None
        self._notes: list[str] = list(self._layers.notes)
        self._observed_rows = self._passed_rows = self._epoch_batches = 0
        self._passed = False
        self._steps = self._batches = self._rows_since_step = self._batch_size = 0
        self._skipped = 0
        self._diverged = False
        self._own_seconds, self._epoch_began = 0.0, time.perf_counter()
        self._handles = self._attach(features, loss)

    # -- hooks ---------------------------------------------------------------------------------------------------------

    def _attach(self, features: str | nn.Module | None, loss: nn.Module | None) -> list[Any]:
        if loss is not None and not isinstance(loss, nn.Module):
            raise InputError(
                "a loss module such as nn.CrossEntropyLoss()",
                type(loss).__name__,
                "call monitor.update(labels) after each forward instead",
            )
        told = None if features is None else named_module(self._model, features)
        self._outer = [
            self._model.register_forward_pre_hook(Hook(self._before_model), with_kwargs=True),
            self._model.register_forward_hook(Hook(self._after_model)),
        ]
        handles = [self.head.layer.register_forward_hook(Hook(self._saw_head)), *self._outer]
        if told is not None:
            handles.append(told.register_forward_hook(Hook(self._saw_features)))
        if loss is not None:
            handles.append(loss.register_forward_hook(Hook(self._saw_loss), with_kwargs=True))
        raw = getattr(self._optimizer, "optimizer", self._optimizer)
        if raw is not None and hasattr(raw, "register_step_post_hook"):
            handles.append(raw.register_step_post_hook(Hook(self._stepped)))
        return handles

    def _saw_features(self, _: nn.Module, __: tuple[Any, ...], output: torch.Tensor) -> None:
        self._latest_features = output.detach()

    def _saw_head(self, layer: nn.Module, arguments: tuple[Any, ...], output: torch.Tensor) -> None:
        if self._probe is not None and self._probe.running:
            return
        if layer.training:
            rows = output.shape[0]
            if torch.is_grad_enabled():
                self._rows_since_step += rows
            if self._observed_rows >= FULLY_OBSERVED and self._epoch_batches % self._observe_every:
                self._passed_rows += rows
                self._passed = True
                return
        features = self._latest_features if self._told_features else arguments[0].detach()
        if features is None:
            raise InputError("the features before the head", "none", "name a layer that runs before it with features=")
        outputs = output.detach()
        self._pending.add(features, outputs, training=layer.training)

    def _before_model(self, _: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any] | None = None) -> None:
        # A compiled model remembers hooks that were taken off, and calls them without keywords.
        if keywords is None or (self._probe is not None and self._probe.running):
            return
        if self._label_keyword is not None:
            self._label_now = keywords.get(self._label_keyword)
        if self._probe is not None and not self._probe.started and self._model.training:
            began = time.perf_counter()
            self._probe.start(arguments, keywords)
            self._own_seconds += time.perf_counter() - began

    def _after_model(self, _: nn.Module, __: tuple[Any, ...], output: Any) -> None:
        if self._probe is not None and self._probe.running:
            return
        if self._check_output:
            self._check_output = False
            check_output(output, self.head)
        if self._label_now is not None:
            labels, self._label_now = self._label_now, None
            self.update(labels)
        elif self._label_keyword is None and (self._probe is None or self._probe.started):
            for handle in self._outer:  # nothing left to see from outside
                handle.remove()

    def _saw_loss(self, _: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any], __: Any) -> None:
        target = arguments[1] if len(arguments) > 1 else keywords.get("target", keywords.get("labels"))
        # Without a forward before it, the loss is of something else.
        if target is not None and (self._passed or len(self._pending)):
            self.update(target)

    def _stepped(self, *_: Any) -> None:
        self._steps += 1
        self._batch_size = max(self._batch_size, self._rows_since_step)
        self._rows_since_step = 0

    # -- what a training loop calls ------------------------------------------------------------------------------------

    def update(self, labels: Any, groups: Any = None) -> None:
        """Say the labels (and groups) of the latest forward: whole numbers 0, 1, 2, ...; -100 is ignored."""
        if self._passed and not len(self._pending):
            self._passed = False
            self._epoch_batches += 1
            self._batches += 1
            return
        began = time.perf_counter()
        codes = class_codes(labels, self.head).clone()  # the caller may reuse its buffer before the rows are summed
        seen = self._pending.take(len(codes))
        if not seen.unchanged:
            self._skipped += 1
            return
        features, logits, codes = rows_of(seen, codes, self.head, told_features=self._told_features)
        places = None if groups is None else self._group_codes(groups, codes)
        if seen.training not in self._buffers:
            self._buffers[seen.training] = RowBuffer(self._new_sums(features, self._scatter_every))
        self._buffers[seen.training].add(features, logits, codes, places)
        if seen.training:
            self._batches += 1
            self._epoch_batches += 1
            self._observed_rows += len(codes)
            if self._optimizer is None:
                self._batch_size = max(self._batch_size, len(codes))
        self._own_seconds += time.perf_counter() - began

    def end_epoch(self, step: int | None = None) -> EpochRecord:
        """Close the epoch: measure, forecast, warn, log; the sums start anew. `step` is for the loggers."""
        began = time.perf_counter()
        for buffer in self._buffers.values():
            buffer.flush()
        if not self._all_reduce and not any(buffer.sums.batches for buffer in self._buffers.values()):
            raise InputError(
                "labelled forwards since the last epoch",
                "none",
                "give loss=, labels=, or call monitor.update(labels) after each forward",
            )
        epoch = len(self.records)
        with quiet(self.head.layer.weight.device):
            snapshots = {training: self._close(sums) for training, sums in self._phases().items()}
            weight = self.head.weight()
            spectra = bool(self._spectra_every) and epoch % self._spectra_every == 0
            layers = self._layers.compare(epoch, spectra=spectra)
            patterns = () if self._probe is None else self._probe.compare()
        train = snapshots.get(True)
        observed = self._observed_rows / max(self._observed_rows + self._passed_rows, 1)
        # Of what was passed over, the classes are taken to be spread as in what was observed.
        shown = self._counts if self._counts is not None or train is None else np.round(train.counts / (observed or 1))
        counts = np.zeros(self.head.classes) if shown is None else shown
        minority = minority_of(counts) if self._minority is None else self._minority
        finite = bool(np.isfinite(weight).all())
        own = weight if finite and not self._told_features else None
        phases = {training: self._phase(sums, own, minority) for training, sums in snapshots.items()}
        forecast = self._forecaster.forecast(
            self._run_settings(),
            counts,
            weight if finite else np.zeros_like(weight),
            None if train is None or own is None else train.means,
            "relu" if train is not None and bool((np.nan_to_num(train.means) >= 0).all()) else "free",
        )
        said = [] if finite or self._diverged else [DIVERGED]
        self._diverged = not finite
        classifier = None
        if finite:
            merging = merging_cosines(weight)
            classifier = classifier_record(weight, minority, merging)
            found = phases.get(True)
            absent = () if found is None or self._passed_rows else found.absent
            said += self._warnings.look(merging, np.asarray(classifier.norms), forecast, shown, absent)
        now = time.perf_counter()
        record = EpochRecord(
            epoch=epoch,
            step=step if step is not None else self._steps or self._batches,
            classifier=classifier,
            train=phases.get(True),
            held_out=phases.get(False),
            forecast=forecast,
            layers=layers,
            patterns=patterns,
            warnings=tuple(said),
            notes=self._epoch_notes(snapshots),
            seconds=self._own_seconds + now - began,
            epoch_seconds=now - self._epoch_began,
        )
        self.records.append(record)
        self._own_seconds, self._epoch_began, self._skipped = 0.0, now, 0
        self._observed_rows = self._passed_rows = self._epoch_batches = 0
        numbers = {f"lopsided/{name}": value for name, value in record.scalars().items()}
        for logger in self._loggers:
            logger.log(numbers, record.step)
        for words in said:
            warnings.warn(f"epoch {epoch}: {words}", ImbalanceWarning, stacklevel=2)
        return record

    def measure(self, batches: Callable[[], Iterable[Any]] | Iterable[Any]) -> PhaseRecord:
        """Measure frozen weights exactly: two passes in evaluation mode over batches (inputs, labels).

        Unlike the running sums, the features do not move, every example enters the scatter, and NC4 compares with the
        means of these very examples. `batches` is a DataLoader, a list, or a function that starts a new pass.
        """
        with modes_kept(self._model), torch.no_grad():
            self._model.eval()
            sums = self._one_pass(batches, None)
            first = sums.rows
            sums.keep_reference()
            sums.clear()
            self._one_pass(batches, sums)
        if sums.rows != first:
            got = f"{first} and {sums.rows} examples"
            raise InputError("the same batches in both passes", got, "give a list, a DataLoader or a function")
        found = sums.snapshot()
        counts = found.counts.astype(np.float64) if self._counts is None else self._counts
        minority = minority_of(counts) if self._minority is None else self._minority
        record = phase_record(found, None if self._told_features else self.head.weight(), minority, ())
        if record is None:
            raise InputError("labels among the head's classes", "none", "check the labels")
        return record

    def _one_pass(self, batches: Callable[[], Iterable[Any]] | Iterable[Any], sums: ClassSums | None) -> ClassSums:
        device = self.head.layer.weight.device
        for batch in batches() if callable(batches) else batches:
            self._model(batch[0].to(device))
            codes = class_codes(batch[1], self.head)
            rows = rows_of(self._pending.take(codes.shape[0]), codes, self.head, told_features=self._told_features)
            if sums is None:
                sums = self._new_sums(rows[0], interval=1)
            sums.add(*rows)
        if sums is None:
            raise InputError("batches of inputs and labels", "none", "give a DataLoader or a list")
        return sums

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the epochs so far as one offline page (.html), or their panels as a picture (.png)."""
        from lopsided.torch.monitor_report import write_report

        return write_report(path, self.records, self.names)

    def close(self) -> None:
        """Take every hook off the model; the records stay."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._pending.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _new_sums(self, features: torch.Tensor, interval: int) -> ClassSums:
        with quiet(features.device):
            return ClassSums(
                self.head.classes, features.shape[1], features.device, interval=interval, ignored=self._ignored
            )

    def _phases(self) -> dict[bool, ClassSums]:
        """The sums of both phases, in one order; a phase that another process saw gets empty ones here, to be added."""
        if self._all_reduce:
            device = self.head.layer.weight.device
            seen = torch.tensor([float(phase in self._buffers) for phase in (True, False)], device=device)
            torch.distributed.all_reduce(seen, op=torch.distributed.ReduceOp.MAX)
            known = next(iter(self._buffers.values()), None)
            example = torch.empty(0, self.head.width if known is None else known.sums.width, device=device)
            for phase, anywhere in zip((True, False), seen.tolist(), strict=True):
                if anywhere and phase not in self._buffers:
                    self._buffers[phase] = RowBuffer(self._new_sums(example, self._scatter_every))
        return {phase: self._buffers[phase].sums for phase in (True, False) if phase in self._buffers}

    def _close(self, sums: ClassSums) -> SumsSnapshot:
        if self._all_reduce:
            sums.all_reduce()
        snapshot = sums.snapshot()
        sums.keep_reference()
        sums.clear()
        return snapshot

    def _phase(self, sums: SumsSnapshot, weight: FloatArray | None, minority: BoolArray) -> PhaseRecord | None:
        named = self._group_names
        names = tuple(named[g] if g < len(named) else str(g) for g in range(len(sums.groups)))
        return phase_record(sums, weight, minority, names)

    def _group_codes(self, groups: Any, codes: torch.Tensor) -> torch.Tensor:
        places = torch.as_tensor(groups)
        if places.is_floating_point() or places.numel() != codes.numel():
            raise InputError(
                f"{codes.numel()} group codes 0, 1, 2, ...", f"{places.dtype} of shape {tuple(places.shape)}", "recode"
            )
        if places.numel() and int(places.max()) >= MOST_GROUPS:
            raise InputError(f"group codes below {MOST_GROUPS:,}", int(places.max()), "recode them as 0, 1, 2, ...")
        return places.reshape(-1).long().to(codes.device).clone()

    def _run_settings(self) -> RunSettings:
        read = model_settings(unwrap(self._model))
        if self._optimizer is not None:
            read |= optimizer_settings(self._optimizer, self.head.layer.weight)
            self._most_step = read["learning_rate"] = max(self._most_step, read["learning_rate"])
        world = torch.distributed.get_world_size() if _distributed() else 1
        read["batch_size"] = self._batch_size * world or None
        given = {} if self._settings is None else vars(self._settings)
        told = {name: value for name, value in given.items() if value is not None and value is not False}
        return RunSettings(**(read | told))

    def _epoch_notes(self, snapshots: dict[bool, SumsSnapshot]) -> tuple[str, ...]:
        notes = list(self._notes)
        if self._probe is not None and self._probe.trouble is not None:
            notes.append(self._probe.trouble)
        strays = sum(sums.unclassed for sums in snapshots.values())
        if strays:
            notes.append(f"{strays} labels are not among the head's {self.head.classes} classes and were left out")
        if self._passed_rows:
            share = self._observed_rows / (self._observed_rows + self._passed_rows)
            notes.append(f"{share:.0%} of the training examples were observed; observe_every=1 observes all")
        if any(sums.uneven for sums in snapshots.values()):
            notes.append("batches came class by class, so NC1 and NC4 are left out; monitor.measure(loader) gives them")
        if self._skipped:
            notes.append(f"{self._skipped} batches were left out: features or logits were overwritten in place")
        if any(not np.isfinite(sums.means[sums.counts > 0]).all() for sums in snapshots.values()):
            notes.append("some features were NaN or infinite, so class means could not be measured")
        if _distributed() and not self._all_reduce:
            rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
            notes.append(f"process {rank} of {size} saw its own shard only; all_reduce=True adds them up")
        return tuple(notes)


def _distributed() -> bool:
    return bool(torch.distributed.is_available() and torch.distributed.is_initialized())


def _class_names(names: Sequence[str] | None, classes: int) -> tuple[str, ...]:
    if names is None:
        return tuple(str(k) for k in range(classes))
    if len(names) != classes:
        raise InputError(f"{classes} class names", len(names), "give one per output of the head")
    return tuple(str(name) for name in names)


def _mask(minority: Iterable[int] | None, classes: int) -> BoolArray | None:
    if minority is None:
        return None
    chosen = [int(k) for k in minority]
    if any(not 0 <= k < classes for k in chosen):
        raise InputError(f"minority classes from 0 to {classes - 1}", chosen, "give class indices")
    mask = np.zeros(classes, dtype=bool)
    mask[chosen] = True
    return mask
