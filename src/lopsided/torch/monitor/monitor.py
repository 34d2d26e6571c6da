"""Watches the effects of imbalance in any network, by forward hooks:

    monitor = Monitor(model, loss=loss, optimizer=optimizer)     # before the loop
    record = monitor.end_epoch()                                 # after each epoch
    monitor.report("monitor.html")                               # at the end

The input of the head are the features, its output the logits. Labels come from the loss module's second argument
(`loss=`), from a keyword of the model's forward (`labels="labels"`, as Hugging Face models have), or from
`monitor.update(labels)` after each forward pass. Passes in training mode count as training, passes in evaluation mode
(a validation loop) as held out, unless `with monitor.phase(name):` separates them; an epoch lasts until `end_epoch`.
Gradients, random state, modes and buffers do not change, and no graph is kept: tensors that wait for their labels are
detached.

In a distributed run each process sees its own shard; with `all_reduce=True`, `end_epoch` adds the sums of all
processes (every rank must call it). Sharded parameters (FSDP) are not supported.
"""

import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import numpy as np
from torch.utils.data import DataLoader

from lopsided.core.blas import one_blas_thread
from lopsided.core.counts import class_counts
from lopsided.core.errors import InputError
from lopsided.core.parameters import documented_by
from lopsided.core.validation import BoolArray, FloatArray, check_count, check_in_range
from lopsided.measure.angles import PairwiseAngles, pairwise_angles
from lopsided.theory.layer_peeled.solve import minority_of
from lopsided.torch.loggers import Logger
from lopsided.torch.monitor import monitor_arguments as checked
from lopsided.torch.monitor.activation_probe import ActivationProbe
from lopsided.torch.monitor.cadence import MANY, Cadence
from lopsided.torch.monitor.class_sums import SumsSnapshot, affordable_interval
from lopsided.torch.monitor.early_warnings import EarlyWarnings, ImbalanceWarning
from lopsided.torch.monitor.epoch_counters import EpochCounters, LabelCounts, nothing_seen, sparse_observation
from lopsided.torch.monitor.epoch_record import EpochRecord, PhaseRecord, classifier_record, phase_record
from lopsided.torch.monitor.first_inputs import FirstInputs
from lopsided.torch.monitor.forward_watch import ForwardWatch
from lopsided.torch.monitor.head import Head, find_head, own_weight, unwrap, weight_count
from lopsided.torch.monitor.latest_forecast import LatestForecast
from lopsided.torch.monitor.layer_change import LayerStarts
from lopsided.torch.monitor.lost_classes import LostClasses
from lopsided.torch.monitor.monitor_parameters import MONITOR_PARAMETERS
from lopsided.torch.monitor.monitor_state import load_state, state_of
from lopsided.torch.monitor.phase_sums import Batches, PhaseSums, measure_exactly, quiet
from lopsided.torch.monitor.recall_outlook import RecallOutlook
from lopsided.torch.monitor.recall_watch import RecallWatch, of_enough_rows
from lopsided.torch.monitor.run_settings import RunReader, RunSettings
from lopsided.torch.monitor.shown_counts import ShownCounts
from lopsided.torch.monitor.targets import TargetReader, codes_of
from lopsided.torch.monitor.training_plan import TrainingPlan
from lopsided.torch.processes import process_group
from torch import nn

VALIDATION = ("val", "valid", "validation", "dev")  # names under which people hold examples out
T = TypeVar("T")
Counts = str | Mapping[str, float] | Iterable[float]


