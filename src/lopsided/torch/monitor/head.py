"""The classifier of a network: its last linear layer, or the layer that was named.

A head is an `nn.Linear` or a convolution with 1x1 kernels, or, where it is told, any layer with a matrix `weight` (a
cosine classifier); rows w_k of its K x p weight are the classifiers of the Layer-Peeled Model, its input the features
h. Wrappers (DataParallel, DistributedDataParallel, torch.compile) are unwrapped. A linear layer with one output is the
two-class softmax with rows -w/2 and +w/2 (and biases alike), which has the same probabilities; cosines and energies are
those of that pair.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import torch
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray
from lopsided.torch.monitor.head_answer import answer_in
from torch import nn

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


@dataclass(frozen=True)
class Head:
    """The layer that turns features into logits."""

    name: str
    layer: nn.Module
    outputs: int
    width: int
    columns: bool = False  # the weight holds one column per class, as some cosine heads do

    @property
    def classes(self) -> int:
        """K; a single output means two classes."""
        return max(self.outputs, 2)

    @property
    def convolution(self) -> bool:
        """Features lie along the second axis instead of the last."""
        return isinstance(self.layer, CONVOLUTIONS)

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return own_weight(self.layer).device

    def weight(self) -> FloatArray:
        """W, one row per class, in double precision on the CPU."""
        table = weight_of(self.layer)
        rows = table.T if self.columns else table.reshape(self.outputs, -1)
        array: FloatArray = rows.to(device="cpu", dtype=torch.float64, copy=True).numpy()
        return np.concatenate([-array / 2, array / 2]) if self.outputs == 1 else array


def own_weight(layer: nn.Module) -> torch.Tensor:
    """The parameter behind `layer.weight`. Under a weight or spectral norm, `weight` is computed anew from it."""
    told = layer._parameters.get("weight")
    if told is not None:
        return told
    behind = [parameter for name, parameter in layer.named_parameters() if "bias" not in name]
    return max(behind, key=torch.Tensor.numel) if behind else layer.weight


def weight_of(layer: nn.Module) -> torch.Tensor:
    """`layer.weight`, detached. Merely reading it would, in training mode, move the vectors of a spectral norm."""
    norms = [module for module in layer.modules() if module is not layer and module.training]
    for module in norms:
        module.training = False
    try:
        with torch.no_grad():
            found: torch.Tensor = layer.weight.detach()
            return found
    finally:
        for module in norms:
            module.training = True


def unwrap(model: nn.Module) -> nn.Module:
    """The module that the user wrote, without DataParallel, DistributedDataParallel or torch.compile around it."""
    while True:
        if isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            model = model.module
        elif isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):
            model = inner
        else:
            return model


def linear_layers(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Linear layers and convolutions in the order of registration, each once; weights not yet made are passed over."""
    for name, layer in model.named_modules():
        if is_linear(layer):
            yield name, layer


def is_linear(layer: nn.Module) -> bool:
    """A linear layer or a convolution whose weights are made."""
    return isinstance(layer, (nn.Linear, *CONVOLUTIONS)) and not _uninitialised(layer)


def weight_count(model: nn.Module) -> int:
    """Weights of all linear layers and convolutions."""
    return sum(int(own_weight(layer).numel()) for _, layer in linear_layers(unwrap(model)))


def find_head(model: nn.Module, told: str | nn.Module | None = None, classes: int | None = None) -> Head:
    """The head that was named, or the last linear layer; with `classes`, the last one with that many outputs."""
    inner = unwrap(model)
    if told is not None:
        name, layer = _named(inner, told)
        head = _checked(name, layer) if _is_pointwise(layer) else _of_table(name, layer, classes)
        if classes is not None and head.classes != classes:
            raise InputError(f"a head for {classes} classes", _words(head), "check head= and counts=")
        return head
    candidates = [_checked(name, layer) for name, layer in linear_layers(inner) if _is_pointwise(layer)]
    fitting = [head for head in candidates if classes is None or head.classes == classes]
    if not fitting:
        wanted = "a linear layer" if classes is None else f"a linear layer with {classes} outputs"
        found = (
            ", ".join(map(_words, candidates[-3:])) or "a model without one (lazy layers need one forward pass first)"
        )
        raise InputError(f"{wanted} in the model", found, "name the layer with head=")
    chosen = fitting[-1]
    rivals = [head for head in fitting if head is chosen or _beside(inner, head, chosen, candidates)]
    if len(rivals) > 1:
        raise InputError("one last linear layer", " and ".join(map(_words, rivals[-3:])), "name one with head=")
    return chosen


