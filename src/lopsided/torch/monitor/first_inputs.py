"""A forecast before training from the inputs that the model is given in its first epoch: nobody has to ask for it.

A sample of the inputs is kept to the end of the first epoch, or of a few that together show each example once, and
compared by the simple rules of `measure.class_overlap`. Of a network whose head alone is trained, the features are
compared. There is no such forecast, and a note says why, where examples have several labels or mixed ones, where
examples are repeated (each would be its own nearest neighbour), where the inputs are no rows of one kind, and for more
than MOST_CLASSES classes, of which a sample shows too little.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import torch
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.class_overlap import class_overlap
from lopsided.theory.recall_law import recall_before_training
from lopsided.torch.before_training import planned_training
from lopsided.torch.comparable_rows import IncomparableError, RowSample
from lopsided.torch.monitor.head import Head
from lopsided.torch.monitor.run_settings import RunSettings
from lopsided.torch.monitor.shown_counts import ShownCounts
from torch import nn

MOST_CLASSES = 2000
GROWN = 1.5  # times as many examples as at the last comparison are worth another one
MOST_REPEATED = 0.1  # of the rows: few data sets have more copies, and samplers that repeat show more
RULES = ("nearest_mean", "nearest_neighbour", "linear")


class FirstInputs:
    """Collects until it is `done`; `rates` are the recalls of every class by the three rules, by name, once known."""

    def __init__(self, model: nn.Module, head: Head, optimizer: Any, counts: ShownCounts, *, wanted: bool) -> None:
        self._model, self._head, self._optimizer, self._counts = model, head, optimizer, counts
        self.done = not wanted or head.classes > MOST_CLASSES
        self._closed = self.done  # with several processes, for all of them
        self._why = f"there are more than {MOST_CLASSES:,} classes" if wanted and self.done else ""
        self.shown = 0  # training examples so far
        self._compared = 0  # of them, when they were compared
        self.rates: dict[str, FloatArray] = {}
        self.start_over()

    def start_over(self) -> None:
        """Forget the sample; rates that are known already stay as they are, as a new sample would be smaller."""
        self.done = self.done or bool(self.rates)
        self._sample = RowSample(self._model)
        self._head_alone: bool | None = None

    def restored(self, known: dict[str, FloatArray]) -> None:
        """A state was loaded; what was `known` before it holds still, as the data are the same."""
        self.rates = self.rates or known
        self.start_over()
        self._closed = self.done

    @property
    def notes(self) -> tuple[str, ...]:
        """Why the inputs were not compared, where they were to be."""
        if not self._why or self.rates:
            return ()
        return (f"the inputs were not compared: {self._why}; early forecasts are better with before= (training data)",)

    def add(self, inputs: Sequence[torch.Tensor], features: torch.Tensor, labels: torch.Tensor) -> None:
        """A batch of the training; `features` are the head's inputs."""
        if self.done:
            return
        try:
            self._add(inputs, features, labels)
        except IncomparableError as error:
            self._give_up(str(error))
        except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
            # watching never stops a training
            self._give_up(f"their tensors cannot be read ({type(error).__name__})")

    def _add(self, inputs: Sequence[torch.Tensor], features: torch.Tensor, labels: torch.Tensor) -> None:
        if self._head_alone is None:
            self._head_alone = _head_alone(self._model, self._head, self._optimizer)
        given = labels.reshape(-1) if labels.ndim == 2 and labels.shape[1] == 1 else labels
        if given.ndim != 1 or given.dtype == torch.bool:
            raise IncomparableError("the labels are not one code an example")
        beside = [one for one in inputs[1:] if not self._is_label(one, given)]
        rows = [features] if self._head_alone else [*inputs[:1], *beside]
        if not rows:
            raise IncomparableError("the model was not called itself, or was given no tensor that it leaves as it is")
        if any(len(one) != len(given) for one in rows):
            raise IncomparableError("they have other numbers of rows than the labels")
        codes = given.detach().cpu().numpy().astype(np.int64)
        known = (codes >= 0) & (codes < self._head.classes)
        if (told := self._counts.told) is not None:  # what is more than there is, is shown again
            reached = np.pad(self._sample.counts, (0, self._head.classes - self._sample.counts.size))
            known[known] &= (reached < told)[codes[known]]
        if not known.all():
            rows, codes = [one[torch.from_numpy(known).to(one.device)] for one in rows], codes[known]
        self._sample.add(rows, codes)

    def _is_label(self, one: torch.Tensor, labels: torch.Tensor) -> bool:
        """Whether a model was given the labels beside its inputs: as codes from any number on, or as rows in which the
        label's column is the largest. A batch of one class does not tell."""
        own = labels.to(one.device)
        if own.numel() == 0 or bool((own == own[0]).all()):
            return False
        if one.numel() == own.numel():
            apart = one.detach().reshape(-1) - own
            return bool((apart == apart[0]).all())
        if one.ndim != 2 or one.shape[1] not in (self._head.classes, self._head.classes + 1):
            return False
        return bool((one.detach().argmax(dim=1) == own).all())

    def _give_up(self, why: str) -> None:
        self._why, self.done = self._why or why, True
        self.start_over()

    def end_epoch(self, labels: IntArray | None, *, usable: bool, all_reduce: bool) -> None:
        """Compare what was shown if it is new; `labels` are the epoch's training examples of every class, and `usable`
        says that each has one label and counts once."""
        if self._closed or labels is None or not labels.sum():
            return
        if not usable:
            self._give_up("examples have mixed labels or several, or a sampler repeats them")
        told, latest = self._counts.told, int(labels.sum())
        self.shown += latest
        complete = self.done or told is None or self.shown + latest > told.sum()  # another epoch would repeat examples
        due = complete or self.shown >= GROWN * self._compared
        failed = bool(self._why)
        if all_reduce:  # all processes decide alike, or one would wait for the others
            flags = torch.tensor([failed, complete, due], dtype=torch.float64, device=self._head.device)
            torch.distributed.all_reduce(flags)
            failed, complete, due = (flags > 0).tolist()
        if failed and not self._why:
            self._give_up("another process could not compare its own")
        if due and not failed:
            if found := self._compare(all_reduce=all_reduce):
                self.rates, self._compared = found, self.shown
            else:
                complete = True
        if complete or failed:
            self._closed = self.done = True
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
        """The recalls by the rules; none where too many rows stand in the sample twice."""
        rows, codes = self._sample.taken()
        table = np.full((len(RULES), self._head.classes), np.nan)
        repeated = _repeated(rows, codes)
        if repeated <= MOST_REPEATED and codes.size > 1:
            try:
                table[:] = class_overlap(_filled(rows), codes, classes=self._head.classes).rates
            except (InputError, ValueError) as error:  # watching never stops a training
                self._why = self._why or f"the rules failed on them ({type(error).__name__})"
        elif codes.size:
            self._why = self._why or f"{repeated:.0%} of the examples were shown more than once"
        if all_reduce:  # each process has compared its own shard
            known = torch.from_numpy(np.stack([np.isfinite(table), np.nan_to_num(table)])).to(self._head.device)
            torch.distributed.all_reduce(known)
            with np.errstate(invalid="ignore"):
                table = np.divide(known[1].cpu().numpy(), known[0].cpu().numpy())
        return dict(zip(RULES, table, strict=True)) if np.isfinite(table).any() else {}


def _repeated(rows: NDArray[np.float32], codes: IntArray) -> float:
    """The share of rows that are copies of others of their class."""
    different = {(int(code), row.tobytes()) for code, row in zip(codes, rows, strict=True)}
    return 1.0 - len(different) / max(codes.size, 1)


def _filled(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Means of the columns in place of what is not finite."""
    missing = ~np.isfinite(rows)
    if not missing.any():
        return rows
    sums = np.where(missing, 0.0, rows).sum(axis=0, dtype=np.float64)
    return np.where(missing, sums / np.maximum((~missing).sum(axis=0), 1), rows).astype(np.float32)


def _head_alone(model: nn.Module, head: Head, optimizer: Any) -> bool:
    """Whether nothing but the head is trained, so that the features stay as they are."""
    own = {id(parameter) for parameter in head.layer.parameters()}
    trained = {id(parameter) for parameter in model.parameters() if parameter.requires_grad}
    groups = getattr(optimizer, "param_groups", None)
    moved = trained if groups is None else trained & {id(one) for group in groups for one in group["params"]}
    return moved <= own
