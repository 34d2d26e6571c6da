"""One row per example from the inputs and outputs of the head: features (n, p), logits (n, K) and class codes (n,).

A linear head may stand after pooling (batch, p) or at every place of a sequence (batch, ..., p), a 1x1 convolution at
every place of a map (batch, p, ...). Labels of the same places make one row per place; one label per picture pools the
map, which commutes with the 1x1 convolution.
"""

import torch
from lopsided.core.errors import InputError
from lopsided.torch.monitor.forward_watch import HeadPass
from lopsided.torch.monitor.head import Head


def rows_of(
    seen: HeadPass, codes: torch.Tensor, head: Head, *, told_features: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(features, logits, codes), one row per labelled place; features from a told module are pooled to (batch, p)."""
    plain = (
        seen.features.ndim == seen.outputs.ndim == 2 and codes.ndim == 1 and seen.outputs.shape[1] == head.outputs > 1
    )
    if plain and seen.features.shape[0] == seen.outputs.shape[0] == codes.shape[0]:  # the usual case, without detours
        return seen.features, seen.outputs, codes.to(seen.features.device)
    axis = 1 if head.convolution else -1
    features, logits = seen.features, seen.outputs.movedim(axis, -1)
    if logits.shape[-1] != head.outputs:
        raise InputError(
            f"{head.outputs} logits from the head {head.name!r}",
            f"an output of shape {tuple(seen.outputs.shape)}",
            "give counts=, one for each class, or name another layer with head=",
        )
    if logits.ndim == 1:  # a single example without a batch axis
        features, logits = features[None], logits[None]
    if not told_features:
        features = features.movedim(axis, -1)
    elif features.ndim > 2:
        features = _pooled(features, head)
    places = logits.shape[:-1]
    if codes.ndim == 1 and len(codes) == places.numel() > len(logits):  # flattened, as `cross_entropy` wants them
        codes = codes.reshape(places)
    if codes.shape != places and codes.shape == (*places, 1):
        codes = codes[..., 0]
    if codes.shape == places[:1] != places and head.convolution:
        inner = tuple(range(1, len(places)))
        logits, places = logits.mean(dim=inner), places[:1]
        features = features if told_features else features.mean(dim=inner)
    if codes.shape != places or features.shape[:-1] != places:
        raise InputError(
            f"one label for each of the {' x '.join(map(str, places))} rows that entered the head",
            f"labels of shape {tuple(codes.shape)} for features of shape {tuple(seen.features.shape)}",
            "call update(labels) once after each forward pass, with the labels of that batch",
        )
    logits = logits.reshape(-1, head.outputs)
    if head.outputs == 1:
        logits = torch.cat([-logits / 2, logits / 2], dim=1)
    return features.reshape(-1, features.shape[-1]), logits, codes.reshape(-1).to(features.device)


def _pooled(features: torch.Tensor, head: Head) -> torch.Tensor:
    """Means over the places of a map (batch, p, ...) or of a sequence (batch, places, p); p is the head's width where
    one of the axes is that long, else a map of pictures is taken to have its features second."""
    second, last = (features.shape[axis] == head.width for axis in (1, -1))
    if last and not (second and head.convolution):
        return features.flatten(1, -2).mean(dim=1)
    if second or features.ndim > 3:
        return features.flatten(2).mean(dim=2)
    raise InputError(
        f"features of shape (batch, p), (batch, p, ...) or (batch, places, p) with p = {head.width} as the head has",
        f"shape {tuple(features.shape)}",
        "name a layer with one row per example (features=)",
    )
