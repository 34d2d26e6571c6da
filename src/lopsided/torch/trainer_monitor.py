"""Base of the adapters for trainers: a monitor that is made when training starts, its records, and its report."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lopsided.core.parameters import taken_by
from lopsided.torch.monitor.epoch_record import EpochRecord
from lopsided.torch.monitor.monitor import Monitor
from torch import nn


class TrainerMonitor:
    """Keeps the arguments of `Monitor` until there is a model to watch."""

    monitor: Monitor | None = None
    _options: dict[str, Any]
    _report: Path | None

    def _keep(self, given: Mapping[str, Any], report: str | os.PathLike[str] | None) -> None:
        """Keep what was `given` and is a parameter of the monitor; None is what the trainer may know better."""
        self._options = {name: value for name, value in taken_by(Monitor, given).items() if value is not None}
        self._report = None if report is None else Path(report)

    def _watch(
        self, model: nn.Module, optimizer: Any, length: Mapping[str, int], loader: Any = None, done: int = 0
    ) -> None:
        """Make the monitor; `length` are the planned steps or epochs, where they are known, and `done` steps were taken
        before, by a training that is resumed."""
        self.monitor = Monitor(model, **({"optimizer": optimizer, **length} | self._options))
        self.monitor._counters.steps = self.monitor._counters.all_batches = done
        self.monitor._shown.behind(loader, self.monitor.head.classes)

    @property
    def records(self) -> list[EpochRecord]:
        """The epochs so far."""
        return [] if self.monitor is None else self.monitor.records

    def _finish(self) -> None:
        """Take the hooks off, and write the report where one was asked for."""
        if self.monitor is not None:
            self.monitor.close()
            if self._report is not None and self.monitor.records:
                self.monitor.report(self._report)
