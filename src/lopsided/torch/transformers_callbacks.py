"""For the Hugging Face Trainer: `Trainer(..., callbacks=[TransformersMonitor(), TransformersSamplerGuard()])`.

The models take their labels as a keyword of forward, which is where the monitor reads them. With label smoothing the
Trainer removes them first, which raises an InputError; with `labels=None` you pass them to `monitor.update` yourself.
An evaluation that the Trainer runs after an epoch belongs to that epoch's record. AdamW, the Trainer's default, uses
decoupled weight decay, so the forecasts of merging decline and say so; the forecasts of recall do not.
"""

import os
from pathlib import Path
from typing import Any

from lopsided.core.errors import InputError, MissingPackage
from lopsided.torch.monitor.epoch_counters import NothingSeen
from lopsided.torch.monitor.epoch_record import EpochRecord
from lopsided.torch.monitor.monitor import Monitor
from lopsided.torch.remedies.oversampling_sampler import check_loader

try:
    from transformers import TrainerCallback
except ImportError:
    raise MissingPackage("transformers", "Transformers callbacks", "torch") from None


class TransformersMonitor(TrainerCallback):  # type: ignore[misc]  # Transformers is optional and untyped here
    """Watches the trainer's model; arguments are those of `Monitor`, `labels` the keyword that holds the labels."""

    def __init__(
        self, *, labels: str | None = "labels", report: str | os.PathLike[str] | None = None, **options: Any
    ) -> None:
        self._labels, self._options = labels, options
        self._report = None if report is None else Path(report)
        self._owed = False
        self.monitor: Monitor | None = None

    @property
    def records(self) -> list[EpochRecord]:
        """The epochs so far."""
        return [] if self.monitor is None else self.monitor.records

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Attach the hooks."""
        if self._labels is not None and args.label_smoothing_factor:
            raise InputError(
                "labels among the inputs of the model",
                f"label_smoothing_factor={args.label_smoothing_factor}, with which the Trainer removes them",
                "smooth in the model's own loss, or make TransformersMonitor(labels=None) and call its "
                "monitor.update(labels) in compute_loss",
            )
        known: dict[str, Any] = {
            "labels": self._labels,
            "optimizer": kwargs.get("optimizer"),
            "steps": state.max_steps if state.max_steps > 0 else None,
        }
        self.monitor = Monitor(kwargs["model"], **(known | self._options))

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Close the epoch, after the evaluation when one follows."""
        self._owed = True
        if not control.should_evaluate:
            self._close_epoch(state)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Close the epoch that waited for its evaluation."""
        if self._owed:
            self._close_epoch(state)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End an open epoch, write the report if one was asked for, and remove the hooks."""
        if self.monitor is None:
            return
        if self._owed:
            self._close_epoch(state)
        self.monitor.close()
        if self._report is not None and self.monitor.records:
            self.monitor.report(self._report)

    def _close_epoch(self, state: Any) -> None:
        self._owed = False
        if self.monitor is None:
            return
        try:
            self.monitor.end_epoch(step=state.global_step)
        except NothingSeen:
            raise InputError(
                f"labels in the keyword {self._labels!r} of the model's forward",
                "none in this epoch",
                "name the keyword with labels=, or make TransformersMonitor(labels=None) and call its "
                "monitor.update(labels) in compute_loss",
            ) from None


class TransformersSamplerGuard(TrainerCallback):  # type: ignore[misc]
    """Stops a run that does not draw from an OversamplingSampler. The Trainer makes its own sampler unless overridden:

    class Oversampled(transformers.Trainer):
        def _get_train_sampler(self, train_dataset=None):
            return sampler  # made with shard=False: Accelerate divides the batches
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The Trainer has built its loader by now."""
        check_loader(kwargs["train_dataloader"])
