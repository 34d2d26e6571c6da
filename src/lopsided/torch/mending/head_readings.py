"""Reads a finished network on a loader: the features that enter its head, the classes, and the head as arrays.

The network is run once, in eval mode and without gradients; the mode of every module is restored. The head must be
linear, and its output the model's (or the model's softmax of it): a correction of the head is no correction of a model
that changes the logits afterwards. A batch is a pair
(inputs, labels), a longer tuple of which the last are the labels, or a mapping with the labels under "labels" or
"label" and the arguments of the model. Labels of -100 are left out.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from torch.nn.utils.parametrize import remove_parametrizations
from torch.nn.utils.spectral_norm import SpectralNorm, remove_spectral_norm
from torch.nn.utils.weight_norm import WeightNorm, remove_weight_norm

import torch
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_matrix
from lopsided.torch.before_training import random_states_kept
from lopsided.torch.code_checks import IGNORED, check_codes, class_codes
from lopsided.torch.monitor.batch_rows import rows_of
from lopsided.torch.monitor.forward_watch import HeadPass
from lopsided.torch.monitor.head import CONVOLUTIONS, Head, check_output, find_head, unwrap
from lopsided.torch.monitor.head_answer import alike, answer_in, picked_place, same_answer, tensors_in
from lopsided.torch.monitor.hook import drop_hooks
from lopsided.torch.remedies.head_fits import HeadWeights
from torch import Tensor, nn

_LABELS = ("labels", "label")
_OUTSIDE = "lopsided.torch.PostHocAdjustment(model, counts), if nothing adjusts it yet"


class Readings(NamedTuple):
    """Features (n x p), classes (n) and the head that was found, with its weights."""

    features: FloatArray
    codes: IntArray
    head: Head
    weights: HeadWeights


def read_head(model: nn.Module, loader: Iterable[Any], head: str | nn.Module | None = None) -> Readings:
    """Run the model over the loader, and keep the inputs of its head."""
    found = find_head(model, head)
    features, codes, weights = [], [], None
    with _watched(model, found) as seen, torch.no_grad(), random_states_kept(loader):
        for batch in loader:
            arguments, named, labels = _parts(batch, found.device)
            seen.clear()
            output = model(*arguments, **named)
            if head is None:
                check_output(output, found)
            if len(seen) != 1:
                got = f"{len(seen)} calls of {found.name!r}"
                raise InputError("a model that calls its head once per forward pass", got, "name the head with head=")
            given = _one_class_each(labels, found)
            if (picked := picked_place(seen[0].features, seen[0].outputs, output)) is not None:
                seen[0] = HeadPass.of(*picked, training=False)
            rows, logits, places = rows_of(seen[0], given, found)
            kept = places != IGNORED
            check_codes(places[kept], found.classes, "labels", "code the classes as 0, 1, 2, ...")
            features.append(rows[kept].double().cpu().numpy())
            codes.append(places[kept].cpu().numpy())
            if not bool(logits[kept].isfinite().all()):
                raise InputError("a network with finite logits", "NaN or infinite ones", "check its training")
            weights = weights or weights_of(found)  # after a forward: an old weight norm makes them there
            _check_linear(weights.scores(features[-1]), logits[kept], found)
            _check_answer(output, logits, kept, found, told=head is not None)
    if weights is None or not sum(map(len, codes)):
        raise InputError("a loader with labelled examples", "none", "give the loader of a validation set")
    joined = check_matrix(np.concatenate(features), "the features of the network")
    return Readings(joined, np.concatenate(codes).astype(np.int64), found, weights)


def weights_of(head: Head) -> HeadWeights:
    """W and b in double precision; those of two classes where there is one output."""
    if not isinstance(head.layer, (nn.Linear, *CONVOLUTIONS)):
        raise _not_linear(head, type(head.layer).__name__)
    if head.layer.bias is None:
        return HeadWeights(head.weight(), np.zeros(head.classes))
    bias = np.asarray(head.layer.bias.detach().double().cpu().numpy())
    return HeadWeights(head.weight(), np.concatenate([-bias / 2, bias / 2]) if head.outputs == 1 else bias)


def with_head(model: nn.Module, head: Head, weights: HeadWeights) -> nn.Module:
    """A copy of the model, without wrappers and the hooks of a monitor, whose head has other weights: parameters of its
    own, without a weight or spectral norm and not tied to an embedding; a bias is added where there was none."""
    inner = unwrap(model)
    kept = [value for module in inner.modules() for value in vars(module).values() if isinstance(value, Tensor)]
    # what a forward left on a module is part of its graph, and deepcopy refuses it
    copied = deepcopy(inner, {id(value): value.detach().clone() for value in kept if value.grad_fn is not None})
    for module in copied.modules():
        drop_hooks(module)
    layer = copied.get_submodule(head.name) if head.name else copied
    _without_norms(layer)
    weight, bias = weights
    if head.outputs == 1:
        weight, bias = weight[1:] - weight[:1], bias[1:] - bias[:1]
    like, trained = layer.weight.detach(), layer.weight.requires_grad
    values = torch.as_tensor(weight).reshape(like.shape).to(like)
    layer.weight = nn.Parameter(values, requires_grad=trained)
    if layer.bias is not None or bias.any():
        layer.bias = nn.Parameter(torch.as_tensor(bias).to(like), requires_grad=trained)
    return copied


def _one_class_each(labels: Any, head: Head) -> Tensor:
    """Class codes; of a table with one column for each class, rows with a single 1."""
    if isinstance(labels, Tensor) and labels.ndim == 2 and labels.shape[1] == head.outputs > 1:
        one = (labels == 1).sum(dim=1) == 1
        if bool((one & ((labels != 0).sum(dim=1) == 1)).all()):
            return labels.argmax(dim=1)
        if labels.is_floating_point() or labels.dtype == torch.bool:
            got = f"a table of shape {tuple(labels.shape)} with several, none or shares of them"
            raise InputError("one class for each example", got, "mend corrects classifiers that choose one class")
    return class_codes(labels, head.outputs)


def _without_norms(layer: nn.Module) -> None:
    """Make weight and bias plain parameters, of the values they have now."""
    for name in list(getattr(layer, "parametrizations", ())):
        remove_parametrizations(layer, name)
    for hook in list(layer._forward_pre_hooks.values()):  # of the functions before parametrizations
        if isinstance(hook, WeightNorm):
            remove_weight_norm(layer, hook.name)
        elif isinstance(hook, SpectralNorm):
            remove_spectral_norm(layer, hook.name)
            layer._load_state_dict_pre_hooks.clear()  # PyTorch leaves one that asks for the weight before the norm


def _check_linear(scores: FloatArray, logits: Tensor, head: Head) -> None:
    """A layer may be a Linear by its class and normalise its input or weights in its forward."""
    if not alike(torch.from_numpy(scores), logits):
        raise _not_linear(head, f"a {type(head.layer).__name__} whose output is another")


def _not_linear(head: Head, got: str) -> InputError:
    return InputError(
        f"a last layer {head.name!r} whose output is W h + b", got, f"correct the model's output: {_OUTSIDE}"
    )


def _check_answer(output: Any, logits: Tensor, kept: Tensor, head: Head, *, told: bool) -> None:
    """The model's output must be the head's, up to what changes no softmax, or its softmax or sigmoid; of a model with
    several, that of the head that was told."""
    own = logits if head.outputs > 1 else logits[:, 1:] - logits[:, :1]
    answer = answer_in(output)
    leaves = (
        [answer] if answer is not None and not told else [*tensors_in(output), *([] if answer is None else [answer])]
    )
    tables = [table for leaf in leaves for table in (leaf, leaf.movedim(1, -1) if leaf.ndim > 2 else leaf)]
    rows = [table.reshape(own.shape)[kept] for table in tables if table.numel() == own.numel()]
    if not any(same_answer(own[kept], row) for row in rows):
        raise InputError(
            f"a model whose output is that of its last linear layer {head.name!r}, or the softmax of it",
            "an output that is changed after that layer",
            f"give the part of the model up to that layer, or correct the model's output: {_OUTSIDE}",
        )


@contextmanager
def _watched(model: nn.Module, head: Head) -> Iterator[list[HeadPass]]:
    """Eval mode, with what the head sees in a list; afterwards every module is in its mode again."""
    modes = {module: module.training for module in model.modules()}
    seen: list[HeadPass] = []
    hook = head.layer.register_forward_hook(
        lambda _, inputs, named, output: seen.append(
            HeadPass.of(inputs[0] if inputs else next(iter(named.values())), output, training=False)
        ),
        with_kwargs=True,
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
