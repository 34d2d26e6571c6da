"""For the Hugging Face Trainer: `Trainer(..., callbacks=[TransformersMonitor(), TransformersSamplerGuard()])`.

The models take their labels as a keyword of forward, which is where the monitor reads them. With label smoothing the
Trainer removes them first, which raises an InputError; with `labels=None` you pass them to `monitor.update` yourself.
An evaluation that the Trainer runs after an epoch belongs to that epoch's record. AdamW, the Trainer's default, uses
decoupled weight decay, so there is no forecast of merging classes, and the record says why; recall is forecast all the
same.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torch.utils.data import DataLoader

from lopsided.core.errors import InputError, MissingPackage
from lopsided.core.parameters import documented_by
from lopsided.torch.loggers import Logger
from lopsided.torch.monitor.epoch_counters import NothingSeen
from lopsided.torch.monitor.monitor import Counts
from lopsided.torch.monitor.monitor_parameters import MONITOR_PARAMETERS
from lopsided.torch.monitor.recall_outlook import RecallOutlook
from lopsided.torch.monitor.run_settings import RunSettings
from lopsided.torch.remedies.oversampling_sampler import check_loader
from lopsided.torch.trainer_monitor import TrainerMonitor
from torch import nn

try:
    from transformers import TrainerCallback
except ImportError:
    raise MissingPackage("transformers", "Transformers callbacks") from None


@documented_by(MONITOR_PARAMETERS)
class TransformersMonitor(TrainerMonitor, TrainerCallback):  # type: ignore[misc]  # Transformers is optional and untyped here
    """Watches the model of a Trainer while it is trained.

    Parameters
    ----------
    labels : str or None, default "labels"
        The keyword of the model's forward that holds the labels; with None you give them to `monitor.update`.
    report : path, optional
        The page (.html) or picture (.png) to write when the training ends.
    {inputs}
    """

    def __init__(
        self,
        *,
        labels: str | None = "labels",
        report: str | os.PathLike[str] | None = None,
        head: str | nn.Module | None = None,
        features: str | nn.Module | None = None,
        loss: nn.Module | None = None,
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
        before: RecallOutlook | DataLoader[Any] | None = None,
    ) -> None:
        self._keep(locals(), report)
        self._labels, self._owed = labels, False

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Attach the hooks."""
        if self._labels is not None and args.label_smoothing_factor:
            raise InputError(
                "labels among the inputs of the model",
                f"label_smoothing_factor={args.label_smoothing_factor}, with which the Trainer removes them",
                "smooth in the model's own loss, or make TransformersMonitor(labels=None) and call its "
                "monitor.update(labels) in compute_loss",
            )
        steps = state.max_steps if state.max_steps > 0 else None
        self._watch(kwargs["model"], kwargs.get("optimizer"), steps, kwargs.get("train_dataloader"))

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Close the epoch, after the evaluation when one follows."""
        self._owed = True
        if not control.should_evaluate:
            self._close_epoch(state)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Close an epoch after its evaluation."""
        if self._owed:
            self._close_epoch(state)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End an open epoch, write the report if one was asked for, and remove the hooks."""
        if self._owed:
            self._close_epoch(state)
        self._finish()

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
