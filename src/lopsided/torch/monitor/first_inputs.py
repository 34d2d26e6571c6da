"""A forecast before training from the inputs that the model is given in its first epoch: nobody has to ask for it.

A sample of the inputs is kept to the end of the first epoch, or of a few that together show each example once, and
compared by the simple rules of `measure.class_overlap`. Of a network whose head alone is trained, the features are
compared. There is no such forecast where examples have several labels or mixed ones, where a sampler repeats examples,
and for more than MOST_CLASSES classes, of which a sample shows too little.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import torch
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.class_overlap import class_overlap
from lopsided.theory.recall_law import recall_before_training
from lopsided.torch.before_training import planned_training
from lopsided.torch.comparable_rows import RowSample
from lopsided.torch.monitor.head import Head
from lopsided.torch.monitor.run_settings import RunSettings
from lopsided.torch.monitor.shown_counts import ShownCounts
from torch import nn

MOST_CLASSES = 2000
GROWN = 1.5  # times as many examples as at the last comparison are worth another one
RULES = ("nearest_mean", "nearest_neighbour", "linear")


class FirstInputs:
    """Collects until it is `done`; `rates` are the recalls of every class by the three rules, by name, once known."""

    def __init__(self, model: nn.Module, head: Head, optimizer: Any, counts: ShownCounts, *, wanted: bool) -> None:
        self._model, self._head, self._optimizer, self._counts = model, head, optimizer, counts
        self.done = not wanted or head.classes > MOST_CLASSES
        self.shown = 0  # training examples so far
        self._compared = 0  # of them, when they were compared
        self.rates: dict[str, FloatArray] = {}
        self.start_over()

    def start_over(self) -> None:
        """Forget the sample; rates that are known already stay as they are, as a new sample would be smaller."""
        self.done = self.done or bool(self.rates)
        self._sample = RowSample()
        self._head_alone: bool | None = None

    def add(self, inputs: Sequence[torch.Tensor], features: torch.Tensor, labels: torch.Tensor) -> None:
        """A batch of the training; left out where its rows and labels do not belong to each other one by one."""
        if self.done or not inputs or labels.ndim != 1 or labels.dtype == torch.bool:
            return
        if self._head_alone is None:
            self._head_alone = _head_alone(self._model, self._head, self._optimizer)
        rows = [features] if self._head_alone else inputs
        if any(len(one) != len(labels) for one in rows):
            return
        codes = labels.detach().cpu().numpy().astype(np.int64)
        known = (codes >= 0) & (codes < self._head.classes)
        if (told := self._counts.told) is not None:  # no example is compared with itself
            reached = np.pad(self._sample.counts, (0, self._head.classes - self._sample.counts.size))
            known[known] &= (reached < told)[codes[known]]
        if not known.all():
            rows, codes = [one[torch.from_numpy(known).to(one.device)] for one in rows], codes[known]
        self._sample.add(rows, codes)

    def end_epoch(self, labels: IntArray | None, *, usable: bool, all_reduce: bool) -> None:
        """Compare what was shown if it is new; `labels` are the epoch's training examples of every class."""
        if self.done or labels is None:
            return
        told, latest = self._counts.told, int(labels.sum())
        self.shown += latest
        complete = not usable or told is None or self.shown + latest > told.sum()  # another would repeat examples
        if usable and (complete or self.shown >= GROWN * self._compared):
            self.rates, self._compared = self._compare(all_reduce=all_reduce), self.shown
        if complete:
            self.done = True
            self.start_over()

    def score(self, counts: FloatArray | None, settings: RunSettings, steps: int | None) -> FloatArray | None:
        """What the forecast before training says of every class; None where inputs, plan or settings are not known."""
        if not (self.rates and settings.optimizer and settings.learning_rate and settings.batch_size):
            return None
        if counts is None or not steps:
            return None
        training = planned_training(self._model, vars(settings), steps=steps, batch_size=settings.batch_size)
        means, neighbours, linear = (self.rates[rule] for rule in RULES)
        return recall_before_training(counts, means, neighbours, linear, training).score

    def _compare(self, *, all_reduce: bool) -> dict[str, FloatArray]:
        rows, codes = self._sample.taken()
        table = np.full((len(RULES), self._head.classes), np.nan)
        if codes.size > 1 and np.isfinite(rows).all():
            table[:] = class_overlap(rows, codes, classes=self._head.classes).rates
        if all_reduce:  # each process has compared its own shard
            known = torch.from_numpy(np.stack([np.isfinite(table), np.nan_to_num(table)])).to(self._head.device)
            torch.distributed.all_reduce(known)
            with np.errstate(invalid="ignore"):
                table = np.divide(known[1].cpu().numpy(), known[0].cpu().numpy())
        return dict(zip(RULES, table, strict=True)) if np.isfinite(table).any() else {}


def _head_alone(model: nn.Module, head: Head, optimizer: Any) -> bool:
    """Whether nothing but the head is trained, so that the features stay as they are."""
    own = {id(parameter) for parameter in head.layer.parameters()}
    trained = {id(parameter) for parameter in model.parameters() if parameter.requires_grad}
    groups = getattr(optimizer, "param_groups", None)
    moved = trained if groups is None else trained & {id(one) for group in groups for one in group["params"]}
    return moved <= own
