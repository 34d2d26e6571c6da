"""What a network says about examples: last-layer features and logits as NumPy arrays, in batches, in eval mode."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import torch
from lopsided.core.errors import InputError
from lopsided.learners.deep.classifier import Classifier
from torch import Tensor, nn

FloatRows = NDArray[np.float32]
_BATCH = 512


def as_tensor(inputs: "NDArray[np.floating] | Tensor") -> Tensor:
    """float32, contiguous; shares memory with the array where it can."""
    if isinstance(inputs, Tensor):
        return inputs.to(torch.float32).contiguous()
    array = np.ascontiguousarray(inputs, dtype=np.float32)
    if not np.isfinite(array).all():
        raise InputError("finite inputs", "NaN or infinite entries", "remove or fill them first")
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def logits_of(network: nn.Module, inputs: "NDArray[np.floating] | Tensor", *, batch_size: int = _BATCH) -> FloatRows:
    """n x K."""
    return _in_batches(network, network, inputs, batch_size)


def features_of(network: Classifier, inputs: "NDArray[np.floating] | Tensor", *, batch_size: int = _BATCH) -> FloatRows:
    """n x p: what the last linear layer sees."""
    return _in_batches(network, network.features, inputs, batch_size)


def _in_batches(
    network: nn.Module, part: Callable[[Tensor], Tensor], inputs: "NDArray[np.floating] | Tensor", batch_size: int
) -> FloatRows:
    tensor = as_tensor(inputs)
    was_training = network.training
    network.eval()
    try:
        with torch.inference_mode():
            found = [part(tensor[start : start + batch_size]) for start in range(0, len(tensor), batch_size)]
            return np.asarray(torch.cat(found).numpy())
    finally:
        network.train(was_training)
