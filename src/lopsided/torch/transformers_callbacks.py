"""For the Hugging Face Trainer: `Trainer(..., callbacks=[TransformersMonitor(), TransformersSamplerGuard()])`.

The models take their labels as a keyword of forward, which is where the monitor reads them. With label smoothing the
Trainer removes them first, which raises an InputError; with `labels=None` you pass them to `monitor.update` yourself.
An evaluation that the Trainer runs after an epoch belongs to that epoch's record; of several in an epoch, the latest
counts. Of several data sets the first is held out, and the others are the phases "evaluation 1", "evaluation 2", ...
AdamW, the Trainer's default, uses decoupled weight decay, so there is no forecast of merging classes, and the record
says why; recall is forecast all the same.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

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
        before: RecallOutlook | DataLoader[Any] | Literal[False] | None = None,
    ) -> None:
        self._keep(locals(), report)
        self._labels, self._owed, self._evaluated = labels, False, 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Attach the hooks."""
        if self._labels is not None and args.label_smoothing_factor:
            raise InputError(
                "labels among the inputs of the model",
                f"label_smoothing_factor={args.label_smoothing_factor}, with which the Trainer removes them",
                "smooth in the model's own loss, or make TransformersMonitor(labels=None) and call its "
                "monitor.update(labels) in compute_loss",
            )
        length = {"steps": state.max_steps} if state.max_steps > 0 else {}
        self._watch(kwargs["model"], kwargs.get("optimizer"), length, kwargs.get("train_dataloader"), state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The latest evaluation of an epoch counts: forget the one before."""
        if self.monitor is not None and control.should_evaluate:
            self.monitor._phases.start_over(False)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Close the epoch, after the evaluations when some follow."""
        self._owed = True
        self.on_step_end(args, state, control)
        if not control.should_evaluate:
            self._close_epoch(state)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The first data set that is evaluated is held out; others are phases of their own."""
        self._evaluated += 1
        if self.monitor is not None:
            self.monitor.start_phase(f"evaluation {self._evaluated}")

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Close an epoch after its evaluations."""
        self._close_epoch(state)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The same."""
        self._close_epoch(state)

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Go on with training, after an evaluation perhaps."""
        if self._evaluated:
            self._close_epoch(state)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End an open epoch, write the report if one was asked for, and remove the hooks."""
        self._close_epoch(state)
        self._finish()

    def _close_epoch(self, state: Any) -> None:
        """End an epoch that is owed its record; what follows is training again."""
        self._evaluated, owed, self._owed = 0, self._owed, False
        if self.monitor is None:
            return
        self.monitor.start_phase("train")
        if not owed:
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
