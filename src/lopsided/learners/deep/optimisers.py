"""SGD and AdamW on all parameters as one vector, which saves two thirds of the optimiser's time on small networks:

    SGD     v <- momentum v + (gradient + weight_decay w);   w <- w - rate v
    AdamW   m <- 0.9 m + 0.1 g;   v <- 0.999 v + 0.001 g^2;
            w <- (1 - rate weight_decay) w - rate m^ / (sqrt(v^) + 1e-8)          (Loshchilov and Hutter 2019)

m^ and v^ are m and v over 1 - beta^t. The decay of AdamW is not part of the gradient, so it is not divided by sqrt(v).
The digits of SGD are those of torch.optim.SGD (its loop form). The state is one tensor to keep in a checkpoint.
"""

import torch
from torch import Tensor, nn

_MEAN, _SQUARE, _EPSILON = 0.9, 0.999, 1e-8


class FlatSGD:
    """Owns the storage of a network's parameters and gradients; the modules see views of it."""

    def __init__(self, network: nn.Module, *, momentum: float, weight_decay: float) -> None:
        parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
        self.weights: Tensor = torch.cat([_stored(parameter.detach()).reshape(-1) for parameter in parameters])
        self.gradient: Tensor = torch.zeros_like(self.weights)
        self.velocity: Tensor = torch.zeros_like(self.weights)
        self.momentum, self.weight_decay = momentum, weight_decay
        self.taken = 0  # steps so far
        start = 0
        for parameter in parameters:
            end = start + parameter.numel()
            parameter.data, parameter.grad = (
                _shaped(vector[start:end], parameter) for vector in (self.weights, self.gradient)
            )
            start = end

    def clear(self) -> None:
        """Set the gradient to zero, in place: backward adds to it."""
        self.gradient.zero_()

    def step(self, rate: float) -> None:
        """One update."""
        self.taken += 1
        if self.weight_decay:
            self.gradient.add_(self.weights, alpha=self.weight_decay)
        self.velocity.mul_(self.momentum).add_(self.gradient)
        self.weights.add_(self.velocity, alpha=-rate)


class FlatAdamW(FlatSGD):
    """`velocity` holds m and v, one above the other, so that a checkpoint is one tensor as with SGD."""

    def __init__(self, network: nn.Module, *, weight_decay: float) -> None:
        super().__init__(network, momentum=_MEAN, weight_decay=weight_decay)
        self.velocity = torch.zeros(2, self.weights.numel(), device=self.weights.device)

    def step(self, rate: float) -> None:
        """One update."""
        self.taken += 1
        mean, square = self.velocity[0], self.velocity[1]
        mean.lerp_(self.gradient, 1.0 - _MEAN)
        square.mul_(_SQUARE).addcmul_(self.gradient, self.gradient, value=1.0 - _SQUARE)
        scale = (square / (1.0 - _SQUARE**self.taken)).sqrt_().add_(_EPSILON)
        self.weights.mul_(1.0 - rate * self.weight_decay)
        self.weights.addcdiv_(mean, scale, value=-rate / (1.0 - _MEAN**self.taken))


def _by_pixel(tensor: Tensor) -> bool:
    """Whether this is the weight of a convolution with channels last in memory, the faster order on CPUs. For 1 x 1
    pixels both orders are the same; PyTorch decides by the strides."""
    last = tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
    return bool(last and tensor.stride(3) == tensor.shape[1])


def _stored(tensor: Tensor) -> Tensor:
    """The tensor with axes in the order of memory."""
    return tensor.permute(0, 2, 3, 1) if _by_pixel(tensor) else tensor


def _shaped(part: Tensor, like: Tensor) -> Tensor:
    """A view of a piece of the vector with the shape and the memory order of `like`."""
    shaped = part.view(_stored(like).shape)
    return shaped.permute(0, 3, 1, 2) if _by_pixel(like) else shaped
