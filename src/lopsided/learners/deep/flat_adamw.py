"""AdamW on all parameters as one vector (Loshchilov and Hutter 2019), with beta = (0.9, 0.999) and epsilon = 1e-8:

    m <- 0.9 m + 0.1 g;   v <- 0.999 v + 0.001 g^2;   w <- (1 - rate weight_decay) w - rate m^ / (sqrt(v^) + 1e-8)

m^ and v^ are m and v over 1 - beta^t. The decay is not part of the gradient, so it is not divided by sqrt(v).
"""

import torch
from lopsided.learners.deep.flat_sgd import FlatSGD
from torch import Tensor, nn

_MEAN, _SQUARE, _EPSILON = 0.9, 0.999, 1e-8


class FlatAdamW(FlatSGD):
    """`velocity` holds m and v, one above the other, so that a checkpoint is one tensor as with SGD."""

    def __init__(self, network: nn.Module, *, weight_decay: float) -> None:
        super().__init__(network, momentum=_MEAN, weight_decay=weight_decay)
        self.velocity: Tensor = torch.zeros(2, self.weights.numel())

    def step(self, rate: float) -> None:
        """One update."""
        self.taken += 1
        mean, square = self.velocity[0], self.velocity[1]
        mean.lerp_(self.gradient, 1.0 - _MEAN)
        square.mul_(_SQUARE).addcmul_(self.gradient, self.gradient, value=1.0 - _SQUARE)
        scale = (square / (1.0 - _SQUARE**self.taken)).sqrt_().add_(_EPSILON)
        self.weights.mul_(1.0 - rate * self.weight_decay)
        self.weights.addcdiv_(mean, scale, value=-rate / (1.0 - _MEAN**self.taken))
