"""Settings of a run that the forecasts need: weight decay, step, momentum, batch size, depth. Most are found
automatically.

The forecasts assume a penalty (wd/2)|w|^2 in the loss. SGD and Adam add wd w to the gradient, which is that penalty;
decoupled decay (AdamW, Lion, Adafactor) is not, and then there is no forecast. The effect of such decay over a training
is

    forgetting = sum over steps of rate x weight decay / (1 - momentum)      (momentum 0 for decoupled decay)

A weight without a gradient falls by exp(-forgetting). Adam's coupled decay has no such sum.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from lopsided.core.errors import InputError
from lopsided.core.validation import check_count, check_in_range
from lopsided.torch.monitor.head import is_linear, own_weight
from torch import nn

_NORMALISATIONS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
_LARGEST = 1e9
# Keys of a parameter group, and classes, of optimizers that take lr x wd off a weight apart from the gradient.
_DECOUPLED_KEYS = (
    "decoupled_weight_decay",
    "decoupled_decay",
    "weight_decouple",
    "decouple",
    "adam_w_mode",
    "adamw_mode",
)
_DECOUPLED = {"Adafactor", "Lion", "Muon", "SophiaG", "Adan"}


@dataclass(frozen=True)
class RunSettings:
    """Settings of a run. The monitor finds those that are None itself where it can.

    Parameters
    ----------
    weight_decay : float, optional
        Weight decay.
    learning_rate : float, optional
        The largest learning rate so far (annealing lowers it).
    momentum : float, optional
        Momentum of the optimizer.
    batch_size : int, optional
        Examples per optimizer step.
    hidden_layers : int, optional
        Linear layers and convolutions before the head that are trained.
    batch_normalisation : bool, optional
        Whether the network has batch normalisation.
    optimizer : str, optional
        Name of the optimizer's class.
    decoupled_decay : bool, optional
        Whether weight decay is decoupled from the gradient, as in AdamW.
    convolutional : bool, optional
        Whether a trained hidden layer is a convolution.
    frozen : float, optional
        Share of the weights that are not trained.
    loss : str, optional
        Name of the loss module's class.
    class_weighted : bool, optional
        Whether the loss has class weights.
    logit_adjusted : bool, optional
        Whether the loss adjusts logits.
    label_smoothing : float, optional
        Label smoothing of the loss.
    forgetting : float, optional
        Sum of rate x weight decay / (1 - momentum) over the steps so far (momentum 0 for decoupled decay).
    planned_forgetting : float, optional
        The same over the planned training, if it goes on as it did so far.
    """

    weight_decay: float | None = None
    learning_rate: float | None = None
    momentum: float | None = None
    batch_size: int | None = None
    hidden_layers: int | None = None
    batch_normalisation: bool | None = None
    optimizer: str | None = None
    decoupled_decay: bool | None = None
    convolutional: bool | None = None
    frozen: float | None = None
    loss: str | None = None
    class_weighted: bool | None = None
    logit_adjusted: bool | None = None
    label_smoothing: float | None = None
    forgetting: float | None = None
    planned_forgetting: float | None = None

    @property
    def changed_loss(self) -> str | None:
        """What the loss has beyond plain cross entropy, in words; None for nothing that is known."""
        parts = {"class weights": self.class_weighted, "adjusted logits": self.logit_adjusted}
        parts |= {"label smoothing": bool(self.label_smoothing)}
        return " and ".join(name for name, there in parts.items() if there) or None

    @property
    def known(self) -> dict[str, Any]:
        """What is not None."""
        return {name: value for name, value in vars(self).items() if value is not None}


def checked_settings(given: RunSettings | Mapping[str, Any] | None) -> RunSettings:
    """The settings that a user gave, as a record or a dict, each checked."""
    if given is None:
        return RunSettings()
    known = [field.name for field in fields(RunSettings)]
    if isinstance(given, Mapping):
        strange = [str(name) for name in given if name not in known]
        if strange:
            raise InputError(f"settings among {', '.join(known)}", ", ".join(strange), "rename or remove them")
        given = RunSettings(**given)
    if not isinstance(given, RunSettings):
        raise InputError("RunSettings or a dict for settings", type(given).__name__, f"name any of {', '.join(known)}")
    highest = {"momentum": 1.0, "frozen": 1.0, "label_smoothing": 1.0}
    numbers = ("weight_decay", "learning_rate", "forgetting", "planned_forgetting", *highest)
    for name, high in ((name, highest.get(name, _LARGEST)) for name in numbers):
        if getattr(given, name) is not None:
            check_in_range(getattr(given, name), name, 0.0, high)
    for name, low in (("batch_size", 1), ("hidden_layers", 0)):
        if getattr(given, name) is not None:
            check_count(getattr(given, name), name, at_least=low)
    for name in ("batch_normalisation", "decoupled_decay", "convolutional", "class_weighted", "logit_adjusted"):
        if not isinstance(getattr(given, name), (bool, type(None))):
            raise InputError(f"True or False for {name}", repr(getattr(given, name)), "or leave it out")
    return given


def optimizer_settings(optimizer: Any, head_weight: Any) -> dict[str, Any]:
    """Weight decay, step and momentum of the parameter group that holds the head's weight."""
    group = _head_group(optimizer, head_weight)
    raw = getattr(optimizer, "optimizer", optimizer)  # Accelerate wraps the optimizer
    names = {ancestor.__name__ for ancestor in type(raw).__mro__}
    told = {**getattr(raw, "defaults", {}), **group}
    step, momentum = group.get("lr"), group.get("momentum")
    return {
        "weight_decay": float(group.get("weight_decay", 0.0)),
        "learning_rate": None if step is None else float(step),
        "momentum": None if momentum is None else float(momentum),
        "optimizer": "SGD" if "SGD" in names else type(raw).__name__,
        "decoupled_decay": any(told.get(key) for key in _DECOUPLED_KEYS)
        or bool(names & _DECOUPLED)
        or any("AdamW" in name for name in names),  # and its variants: AdamW8bit, PagedAdamW, NAdamW
    }


