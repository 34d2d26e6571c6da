"""For people who train networks with PyTorch: watch what imbalance does, and correct it. Needs the extra [torch].

Each public name loads its module when it is first used, so that Lightning, Transformers and the loggers are imported
only by those who use them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lopsided.core.errors import MissingPackage

if TYPE_CHECKING:
    from lopsided.torch.before_training import recall_before as recall_before
    from lopsided.torch.checkpoints import CheckpointComparison as CheckpointComparison
    from lopsided.torch.checkpoints import compare_checkpoints as compare_checkpoints
    from lopsided.torch.lightning_callbacks import LightningMonitor as LightningMonitor
    from lopsided.torch.lightning_callbacks import LightningSamplerGuard as LightningSamplerGuard
    from lopsided.torch.loggers import Logger as Logger
    from lopsided.torch.loggers import MLflowLogger as MLflowLogger
    from lopsided.torch.loggers import TensorBoardLogger as TensorBoardLogger
    from lopsided.torch.loggers import WandbLogger as WandbLogger
    from lopsided.torch.mending.mend_model import MendedModel as MendedModel
    from lopsided.torch.mending.mend_model import mend as mend
    from lopsided.torch.monitor.early_warnings import ImbalanceWarning as ImbalanceWarning
    from lopsided.torch.monitor.epoch_record import EpochRecord as EpochRecord
    from lopsided.torch.monitor.monitor import Monitor as Monitor
    from lopsided.torch.monitor.run_settings import RunSettings as RunSettings
    from lopsided.torch.remedies.augmentation import GroupCrops as GroupCrops
    from lopsided.torch.remedies.augmentation import GroupNoise as GroupNoise
    from lopsided.torch.remedies.classifier_retraining import retrain_classifier as retrain_classifier
    from lopsided.torch.remedies.classifier_retraining import tau_normalise as tau_normalise
    from lopsided.torch.remedies.focal_loss import FocalLoss as FocalLoss
    from lopsided.torch.remedies.group_dro_loss import GroupDROLoss as GroupDROLoss
    from lopsided.torch.remedies.group_whitening import GroupWhitening as GroupWhitening
    from lopsided.torch.remedies.label_lookup import dataset_labels as dataset_labels
    from lopsided.torch.remedies.ldam_loss import LDAMLoss as LDAMLoss
    from lopsided.torch.remedies.logit_adjusted import BalancedSoftmaxLoss as BalancedSoftmaxLoss
    from lopsided.torch.remedies.logit_adjusted import LogitAdjustedLoss as LogitAdjustedLoss
    from lopsided.torch.remedies.logit_adjusted import PostHocAdjustment as PostHocAdjustment
    from lopsided.torch.remedies.oversampling_sampler import OversamplingSampler as OversamplingSampler
    from lopsided.torch.remedies.oversampling_sampler import check_loader as check_loader
    from lopsided.torch.remedies.weighted_loss import WeightedCrossEntropy as WeightedCrossEntropy
    from lopsided.torch.transformers_callbacks import TransformersMonitor as TransformersMonitor
    from lopsided.torch.transformers_callbacks import TransformersSamplerGuard as TransformersSamplerGuard

# module -> the public names that it defines; `compare`, as in `lopsided.compare`, is the name of the command
_NAMES = {
    "before_training": ("recall_before",),
    "checkpoints": ("CheckpointComparison", "compare", "compare_checkpoints"),
    "lightning_callbacks": ("LightningMonitor", "LightningSamplerGuard"),
    "loggers": ("Logger", "MLflowLogger", "TensorBoardLogger", "WandbLogger"),
    "mending.mend_model": ("MendedModel", "mend"),
    "monitor.early_warnings": ("ImbalanceWarning",),
    "monitor.epoch_record": ("EpochRecord",),
    "monitor.monitor": ("Monitor",),
    "monitor.run_settings": ("RunSettings",),
    "remedies.augmentation": ("GroupCrops", "GroupNoise"),
    "remedies.group_dro_loss": ("GroupDROLoss",),
    "remedies.group_whitening": ("GroupWhitening",),
    "remedies.label_lookup": ("dataset_labels",),
    "remedies.classifier_retraining": ("retrain_classifier", "tau_normalise"),
    "remedies.focal_loss": ("FocalLoss",),
    "remedies.ldam_loss": ("LDAMLoss",),
    "remedies.logit_adjusted": ("BalancedSoftmaxLoss", "LogitAdjustedLoss", "PostHocAdjustment"),
    "remedies.oversampling_sampler": ("OversamplingSampler", "check_loader"),
    "remedies.weighted_loss": ("WeightedCrossEntropy",),
    "transformers_callbacks": ("TransformersMonitor", "TransformersSamplerGuard"),
}
_HOME = {name: f"lopsided.torch.{module}" for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOME.keys() - {"compare"})


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
