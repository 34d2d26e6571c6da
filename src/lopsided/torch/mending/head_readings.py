"""Reads a finished network on a loader: the features that enter its head, the classes, and the head as arrays.

The network is run once, in eval mode and without gradients; the mode of every module is restored. A batch is a pair
(inputs, labels), a longer tuple of which the last are the labels, or a mapping with the labels under "labels" or
"label" and the arguments of the model. Labels of -100 are left out.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

import torch
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_matrix
from lopsided.torch.code_checks import IGNORED, check_codes, class_codes
from lopsided.torch.monitor.batch_rows import rows_of
from lopsided.torch.monitor.forward_watch import Seen
from lopsided.torch.monitor.head import Head, check_output, find_head, unwrap
from lopsided.torch.remedies.head_fits import HeadWeights
from torch import Tensor, nn

_LABELS = ("labels", "label")


class Readings(NamedTuple):
    """Features (n x p), classes (n) and the head that was found, with its weights."""

    features: FloatArray
    codes: IntArray
    head: Head
    weights: HeadWeights


def read_head(
    model: nn.Module, loader: Iterable[Any], head: str | nn.Module | None = None, classes: int | None = None
) -> Readings:
    """Run the model over the loader, and keep the inputs of its head."""
    found = find_head(model, head, classes)
    features, codes = [], []
    device = found.layer.weight.device
    with _watched(model, found) as seen, torch.no_grad():
        for batch in loader:
            arguments, named, labels = _parts(batch, device)
            seen.clear()
            output = model(*arguments, **named)
            check_output(output, found)
            if len(seen) != 1:
                got = f"{len(seen)} calls of {found.name!r}"
                raise InputError("a model that calls its head once per forward pass", got, "name the head with head=")
            given = class_codes(labels, found.outputs)
            rows, _, places = rows_of(seen[0], given, found)
            kept = places != IGNORED
            check_codes(places[kept], found.classes, "labels", "code the classes as 0, 1, 2, ...")
            features.append(rows[kept].double().cpu().numpy())
            codes.append(places[kept].cpu().numpy())
    if not codes or not sum(map(len, codes)):
        raise InputError("a loader with labelled examples", "none", "give the loader of a validation set")
    joined = check_matrix(np.concatenate(features), "the features of the network")
    return Readings(joined, np.concatenate(codes).astype(np.int64), found, weights_of(found))


def weights_of(head: Head) -> HeadWeights:
    """W and b in double precision; those of two classes where there is one output."""
    if head.layer.bias is None:
        return HeadWeights(head.weight(), np.zeros(head.classes))
    bias = np.asarray(head.layer.bias.detach().double().cpu().numpy())
    return HeadWeights(head.weight(), np.concatenate([-bias / 2, bias / 2]) if head.outputs == 1 else bias)


def with_head(model: nn.Module, head: Head, weights: HeadWeights) -> nn.Module:
    """A copy of the model, without wrappers, whose head has other weights; a bias is added where there was none."""
    copied = deepcopy(unwrap(model))
    layer = copied.get_submodule(head.name) if head.name else copied
    weight, bias = weights
    if head.outputs == 1:
        weight, bias = weight[1:] - weight[:1], bias[1:] - bias[:1]
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(weight).reshape(layer.weight.shape))
        values = torch.as_tensor(bias).to(layer.weight)
        if layer.bias is not None:
            layer.bias.copy_(values)
        elif bool(values.any()):
            layer.bias = nn.Parameter(values, requires_grad=layer.weight.requires_grad)
    return copied


@contextmanager
def _watched(model: nn.Module, head: Head) -> Iterator[list[Seen]]:
    """Eval mode, with what the head sees in a list; afterwards every module is in its mode again."""
    modes = {module: module.training for module in model.modules()}
    seen: list[Seen] = []
    hook = head.layer.register_forward_hook(
        lambda _, inputs, output: seen.append(Seen.of(inputs[0], output, training=False))
    )
    model.eval()
    try:
        yield seen
    finally:
        hook.remove()
        for module, mode in modes.items():
            module.training = mode


def _parts(batch: Any, device: torch.device) -> tuple[list[Any], dict[str, Any], Any]:
    """Arguments of the model, on its device, and the labels."""
    if isinstance(batch, Mapping):
        key = next((name for name in _LABELS if name in batch), None)
        if key is not None:
            return [], {name: _moved(value, device) for name, value in batch.items() if name != key}, batch[key]
    elif isinstance(batch, (tuple, list)) and len(batch) > 1:
        return [_moved(value, device) for value in batch[:-1]], {}, batch[-1]
    got = f"a mapping with {', '.join(map(str, batch))}" if isinstance(batch, Mapping) else f"a {type(batch).__name__}"
    raise InputError("batches (inputs, labels), or mappings with labels", got, "wrap the loader so that it gives them")


def _moved(value: Any, device: torch.device) -> Any:
    return value.to(device) if isinstance(value, Tensor) else value