def loss_settings(loss: Any) -> dict[str, Any]:
    """What a loss module does beside cross entropy, as far as its attributes say."""
    if loss is None:
        return {}
    weights = (getattr(loss, name, None) for name in ("weight", "weights", "pos_weight"))
    offsets = getattr(loss, "offsets", None)
    smoothing = next((found for name in ("label_smoothing", "smoothing") if (found := getattr(loss, name, None))), 0.0)
    return {
        "loss": type(loss).__name__,
        "class_weighted": any(_uneven(table) for table in weights),
        "logit_adjusted": _uneven(offsets),
        "label_smoothing": float(smoothing) if isinstance(smoothing, (int, float)) else 0.0,  # timm: `smoothing`
    }


def network_settings(
    model: nn.Module,
    head_weight: Any,
    trained: set[int] | None,
    moved: Callable[[torch.Tensor], bool] = lambda weight: False,
) -> dict[str, Any]:
    """Depth, convolutions and batch normalisation of what is trained: `trained` are the ids of an optimizer's
    parameters, None where they are not known; `moved` tells of a weight whether another optimizer moves it."""
    modules = list(model.modules())
    weights = {
        id(weight): (
            layer,
            weight,
            weight.requires_grad and (trained is None or moved(weight) or id(weight) in trained),
        )
        for layer, weight in ((layer, own_weight(layer)) for layer in modules if is_linear(layer))
    }
    hidden = [layer for key, (layer, _, moves) in weights.items() if moves and key != id(head_weight)]
    total = sum(weight.numel() for _, weight, _ in weights.values())
    still = sum(weight.numel() for _, weight, moves in weights.values() if not moves)
    return {
        "hidden_layers": len(hidden),
        "convolutional": any(not isinstance(layer, nn.Linear) for layer in hidden),
        "frozen": still / max(total, 1),
        "batch_normalisation": any(isinstance(module, _NORMALISATIONS) for module in modules),
    }


class RunReader:
    """Reads a run's settings at the end of each epoch, remembers the largest step and adds up the decay; what was told
    goes first."""

    def __init__(
        self,
        model: nn.Module,
        head_weight: Any,
        optimizer: Any,
        told: RunSettings | Mapping[str, Any] | None,
        loss: nn.Module | None = None,
    ) -> None:
        self._model, self._head_weight, self._optimizer, self._loss = model, head_weight, optimizer, loss
        self._told = checked_settings(told)
        self._group: dict[str, Any] = {}
        self.largest_step, self.forgetting, self._momentum_factor = 0.0, 0.0, 1.0
        self._versions: dict[int, int] | None = None  # of the parameters after the first step: writes count them up
        if optimizer is not None:  # at the end of the first epoch a scheduler may have lowered it already
            self.largest_step = self._start_epoch()["learning_rate"] or 0.0

    def stepped(self) -> None:
        """The optimizer took a step."""
        if self._versions is None:
            self._versions = {id(part): part._version for part in self._model.parameters()}
        group = self._group
        decay = group.get("weight_decay")
        if decay:
            self.forgetting += float(group.get("lr") or 0.0) * float(decay) * self._momentum_factor

    def read(self, batch_size: int, seen: float | None = None) -> RunSettings:
        """The settings by now; a batch size of 0 is not known. `seen` is the share of the training that is done."""
        trained = None
        found: dict[str, Any] = {}
        if self._optimizer is not None:
            found = self._start_epoch()
            trained = {id(parameter) for group in self._optimizer.param_groups for parameter in group["params"]}
            if found["learning_rate"] is not None:
                self.largest_step = found["learning_rate"] = max(self.largest_step, found["learning_rate"])
            if found["decoupled_decay"] or found["optimizer"] == "SGD":
                found |= {
                    "forgetting": self.forgetting,
                    "planned_forgetting": self.forgetting / seen if seen else None,
                }
        found |= network_settings(self._model, self._head_weight, trained, self._moved) | loss_settings(self._loss)
        return RunSettings(**(found | {"batch_size": batch_size or None} | self._told.known))

    def _moved(self, weight: torch.Tensor) -> bool:
        """Whether a weight was written into since the first step, by this optimizer or another one."""
        return self._versions is not None and self._versions.get(id(weight), weight._version) != weight._version

    def _start_epoch(self) -> dict[str, Any]:
        """Find the head's group, which a trainer may have replaced, and its settings."""
        self._group = _head_group(self._optimizer, self._head_weight)
        facts = optimizer_settings(self._optimizer, self._head_weight)
        coupled = 0.0 if facts["decoupled_decay"] else min(facts["momentum"] or 0.0, 0.9999)
        self._momentum_factor = 1.0 / (1.0 - coupled)
        return facts


def _head_group(optimizer: Any, head_weight: Any) -> dict[str, Any]:
    groups = optimizer.param_groups
    own = [group for group in groups if any(parameter is head_weight for parameter in group["params"])]
    found: dict[str, Any] = (own or groups)[0]
    return found


def _uneven(table: Any) -> bool:
    """A table with one entry a class, not all alike."""
    return isinstance(table, torch.Tensor) and table.numel() > 1 and bool((table != table.reshape(-1)[0]).any())
