"""How long the training will be, and how much of it is done.

The end is given by `epochs=` or `steps=`, whichever comes first, else by the learning-rate schedule, if it has an end:
OneCycleLR, CosineAnnealingLR, PolynomialLR, a LinearLR that falls, these in a SequentialLR or a ChainedScheduler, and
the schedules of Hugging Face. A schedule may count epochs or steps: one that has moved no more than once an epoch
counts epochs.
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from lopsided.core.errors import InputError
from lopsided.core.validation import check_count


class TrainingPlan:
    """Epochs, optimizer steps or a schedule; each may be unknown."""

    def __init__(self, epochs: int | None, steps: int | None, scheduler: Any = None) -> None:
        self._epochs = None if epochs is None else check_count(epochs, "epochs")
        self._steps = None if steps is None else check_count(steps, "steps")
        self._scheduler = _unwrapped(scheduler)
        self._moves = schedule_length(self._scheduler)
        self.epochs_done = 0
        self.batches_an_epoch = 0

    @property
    def known(self) -> bool:
        """Whether the length of the training is planned."""
        return bool(self._epochs or self._steps or self._moves)

    def end_epoch(self, batches: int) -> None:
        """An epoch of so many training batches is over; one that only evaluated is none of the plan's."""
        self.epochs_done += batches > 0
        self.batches_an_epoch = max(self.batches_an_epoch, batches)

    def seen(self, steps: int, batches: int) -> float | None:
        """The share of the training that is done after `steps` steps, `batches` of them in the running epoch."""
        epochs = self.epochs_done + min(batches / (self.batches_an_epoch or math.inf), 1.0)
        shares = [epochs / self._epochs] if self._epochs else []
        if self._steps:
            shares.append(steps / self._steps)
        if self._moves and not shares:
            moved = int(self._scheduler.last_epoch)
            shares.append((epochs if moved <= self.epochs_done else moved) / self._moves)
        return min(max(shares), 1.0) if shares else None

    def steps(self, done: int, seen: float | None) -> int | None:
        """Steps of the whole training, of which `done` are the share `seen`; None where its length is not known."""
        return self._steps or (max(round(done / seen), 1) if seen else None)


def schedule_length(scheduler: Any) -> int | None:
    """Moves of a schedule until it ends; None for one that has no end, as StepLR, and for none at all."""
    if scheduler is None:
        return None
    kinds = {kind.__name__ for kind in type(scheduler).__mro__}
    found: Any = None
    if "CosineAnnealingLR" in kinds:
        found = scheduler.T_max
    elif "OneCycleLR" in kinds:
        found = scheduler.total_steps
    elif "PolynomialLR" in kinds or ("LinearLR" in kinds and scheduler.end_factor < scheduler.start_factor):
        found = scheduler.total_iters
    elif "SequentialLR" in kinds:
        last = schedule_length(scheduler._schedulers[-1])
        found = None if last is None else scheduler._milestones[-1] + last
    elif "ChainedScheduler" in kinds:
        found = max((schedule_length(part) or 0 for part in scheduler._schedulers), default=0)
    elif "LambdaLR" in kinds:
        rule = scheduler.lr_lambdas[0]
        keywords: Mapping[str, Any] = rule.keywords if isinstance(rule, partial) else {}
        found = keywords.get("num_training_steps")
    return int(found) if found else None


def _unwrapped(scheduler: Any) -> Any:
    inner = getattr(scheduler, "scheduler", scheduler)  # Accelerate wraps the scheduler
    if inner is not None and not hasattr(inner, "last_epoch") and not hasattr(inner, "step"):
        raise InputError("a learning-rate scheduler of PyTorch", type(scheduler).__name__, "give epochs= or steps=")
    return inner
