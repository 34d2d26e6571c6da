"""What the forecasts need to know about a run: weight decay, step, momentum, batch size, depth; most of it is read.

The forecasts speak of a penalty (wd/2)|w|^2 in the loss. SGD and Adam add wd w to the gradient, which is that penalty;
decoupled decay (AdamW) is not, and the forecasts then decline.
"""

from dataclasses import dataclass
from typing import Any

from torch import nn

from lopsided.torch.head import linear_layers

_NORMALISATIONS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


@dataclass(frozen=True)
class RunSettings:
    """A run's own numbers; None where they are not known.

    `learning_rate` is the largest so far (annealing lowers it), `batch_size` the examples per optimizer step.
    """

    weight_decay: float | None = None
    learning_rate: float | None = None
    momentum: float | None = None
    batch_size: int | None = None
    hidden_layers: int | None = None
    batch_normalisation: bool = False
    optimizer: str | None = None
    decoupled_decay: bool = False


def optimizer_settings(optimizer: Any, head_weight: Any) -> dict[str, Any]:
    """Weight decay, step and momentum of the parameter group that holds the head's weight."""
    groups = optimizer.param_groups
    own = [group for group in groups if any(parameter is head_weight for parameter in group["params"])]
    group = (own or groups)[0]
    kind = type(getattr(optimizer, "optimizer", optimizer))  # Accelerate wraps the optimizer
    names = {ancestor.__name__ for ancestor in kind.__mro__}
    decoupled = bool(group.get("decoupled_weight_decay", False)) or "AdamW" in names
    momentum = group.get("momentum")
    return {
        "weight_decay": float(group.get("weight_decay", 0.0)),
        "learning_rate": float(group["lr"]),
        "momentum": None if momentum is None else float(momentum),
        "optimizer": "SGD" if "SGD" in names else kind.__name__,
        "decoupled_decay": decoupled,
    }


def model_settings(model: nn.Module) -> dict[str, Any]:
    """Layers before the head, and whether the network normalises over the batch."""
    return {
        "hidden_layers": max(len(list(linear_layers(model))) - 1, 0),
        "batch_normalisation": any(isinstance(module, _NORMALISATIONS) for module in model.modules()),
    }
