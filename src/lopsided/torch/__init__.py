"""For people who train networks with PyTorch: watch imbalance at work, and mend it. Needs the extra [torch].

Each public name loads its module when it is first used, so that Lightning, Transformers and the loggers are imported
only by those who use them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lopsided.core.errors import MissingPackage

if TYPE_CHECKING:
    from lopsided.torch.checkpoint_pair import CheckpointComparison, compare_checkpoints
    from lopsided.torch.lightning_callback import LightningMonitor
    from lopsided.torch.lightning_sampler_guard import LightningSamplerGuard
    from lopsided.torch.loggers import Logger, MLflowLogger, TensorBoardLogger, WandbLogger
    from lopsided.torch.monitor.early_warnings import ImbalanceWarning
    from lopsided.torch.monitor.epoch_record import EpochRecord
    from lopsided.torch.monitor.monitor import Monitor
    from lopsided.torch.monitor.run_settings import RunSettings
    from lopsided.torch.remedies.augmentation import GroupCrops, GroupNoise
    from lopsided.torch.remedies.group_dro_loss import GroupDROLoss
    from lopsided.torch.remedies.group_whitening import GroupWhitening
    from lopsided.torch.remedies.label_lookup import dataset_labels
    from lopsided.torch.remedies.logit_adjusted import LogitAdjustedLoss, PostHocAdjustment
    from lopsided.torch.remedies.oversampling_sampler import OversamplingSampler
    from lopsided.torch.remedies.sampler_guard import check_loader
    from lopsided.torch.remedies.weighted_loss import WeightedCrossEntropy
    from lopsided.torch.transformers_callback import TransformersMonitor
    from lopsided.torch.transformers_sampler_guard import TransformersSamplerGuard

# public name -> module that defines it
_HOME = {
    "CheckpointComparison": "lopsided.torch.checkpoint_pair",
    "EpochRecord": "lopsided.torch.monitor.epoch_record",
    "GroupCrops": "lopsided.torch.remedies.augmentation",
    "GroupDROLoss": "lopsided.torch.remedies.group_dro_loss",
    "GroupNoise": "lopsided.torch.remedies.augmentation",
    "GroupWhitening": "lopsided.torch.remedies.group_whitening",
    "ImbalanceWarning": "lopsided.torch.monitor.early_warnings",
    "LightningMonitor": "lopsided.torch.lightning_callback",
    "LightningSamplerGuard": "lopsided.torch.lightning_sampler_guard",
    "Logger": "lopsided.torch.loggers",
    "LogitAdjustedLoss": "lopsided.torch.remedies.logit_adjusted",
    "MLflowLogger": "lopsided.torch.loggers",
    "Monitor": "lopsided.torch.monitor.monitor",
    "OversamplingSampler": "lopsided.torch.remedies.oversampling_sampler",
    "PostHocAdjustment": "lopsided.torch.remedies.logit_adjusted",
    "RunSettings": "lopsided.torch.monitor.run_settings",
    "TensorBoardLogger": "lopsided.torch.loggers",
    "TransformersMonitor": "lopsided.torch.transformers_callback",
    "TransformersSamplerGuard": "lopsided.torch.transformers_sampler_guard",
    "WandbLogger": "lopsided.torch.loggers",
    "WeightedCrossEntropy": "lopsided.torch.remedies.weighted_loss",
    "check_loader": "lopsided.torch.remedies.sampler_guard",
    "compare": "lopsided.torch.checkpoint_pair",  # as lopsided.compare, the name of the command
    "compare_checkpoints": "lopsided.torch.checkpoint_pair",
    "dataset_labels": "lopsided.torch.remedies.label_lookup",
}

__all__ = [
    "CheckpointComparison",
    "EpochRecord",
    "GroupCrops",
    "GroupDROLoss",
    "GroupNoise",
    "GroupWhitening",
    "ImbalanceWarning",
    "LightningMonitor",
    "LightningSamplerGuard",
    "Logger",
    "LogitAdjustedLoss",
    "MLflowLogger",
    "Monitor",
    "OversamplingSampler",
    "PostHocAdjustment",
    "RunSettings",
    "TensorBoardLogger",
    "TransformersMonitor",
    "TransformersSamplerGuard",
    "WandbLogger",
    "WeightedCrossEntropy",
    "check_loader",
    "compare_checkpoints",
    "dataset_labels",
]


def __getattr__(name: str) -> Any:
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module 'lopsided.torch' has no attribute {name!r}") from None
    try:
        return getattr(import_module(home), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        raise MissingPackage("torch", f"lopsided.torch.{name}", "torch") from None


def __dir__() -> list[str]:
    return sorted(__all__)