def named_module(model: nn.Module, told: str | nn.Module) -> nn.Module:
    """A module of the model, given by its name or as the module itself."""
    return _named(unwrap(model), told)[1]


def check_output(output: Any, head: Head) -> None:
    """Checks that the model's output has as many columns as the head."""
    found = answer_in(output)
    if found is not None and found.ndim > 1 and head.outputs not in found.shape[1:]:
        raise InputError(
            f"a model whose output comes from its last linear layer {head.name!r} with {head.outputs} outputs",
            f"an output of shape {tuple(found.shape)}",
            "name the layer that gives the logits with head=",
        )


def _named(model: nn.Module, told: Any) -> tuple[str, nn.Module]:
    modules = dict(model.named_modules(remove_duplicate=False))
    if isinstance(told, str):
        bare = told.removeprefix("_orig_mod.").removeprefix("module.")
        if bare in modules and bare:
            return bare, modules[bare]
        some = ", ".join([name for name in modules if name][-6:]) or "nothing, the model has no layers"
        raise InputError("the name of a layer of the model", repr(told), f"choose among {some}")
    for name, module in modules.items():
        if module is told:
            return name, module
    raise InputError("a layer of this model", type(told).__name__, "give its name, or the module inside the model")


def _checked(name: str, layer: nn.Module) -> Head:
    if not _is_pointwise(layer) or _uninitialised(layer):
        raise InputError(
            "a Linear layer or a convolution with 1x1 kernels as head",
            f"{type(layer).__name__} at {name!r}",
            "name the layer that gives the logits",
        )
    outputs, width = (
        (layer.out_features, layer.in_features)
        if isinstance(layer, nn.Linear)
        else (layer.out_channels, layer.in_channels)
    )
    return Head(name, layer, int(outputs), int(width))


def _of_table(name: str, layer: nn.Module, classes: int | None) -> Head:
    """A head of another kind that was told by name, with a matrix `weight`, such as a cosine classifier.

    Which side counts the classes is what the layer or the user says, else the smaller one; the first forward checks it.
    """
    table = getattr(layer, "weight", None)
    if (
        isinstance(layer, CONVOLUTIONS)
        or not isinstance(table, torch.Tensor)
        or table.ndim != 2
        or _uninitialised(layer)
    ):
        raise InputError(
            "a Linear layer, a convolution with 1x1 kernels or a layer with a matrix `weight` as head",
            f"{type(layer).__name__} at {name!r}",
            "name the layer that gives the logits",
        )
    sides = tuple(table.shape)
    told = getattr(layer, "out_features", None) or classes
    outputs = next((side for side in sides if side == told), min(sides))
    columns = sides[0] != outputs
    return Head(name, layer, int(outputs), int(sides[0] if columns else sides[1]), columns)


def _is_pointwise(layer: nn.Module) -> bool:
    if isinstance(layer, CONVOLUTIONS):
        return set(layer.kernel_size) == {1} and layer.groups == 1
    return isinstance(layer, nn.Linear)


def _uninitialised(layer: nn.Module) -> bool:
    return isinstance(layer._parameters.get("weight"), nn.parameter.UninitializedParameter)


def _beside(model: nn.Module, head: Head, chosen: Head, candidates: list[Head]) -> bool:
    """Two heads side by side: children of one parent that is no chain, same input width, and nobody takes the output.

    The layers fc1, fc2, fc3 of a network are children of one parent too, but each output width is the next input's.
    """
    parent, _, _ = chosen.name.rpartition(".")
    if head.name.rpartition(".")[0] != parent or isinstance(model.get_submodule(parent), nn.Sequential):
        return False
    taken = {other.width for other in candidates if other is not head}
    return head.width == chosen.width and head.outputs not in taken


def _words(head: Head) -> str:
    return f"{head.name!r} ({head.width} to {head.outputs})"
