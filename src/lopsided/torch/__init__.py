"""For people who train networks with PyTorch: watch imbalance at work, and mend it. Needs the extra [torch].

Each public name loads its module when it is first used, so that Lightning, Transformers and the loggers are imported
only by those who use them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lopsided.core.errors import MissingPackage

if TYPE_CHECKING:
    from lopsided.torch.checkpoint_pair import CheckpointComparison, compare_checkpoints
    from lopsided.torch.early_warnings import ImbalanceWarning
    from lopsided.torch.epoch_record import EpochRecord
    from lopsided.torch.lightning_callback import LightningMonitor
    from lopsided.torch.loggers import Logger, MLflowLogger, TensorBoardLogger, WandbLogger
    from lopsided.torch.monitor import Monitor
    from lopsided.torch.run_settings import RunSettings
    from lopsided.torch.transformers_callback import TransformersMonitor

# public name -> module that defines it
_HOME = {
    "CheckpointComparison": "lopsided.torch.checkpoint_pair",
    "EpochRecord": "lopsided.torch.epoch_record",
    "ImbalanceWarning": "lopsided.torch.early_warnings",
    "LightningMonitor": "lopsided.torch.lightning_callback",
    "Logger": "lopsided.torch.loggers",
    "MLflowLogger": "lopsided.torch.loggers",
    "Monitor": "lopsided.torch.monitor",
    "RunSettings": "lopsided.torch.run_settings",
    "TensorBoardLogger": "lopsided.torch.loggers",
    "TransformersMonitor": "lopsided.torch.transformers_callback",
    "WandbLogger": "lopsided.torch.loggers",
    "compare": "lopsided.torch.checkpoint_pair",  # as lopsided.compare, the name of the command
    "compare_checkpoints": "lopsided.torch.checkpoint_pair",
}

__all__ = [
    "CheckpointComparison",
    "EpochRecord",
    "ImbalanceWarning",
    "LightningMonitor",
    "Logger",
    "MLflowLogger",
    "Monitor",
    "RunSettings",
    "TensorBoardLogger",
    "TransformersMonitor",
    "WandbLogger",
    "compare_checkpoints",
]


def __getattr__(name: str) -> Any:
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module 'lopsided.torch' has no attribute {name!r}") from None
    try:
        return getattr(import_module(home), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingPackage("torch", f"lopsided.torch.{name}", "torch") from None


def __dir__() -> list[str]:
    return sorted(__all__)
