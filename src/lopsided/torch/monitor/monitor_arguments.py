"""Checks the arguments of the monitor: model, names, minority, groups, loggers, optimizer."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from torch.utils.data import DataLoader

import torch
from lopsided.core.errors import InputError
from lopsided.core.validation import BoolArray
from lopsided.torch.before_training import recall_before
from lopsided.torch.loggers import Logger
from lopsided.torch.monitor.recall_outlook import RecallOutlook
from torch import nn


def class_names(names: Sequence[str] | None, classes: int) -> tuple[str, ...]:
    """One name per class; their numbers where none are given."""
    if names is None:
        return tuple(str(k) for k in range(classes))
    expected, remedy = f"{classes} class names", "give one per output of the head"
    given = _listed(names, expected, remedy)
    if len(given) != classes:
        raise InputError(expected, len(given), remedy)
    return tuple(str(name) for name in given)


def minority_mask(minority: Iterable[int] | None, classes: int) -> BoolArray | None:
    """True for the classes that were named."""
    if minority is None:
        return None
    expected, remedy = f"minority classes from 0 to {classes - 1}", "give a list of class indices"
    chosen = _listed(minority, expected, remedy)
    if not all(isinstance(k, (int, np.integer)) and not isinstance(k, bool) and 0 <= k < classes for k in chosen):
        raise InputError(expected, chosen, remedy)
    mask = np.zeros(classes, dtype=bool)
    mask[[int(k) for k in chosen]] = True
    return mask


def made_before(
    before: Any, model: nn.Module, classes: int, optimizer: Any, epochs: int | None, steps: int | None
) -> RecallOutlook | None:
    """A forecast before training, of as many classes as the head has; made here where the training data are given."""
    if isinstance(before, DataLoader):
        if optimizer is None or (epochs is None) == (steps is None):
            known = [name for name, given in (("optimizer", optimizer), ("epochs", epochs), ("steps", steps)) if given]
            raise InputError(
                "with the training data in before=, the optimizer and either epochs or steps",
                " and ".join(known) or "none of them",
                "give Monitor(..., optimizer=optimizer, epochs=20, before=train_loader)",
            )
        raw = getattr(optimizer, "optimizer", optimizer)  # Accelerate wraps the optimizer
        before = recall_before(before, model=model, optimizer=raw, epochs=epochs, steps=steps)
    if before is None or before is False:
        return None
    if isinstance(before, RecallOutlook) and len(before.scores) == classes:
        return before
    got = f"{len(before.scores)} classes" if isinstance(before, RecallOutlook) else type(before).__name__
    raise InputError(
        f"a forecast of {classes} classes for before=",
        got,
        "give the training DataLoader, or what lopsided.torch.recall_before returns",
    )


def group_names(groups: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the groups in the order of their codes."""
    if groups is None:
        return ()
    return tuple(str(name) for name in _listed(groups, "names of the groups", "give a list such as ['land', 'water']"))


def several_loggers(loggers: Any) -> tuple[Logger, ...]:
    """One logger, several, or none."""
    if loggers is None:
        return ()
    several = tuple(loggers) if isinstance(loggers, (list, tuple)) else (loggers,)
    for logger in several:
        if not callable(getattr(logger, "log", None)):
            remedy = "give for instance TensorBoardLogger(folder), or a list of loggers"
            raise InputError("loggers with a method log(values, step)", _kind(logger), remedy)
    return several


def any_optimizer(optimizer: Any) -> Any:
    """Something with parameter groups, as every optimizer of PyTorch has; None where there is none."""
    groups = getattr(optimizer, "param_groups", None)
    if optimizer is not None and not (isinstance(groups, list) and groups):
        remedy = "give the optimizer of your training loop, or its numbers with settings="
        raise InputError("a PyTorch optimizer", _kind(optimizer), remedy)
    return optimizer


def phase_name(name: Any) -> str | None:
    """The name of a phase; None for the two that the model's mode decides."""
    if not isinstance(name, str) or not name:
        raise InputError("a name for the phase", repr(name), "give a word such as 'test'")
    return None if name in ("train", "held_out") else name


def whole_parameters(model: Any) -> nn.Module:
    """The model; sharded models raise an error."""
    if not isinstance(model, nn.Module):
        raise InputError("a torch.nn.Module to watch", type(model).__name__, "give the network itself")
    kinds = {kind.__name__ for module in model.modules() for kind in type(module).__mro__}
    sharded = kinds & {"FullyShardedDataParallel", "FSDPModule"}
    pieces = any(hasattr(p, "ds_id") or type(p).__name__ == "DTensor" for p in model.parameters())  # ds_id: DeepSpeed
    if sharded or pieces:
        raise InputError(
            "a model whose weights are whole in each process",
            f"sharded ones ({', '.join(sorted(sharded)) or 'DTensor or ZeRO-3'})",
            "train with DistributedDataParallel, or measure a gathered checkpoint",
        )
    return model


def ignored_label(ignored: Any) -> int:
    """The label to ignore."""
    if isinstance(ignored, bool) or not isinstance(ignored, (int, np.integer)):
        raise InputError("a whole number for ignore_index", repr(ignored), "-100 is PyTorch's")
    return int(ignored)


def _kind(value: object) -> str:
    return repr(value) if isinstance(value, str) else type(value).__name__


def _listed(values: Any, expected: str, remedy: str) -> list[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, (Iterable, torch.Tensor, np.ndarray)):
        raise InputError(expected, repr(values), remedy)
    return list(values.tolist() if isinstance(values, (torch.Tensor, np.ndarray)) else values)
