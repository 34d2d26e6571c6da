"""For people who train networks with PyTorch: watch imbalance at work, and mend it. Needs the extra [torch].

Each public name loads its module when it is first used, so that Lightning, Transformers and the loggers are imported
only by those who use them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lopsided.core.errors import MissingPackage

if TYPE_CHECKING:
    from lopsided.torch.augmentation import GroupCrops, GroupNoise
    from lopsided.torch.group_dro_loss import GroupDROLoss
    from lopsided.torch.group_whitening import GroupWhitening
    from lopsided.torch.label_lookup import dataset_labels
    from lopsided.torch.lightning_sampler_guard import LightningSamplerGuard
    from lopsided.torch.logit_adjusted import LogitAdjustedLoss, PostHocAdjustment
    from lopsided.torch.oversampling_sampler import OversamplingSampler
    from lopsided.torch.sampler_guard import check_loader
    from lopsided.torch.transformers_sampler_guard import TransformersSamplerGuard
    from lopsided.torch.weighted_loss import WeightedCrossEntropy

# public name -> module that defines it
_HOME = {
    "GroupCrops": "lopsided.torch.augmentation",
    "GroupDROLoss": "lopsided.torch.group_dro_loss",
    "GroupNoise": "lopsided.torch.augmentation",
    "GroupWhitening": "lopsided.torch.group_whitening",
    "LightningSamplerGuard": "lopsided.torch.lightning_sampler_guard",
    "LogitAdjustedLoss": "lopsided.torch.logit_adjusted",
    "OversamplingSampler": "lopsided.torch.oversampling_sampler",
    "PostHocAdjustment": "lopsided.torch.logit_adjusted",
    "TransformersSamplerGuard": "lopsided.torch.transformers_sampler_guard",
    "WeightedCrossEntropy": "lopsided.torch.weighted_loss",
    "check_loader": "lopsided.torch.sampler_guard",
    "dataset_labels": "lopsided.torch.label_lookup",
}

__all__ = [
    "GroupCrops",
    "GroupDROLoss",
    "GroupNoise",
    "GroupWhitening",
    "LightningSamplerGuard",
    "LogitAdjustedLoss",
    "OversamplingSampler",
    "PostHocAdjustment",
    "TransformersSamplerGuard",
    "WeightedCrossEntropy",
    "check_loader",
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
        if error.name != "torch":
            raise
        raise MissingPackage("torch", f"lopsided.torch.{name}", "torch") from None


def __dir__() -> list[str]:
    return sorted(__all__)
