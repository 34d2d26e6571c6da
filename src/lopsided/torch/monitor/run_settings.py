"""What the forecasts need to know about a run: weight decay, step, momentum, batch size, depth; most of it is read.

The forecasts speak of a penalty (wd/2)|w|^2 in the loss. SGD and Adam add wd w to the gradient, which is that penalty;
decoupled decay (AdamW) is not, and the forecasts then decline.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from lopsided.core.errors import InputError
from lopsided.core.validation import check_count, check_in_range
from lopsided.torch.monitor.head import linear_layers
from torch import nn

_NORMALISATIONS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
_LARGEST = 1e9


@dataclass(frozen=True)
class RunSettings:
    """A run's own numbers; None where they are not known, or where the monitor should read them itself.

    `learning_rate` is the largest so far (annealing lowers it), `batch_size` the examples per optimizer step.
    """

    weight_decay: float | None = None
    learning_rate: float | None = None
    momentum: float | None = None
    batch_size: int | None = None
    hidden_layers: int | None = None
    batch_normalisation: bool | None = None
    optimizer: str | None = None
    decoupled_decay: bool | None = None

    @property
    def known(self) -> dict[str, Any]:
        """What is not None."""
        return {name: value for name, value in vars(self).items() if value is not None}


def checked_settings(given: RunSettings | Mapping[str, Any] | None) -> RunSettings:
    """The settings that a user told, as a record or a dict, each in its range."""
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
    for name, high in (("weight_decay", _LARGEST), ("learning_rate", _LARGEST), ("momentum", 1.0)):
        if getattr(given, name) is not None:
            check_in_range(getattr(given, name), name, 0.0, high)
    for name, low in (("batch_size", 1), ("hidden_layers", 0)):
        if getattr(given, name) is not None:
            check_count(getattr(given, name), name, at_least=low)
    for name in ("batch_normalisation", "decoupled_decay"):
        if not isinstance(getattr(given, name), (bool, type(None))):
            raise InputError(f"True or False for {name}", repr(getattr(given, name)), "or leave it out to have it read")
    return given


def optimizer_settings(optimizer: Any, head_weight: Any) -> dict[str, Any]:
    """Weight decay, step and momentum of the parameter group that holds the head's weight."""
    groups = optimizer.param_groups
    own = [group for group in groups if any(parameter is head_weight for parameter in group["params"])]
    group = (own or groups)[0]
    kind = type(getattr(optimizer, "optimizer", optimizer))  # Accelerate wraps the optimizer
    names = {ancestor.__name__ for ancestor in kind.__mro__}
    decoupled = bool(group.get("decoupled_weight_decay", False)) or "AdamW" in names
    step, momentum = group.get("lr"), group.get("momentum")
    return {
        "weight_decay": float(group.get("weight_decay", 0.0)),
        "learning_rate": None if step is None else float(step),
        "momentum": None if momentum is None else float(momentum),
        "optimizer": "SGD" if "SGD" in names else kind.__name__,
        "decoupled_decay": decoupled,
    }


class RunReader:
    """Reads a run's settings at the end of each epoch and remembers the largest step; what was told goes first."""

    def __init__(
        self, model: nn.Module, head_weight: Any, optimizer: Any, told: RunSettings | Mapping[str, Any] | None
    ) -> None:
        self._model, self._head_weight, self._optimizer = model, head_weight, optimizer
        self._told = checked_settings(told)
        self._largest_step = 0.0
        if optimizer is not None:  # at the end of the first epoch a scheduler may have lowered it already
            self._largest_step = optimizer_settings(optimizer, head_weight)["learning_rate"] or 0.0

    def read(self, batch_size: int) -> RunSettings:
        """The settings by now; a batch size of 0 is not known."""
        found: dict[str, Any] = {
            "hidden_layers": max(len(list(linear_layers(self._model))) - 1, 0),
            "batch_normalisation": any(isinstance(module, _NORMALISATIONS) for module in self._model.modules()),
        }
        if self._optimizer is not None:
            found |= optimizer_settings(self._optimizer, self._head_weight)
            if found["learning_rate"] is not None:
                self._largest_step = found["learning_rate"] = max(self._largest_step, found["learning_rate"])
        return RunSettings(**(found | {"batch_size": batch_size or None} | self._told.known))
