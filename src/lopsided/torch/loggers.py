"""One protocol for training logs, `log(values, step)`, and adapters; each package is imported only when it is used.

A Weights & Biases run satisfies the protocol as it is, and so does any object with such a method.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from lopsided.core.errors import MissingPackage


@runtime_checkable
class Logger(Protocol):
    """Takes named numbers at a step."""

    def log(self, values: Mapping[str, float], step: int) -> object:
        """Keep the numbers of one step."""
        ...


class TensorBoardLogger:
    """Write the numbers of a run as TensorBoard event files.

    Parameters
    ----------
    target : str, path or SummaryWriter
        A directory, or a writer of your own, which you close yourself.
    """

    def __init__(self, target: Any) -> None:
        self._owned = isinstance(target, (str, os.PathLike))
        if self._owned:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                raise MissingPackage("tensorboard", "TensorBoardLogger") from None
            target = SummaryWriter(os.fspath(target))
        self.writer = target

    def log(self, values: Mapping[str, float], step: int) -> None:
        """One scalar per name."""
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)
        self.writer.flush()

    def close(self) -> None:
        """Close the writer that was made here."""
        if self._owned:
            self.writer.close()


class MLflowLogger:
    """Write the numbers of a run to MLflow.

    Parameters
    ----------
    run_id : str, optional
        The MLflow run. By default, the active one.
    """

    def __init__(self, run_id: str | None = None) -> None:
        try:
            import mlflow
        except ImportError:
            raise MissingPackage("mlflow", "MLflowLogger") from None
        self._mlflow, self._run_id = mlflow, run_id

    def log(self, values: Mapping[str, float], step: int) -> None:
        """All numbers in one call; MLflow allows fewer characters in names, others become an underscore."""
        clean = {re.sub(r"[^\w. /:-]", "_", name): value for name, value in values.items()}
        self._mlflow.log_metrics(clean, step=step, run_id=self._run_id)


class WandbLogger:
    """Write the numbers of a run to Weights & Biases.

    Parameters
    ----------
    run : wandb run, optional
        The run to write to. By default, a new one is started, and `close` finishes it.
    settings : keyword arguments
        Passed to `wandb.init` if a run is started.
    """

    def __init__(self, run: Any = None, **settings: Any) -> None:
        self._owned = run is None
        if run is None:
            try:
                import wandb
            except ImportError:
                raise MissingPackage("wandb", "WandbLogger") from None
            run = wandb.init(**settings)
        self.run = run

    def log(self, values: Mapping[str, float], step: int) -> None:
        """All numbers in one call."""
        self.run.log(dict(values), step=step)

    def close(self) -> None:
        """Finish the run that was started here."""
        if self._owned:
            self.run.finish()
