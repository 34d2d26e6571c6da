"""A network as the papers see it: a body that makes features h(x), and a last linear layer, logits = W h(x) + b."""

import math

import torch
from lopsided.core.seeds import generator
from torch import Tensor, nn


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
