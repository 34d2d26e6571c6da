"""Multi-layer perceptrons: linear layers and ReLU, each linear layer followed by BatchNorm or not."""

import math
from collections.abc import Sequence

from lopsided.learners.deep.classifier import Classifier
from torch import nn


def mlp(
    shape: Sequence[int],
    classes: int,
    *,
    widths: Sequence[int] = (128, 64),
    batch_norm: bool = True,
    head_bias: bool = True,
) -> Classifier:
    """Inputs of any shape are flattened. BatchNorm has its own shift, so its layers have no bias."""
    layers: list[nn.Module] = [nn.Flatten()]
    inputs = math.prod(shape)
    for width in widths:
        layers.append(nn.Linear(inputs, width, bias=not batch_norm))
        if batch_norm:
            layers.append(nn.BatchNorm1d(width))
        layers.append(nn.ReLU())
        inputs = width
    return Classifier(nn.Sequential(*layers), inputs, classes, bias=head_bias)