@documented_by(MONITOR_PARAMETERS)
class Monitor:
    """Record every epoch of a training, and warn early of classes that will fail. A record holds the recall of every
    class with a forecast of its final value, angles and norms of the classifier, NC1-NC4, layers and groups.

    Parameters
    ----------
    {inputs}
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
        geometry_every: int | None = None,
        before: RecallOutlook | DataLoader[Any] | Literal[False] | None = None,
    ) -> None:
        model = checked.whole_parameters(model)
        given = None if counts is None else class_counts(counts)
        self.head: Head = find_head(model, head, None if given is None else given.classes)
        self.names = checked.class_names(names or (None if given is None else given.names), self.head.classes)
        self.records: list[EpochRecord] = []
        self._model, self._told_features, self._all_reduce = model, features is not None, all_reduce
        self._minority = checked.minority_mask(minority, self.head.classes)
        self._group_names = checked.group_names(groups)
        self._loggers = checked.several_loggers(loggers)
        self._counted_by_optimizer = checked.any_optimizer(optimizer) is not None
        self._run = RunReader(unwrap(model), own_weight(self.head.layer), optimizer, settings, loss)
        self._warnings = EarlyWarnings(
            self.head.classes,
            self.names,
            warn_at=check_in_range(warn_at, "warn_at", -1.0, 1.0),
            patience=check_count(patience, "patience"),
        )
        self._lost = LostClasses(self.head.classes, self.names)
        made = checked.made_before(before, model, self.head.classes, optimizer, epochs, steps)
        self._ahead = RecallWatch(self.names, made)
        self._shown = ShownCounts(None if given is None else given.counts, () if made is None else made.counts)
        self._layers = LayerStarts(model, layers)
        self._cadence = Cadence(
            None if geometry_every is None else check_count(geometry_every, "geometry_every"),
            check_count(spectra_every, "spectra_every", at_least=0),
            self.head.classes,
            weight_count(model),
        )
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
        self._targets = TargetReader(self.head, told_features=features is not None)
        self._unobserved = LabelCounts(self.head.classes)
        self._plan = TrainingPlan(epochs, steps, scheduler)
        asked = before is None and optimizer is not None and self._plan.known
        self._first = FirstInputs(unwrap(model), self.head, optimizer, self._shown, wanted=asked)
        self._counters = EpochCounters(*sparse_observation(self.head.classes, every))
        self._latest_minority: tuple[FloatArray, BoolArray] | None = None
        self._merging = LatestForecast(own_input=features is None)
        self._own_seconds, self._epoch_began = 0.0, time.perf_counter()
        self._watch = ForwardWatch(
            model,
            self.head,
            self._counters,
            features=features,
            loss=loss,
            label_keyword=labels,
            optimizer=optimizer,
            on_step=self._run.stepped,
            probe=self._probe,
            first=self._first,
            head_was_told=head is not None,
            on_labels=self.update,
        )

    # -- what a training loop calls ------------------------------------------------------------------------------------

    def update(self, labels: Any, groups: Any = None) -> None:
        """Give the labels (and groups) of the latest forward pass: whole numbers 0, 1, 2, ...; -100 is ignored."""
        began = time.perf_counter()
        if (passed := self._watch.take_passed()) is not None:  # the caller may reuse its buffer before they are counted
            codes = codes_of(self._targets.read(labels)).clone()
            self._unobserved.add(codes)
            self._counters.training_batch()
            if passed.features.numel():
                self._first.add(passed.inputs, passed.features, codes)
            return
        seen = None if groups is not None else self._watch.take_usual(labels)
        if seen is not None:
            rows, given, observed = (seen.features, seen.outputs, labels, None), None, labels.shape[0]
        else:
            given = self._targets.read(labels, self._watch.latest_outputs)
            seen = self._watch.take(given.shape[0])
            if not seen.unchanged:
                self._counters.overwritten += 1
                return
            rows = self._targets.rows(seen, given, groups)
            observed = given.shape[0] if self._targets.several else given.numel()
        named = self._watch.named
        self._phases.add(seen.training if named is None else named, *rows)
        if seen.training and named is None:
            self._first.add(seen.inputs, rows[0], labels if given is None else given)
            self._counters.training_batch(observed, is_step=not self._counted_by_optimizer)
        self._own_seconds += time.perf_counter() - began

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Record the forward passes inside under `EpochRecord.phases[name]`: `with monitor.phase("test"): ...`.

        Use it for a second evaluation in an epoch, or for the training set in evaluation mode. Without it, forward
        passes belong to "train" or "held_out" by the mode of the model. Where nothing else is held out, a phase "val"
        is `held_out` too.
        """
        return self._inside(name, of_loop=False)

    @contextmanager
    def _inside(self, name: str, *, of_loop: bool) -> Iterator[None]:
        before = self._watch.named
        self._watch.start_phase(checked.phase_name(name), of_loop=of_loop)
        entered = self._watch.named
        try:
            yield
        finally:
            if self._watch.named == entered:  # else a loop that was left early ends only now
                self._watch.start_phase(before)

    def start_phase(self, name: str) -> None:
        """The same for callbacks: forward passes belong to this phase until another one starts."""
        self._watch.start_phase(checked.phase_name(name))

    def batches(self, loader: Iterable[T], phase: str) -> Iterator[T]:
        """Iterate over a loader inside a phase: `for x, y in monitor.batches(loader, "test")`."""
        if phase == "train":
            self._shown.behind(loader, self.head.classes)
        with self._inside(phase, of_loop=True):
            yield from loader

    @property
    def seen(self) -> float | None:
        """Share of the planned training that is done, from 0 to 1; None where its length is not known."""
        counters = self._counters
        return self._plan.seen(counters.steps or counters.all_batches, counters.batches)

    def end_epoch(self, step: int | None = None) -> EpochRecord:
        """End the epoch: measure, forecast, warn and log. `step` is passed to the loggers."""
        began = time.perf_counter()
        if not self._phases.flush():
            raise nothing_seen(self._counters)
        epoch, counters = len(self.records), self._counters
        self._plan.end_epoch(counters.batches)
        done = counters.steps or counters.all_batches
        counters.batches = 0  # from here on, `seen` counts the epoch as done
        with one_blas_thread():  # beside PyTorch's own threads, those of NumPy would wait for a core and burn it
            with quiet(self.head.device):
                snapshots, rows = self._phases.close(), self._phases.close_rows()
                unobserved = self._unobserved.take(self.head.device, all_reduce=self._all_reduce)
                weight = self.head.weight()
                full, spectra = self._cadence.full, self._cadence.spectra(epoch)
                layers = self._layers.compare(epoch, spectra=spectra) if full else ()
                patterns = self._probe.compare() if full else ()
            labels = snapshots[True].counts + unobserved if True in snapshots else None
            self._shown.look(labels)
            counts = self._shown.examples
            none_of_any = np.zeros(self.head.classes)
            minority = self._minority_of(none_of_any if counts is None else counts)
            finite = bool(np.isfinite(weight).all())
            angles = pairwise_angles(weight) if finite and (full or len(weight) <= MANY) else None
            lengths = (np.linalg.norm(weight, axis=1) if angles is None else angles.lengths) if finite else None
            phases = {
                phase: self._phase(sums, weight, angles, minority, full=full) for phase, sums in snapshots.items()
            }
            named = {name: found for name, found in phases.items() if isinstance(name, str) and found is not None}
            train = phases.get(True)
            validation = next((name for name in (False, *VALIDATION) if phases.get(name) is not None), None)
            held_out = None if validation is None else phases[validation]
            settings = self._run.read(counters.batch_size * process_group()[0], self.seen)
            forecast = self._merging.look(
                settings,
                none_of_any if self._shown.weighed is None else self._shown.weighed,
                weight,
                snapshots.get(True),
                self.records[-1].forecast if self.records else None,
                full=full,
                spectra=spectra,
            )
            usable = not (self._targets.mixed or self._targets.several or self._shown.resampled)
            self._first.end_epoch(labels, usable=usable, all_reduce=self._all_reduce)
            absent = () if labels is None or not self._shown.whole else tuple(np.flatnonzero(labels == 0).tolist())
            classifier = None if lengths is None else classifier_record(lengths, angles, minority)
            recall = [None if found is None else found.class_accuracy for found in (train, held_out)]
            if train is not None and labels is not None and counters.passed_rows:
                recall[0] = tuple(of_enough_rows(train.class_accuracy, train.counts, labels))
            said = self._lost.look(recall[0], recall[1], counts)
            said += self._warnings.look_at(weight, lengths, angles, forecast, counts, absent)
            ahead = self._ahead.look(
                snapshots if finite else {},
                rows,
                validation,
                counts,
                labels=labels,
                prior=None if self._targets.several else self._shown.prior,
                seen=self.seen,
                epoch=epoch,
                merged=self._warnings.merged,
                before=self._first.score(counts, settings, self._plan.steps(done, self.seen)),
            )
            said += ahead.warnings
        now = time.perf_counter()
        record = EpochRecord(
            epoch=epoch,
            step=done if step is None else step,
            classifier=classifier,
            train=train,
            held_out=held_out,
            forecast=forecast,
            layers=layers,
            patterns=patterns,
            warnings=tuple(said),
            notes=(
                *self._layers.notes,
                *self._probe.notes,
                *self._first.notes,
                *self._watch.notes,
                *counters.notes(
                    snapshots.values(),
                    classes=self.head.classes,
                    all_reduce=self._all_reduce,
                    mixed=self._targets.mixed,
                ),
            ),
            seconds=self._own_seconds + self._watch.seconds + now - began,
            epoch_seconds=now - self._epoch_began,
            evidence=ahead.evidence,
            recall_forecast=ahead.forecast,
            posthoc=ahead.posthoc,
            merged=tuple(self._warnings.merged),
            seen=self.seen,
            labels=None if labels is None else tuple(labels.tolist()),
            phases=named,
        )
        self.records.append(record)
        self._own_seconds, self._watch.seconds, self._epoch_began = 0.0, 0.0, now
        counters.start_epoch()
        shown = sum(int(sums.counts.sum()) for sums in snapshots.values()) + int(unobserved.sum())
        self._cadence.end_epoch(shown, epoch + 1, record.seen)
        self._phases.start_epoch(self._cadence)
        numbers = {f"lopsided/{name}": value for name, value in record.scalars().items()} if self._loggers else {}
        for logger in self._loggers:
            logger.log(numbers, record.step)
        for words in said:
            warnings.warn(f"epoch {epoch}: {words}", ImbalanceWarning, stacklevel=2)
        return record

    def measure(self, batches: Batches) -> PhaseRecord:
        """Measure frozen weights exactly: two passes in evaluation mode over batches (inputs, labels).

        Unlike the running sums, the features do not move, every example enters the scatter, and NC4 compares with the
        means of the same examples. `batches` is a DataLoader, a list, or a function that starts a new pass.
        """
        found = measure_exactly(self._model, self.head, self._watch, self._phases, batches, self._targets)
        counts = found.counts.astype(np.float64) if self._shown.told is None else self._shown.told
        weight = self.head.weight()
        angles = pairwise_angles(weight) if np.isfinite(weight).all() else None
        record = self._phase(found, weight, angles, self._minority_of(counts), full=True)
        if record is None:
            raise InputError("labels among the head's classes", "none", "check the labels")
        return record

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the epochs so far as one offline page (.html), or their panels as a picture (.png)."""
        from lopsided.torch.monitor.report import write_report

        return write_report(path, self.records, self.names)

    def state_dict(self) -> dict[str, Any]:
        """Records, counts, warnings and starts, between epochs: plain values and tensors for a checkpoint."""
        return state_of(self)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another monitor of the same network stopped."""
        load_state(self, state)

    def close(self) -> None:
        """Remove all hooks from the model; the records stay."""
        self._watch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- parts of an epoch's end ---------------------------------------------------------------------------------------

    def _minority_of(self, counts: FloatArray) -> BoolArray:
        if self._minority is not None:
            return self._minority
        if self._latest_minority is None or not np.array_equal(self._latest_minority[0], counts):
            self._latest_minority = counts, minority_of(counts)
        return self._latest_minority[1]

    def _phase(
        self, sums: SumsSnapshot, weight: FloatArray, angles: PairwiseAngles | None, minority: BoolArray, *, full: bool
    ) -> PhaseRecord | None:
        named = self._group_names
        names = tuple(named[g] if g < len(named) else str(g) for g in range(len(sums.groups)))
        own = None if angles is None or self._told_features else weight
        return phase_record(sums, own, angles, minority, names, full=full)
