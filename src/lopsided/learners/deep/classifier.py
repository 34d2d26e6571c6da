"""A network as in the papers: a body that computes features h(x), and a last linear layer, logits = W h(x) + b.

Features and logits of many examples come as NumPy arrays, computed in batches, in eval mode.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import torch
from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from torch import Tensor, nn

Inputs: TypeAlias = NDArray[np.floating] | Tensor
FloatRows = NDArray[np.float32]
_BATCH = 512


class Classifier(nn.Module):  # type: ignore[misc]  # PyTorch is not typed here
    """body: inputs to features (n x p); head: the last linear layer."""

    def __init__(self, body: nn.Module, dimension: int, classes: int, *, bias: bool = True) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(dimension, classes, bias=bias)

    def features(self, inputs: Tensor) -> Tensor:
        """What the last layer sees."""
        return self.body(inputs)

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits."""
        return self.head(self.body(inputs))


def initialise(network: nn.Module, seed: int) -> None:
    """He's normal weights before a ReLU, 1/sqrt(p) uniform in the last layer, zero biases, BatchNorm at 1 and 0.

    Drawn by NumPy from the seed, so that PyTorch's version and global state do not matter.
    """
    stream = generator(seed, "initial weights")
    last = [module for module in network.modules() if isinstance(module, nn.Linear)][-1]
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, (nn.Linear, nn.Conv2d)):
                shape = tuple(module.weight.shape)
                inputs = math.prod(shape[1:])
                if module is last:
                    values = stream.uniform(-1.0, 1.0, shape) / math.sqrt(inputs)
                else:
                    values = stream.standard_normal(shape) * math.sqrt(2.0 / inputs)
                module.weight.copy_(torch.from_numpy(values))
                if module.bias is not None:
                    module.bias.zero_()


def as_tensor(inputs: Inputs) -> Tensor:
    """float32, contiguous; shares memory with the array where it can."""
    if isinstance(inputs, Tensor):
        return inputs.to(torch.float32).contiguous()
    array = np.ascontiguousarray(inputs, dtype=np.float32)
    if not np.isfinite(array).all():
        raise InputError("finite inputs", "NaN or infinite entries", "remove or fill them first")
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def logits_of(network: Classifier, inputs: Inputs) -> FloatRows:
    """n x K."""
    return _in_batches(network, network, inputs)


def features_of(network: Classifier, inputs: Inputs) -> FloatRows:
    """n x p: what the last linear layer sees."""
    return _in_batches(network, network.features, inputs)


def _in_batches(network: nn.Module, part: Callable[[Tensor], Tensor], inputs: Inputs) -> FloatRows:
    tensor = as_tensor(inputs)
    was_training, device = network.training, next(network.parameters()).device
    network.eval()
    try:
        with torch.inference_mode():
            return np.asarray(torch.cat([part(rows.to(device)).cpu() for rows in tensor.split(_BATCH)]).numpy())
    finally:
        network.train(was_training)
