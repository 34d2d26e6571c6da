"""For Lightning: `Trainer(callbacks=[LightningMonitor(), LightningSamplerGuard()])`.

`labels` finds the labels in each batch, by default the second entry. Training batches count as training, validation
batches of the first loader as held out, and those of other loaders as the phases "validation 1", ...; the sanity check
before training is ignored. The numbers go to the trainer's logger.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from torch.utils.data import DataLoader

from lopsided.core.errors import InputError, MissingPackage
from lopsided.core.parameters import documented_by
from lopsided.torch.loggers import Logger
from lopsided.torch.monitor.head import find_head, named_module, own_weight
from lopsided.torch.monitor.monitor import Counts
from lopsided.torch.monitor.monitor_parameters import MONITOR_PARAMETERS
from lopsided.torch.monitor.recall_outlook import RecallOutlook
from lopsided.torch.monitor.run_settings import RunSettings
from lopsided.torch.remedies.oversampling_sampler import check_loader
from lopsided.torch.trainer_monitor import TrainerMonitor
from torch import nn

try:
    from lightning.pytorch import Callback
except ImportError:
    try:
        from pytorch_lightning import Callback
    except ImportError:
        raise MissingPackage("lightning", "Lightning callbacks") from None


def second_entry(batch: Any) -> Any:
    """Labels of a batch (inputs, labels, ...)."""
    return batch[1]


@documented_by(MONITOR_PARAMETERS)
class LightningMonitor(TrainerMonitor, Callback):  # type: ignore[misc]  # Lightning is optional and untyped here
    """Watches a LightningModule while it is trained.

    Parameters
    ----------
    labels : callable, default the second entry
        The labels of a batch: labels(batch).
    groups : callable, optional
        The codes of the groups of a batch: groups(batch).
    module : str, optional
        The submodule to watch, by its name. By default, all of the LightningModule.
    report : path, optional
        The page (.html) or picture (.png) to write when the training ends.
    {inputs}
    """

    def __init__(
        self,
        *,
        labels: Callable[[Any], Any] = second_entry,
        groups: Callable[[Any], Any] | None = None,
        module: str | None = None,
        report: str | os.PathLike[str] | None = None,
        head: str | nn.Module | None = None,
        features: str | nn.Module | None = None,
        loss: nn.Module | None = None,
        optimizer: Any = None,
        settings: RunSettings | Mapping[str, Any] | None = None,
        counts: Counts | None = None,
        names: Sequence[str] | None = None,
        minority: Iterable[int] | None = None,
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
        self._keep({**locals(), "labels": None, "groups": None}, report)
        super().__init__()
        self._labels, self._groups, self._module = labels, groups, module

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Attach the hooks; the optimizer exists by now."""
        watched = pl_module if self._module is None else named_module(pl_module, self._module)
        optimizers = trainer.optimizers
        planned = trainer.estimated_stepping_batches  # infinite where an epoch has no known length, or there is no end
        length = {"steps": int(planned)} if 0 < planned < math.inf else {}
        if not length and (trainer.max_epochs or 0) > 0:
            length = {"epochs": trainer.max_epochs}
        loaders = trainer.fit_loop._combined_loader.flattened
        loader = loaders[0] if len(loaders) == 1 else None
        self._watch(watched, self._of_head(watched, optimizers), length, loader, trainer.global_step)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Pass on the labels of a training batch."""
        self._update(batch)

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Pass on the labels of a validation batch."""
        if not trainer.sanity_checking:
            self._update(batch)

    def on_validation_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Separate the loaders: the first is held out, the others are phases of their own."""
        if self.monitor is not None and not trainer.sanity_checking:
            name = f"validation {dataloader_idx}"
            if batch_idx == 0:  # the latest validation of an epoch counts
                self.monitor._phases.start_over(name if dataloader_idx else False)
            self.monitor.start_phase(name if dataloader_idx else "held_out")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Return to the training phase."""
        if self.monitor is not None:
            self.monitor.start_phase("train")

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Close the epoch; Lightning has validated by now."""
        if self.monitor is None:
            return
        record = self.monitor.end_epoch(step=trainer.global_step)
        numbers = {f"lopsided/{name}": value for name, value in record.scalars().items()}
        for logger in trainer.loggers:
            logger.log_metrics(numbers, step=trainer.global_step)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Write the report if one was asked for, and remove the hooks."""
        self._finish()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Remove the hooks when the training stops early."""
        self._finish()

    def _of_head(self, model: nn.Module, optimizers: Sequence[Any]) -> Any:
        """Of several optimizers the one that trains the head."""
        if len(optimizers) < 2 or "optimizer" in self._options:
            return optimizers[0] if optimizers else None
        weight = own_weight(find_head(model, self._options.get("head")).layer)
        groups = [(one, group) for one in optimizers for group in one.param_groups]
        return next((one for one, group in groups if any(part is weight for part in group["params"])), optimizers[0])

    def _update(self, batch: Any) -> None:
        if self.monitor is None:
            return
        try:
            labels = self._labels(batch)
            groups = None if self._groups is None else self._groups(batch)
        except (IndexError, KeyError, TypeError):
            raise InputError(
                "labels in each batch",
                f"a batch of type {type(batch).__name__}",
                "give labels=lambda batch: ...",
            ) from None
        self.monitor.update(labels, groups)


class LightningSamplerGuard(Callback):  # type: ignore[misc]
    """Checks that every training loader draws from an OversamplingSampler, before the first step."""

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Lightning has built its loaders by now."""
        for loader in trainer.fit_loop._combined_loader.flattened:
            check_loader(loader)
