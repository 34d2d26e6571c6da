"""Convolutional networks without shortcuts: LeNet-5, VGG-11 and VGG-13 with BatchNorm, and a small one for CPUs."""

from collections.abc import Sequence
from typing import Literal

from lopsided.core.errors import InputError
from lopsided.learners.deep.classifier import Classifier
from torch import nn

# Channels of the 3 x 3 convolutions; 0 is maximum pooling.
_VGG = {
    11: (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0),
    13: (64, 64, 0, 128, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0),
}


def convolution(inputs: int, outputs: int, *, stride: int = 1) -> list[nn.Module]:
    """3 x 3 convolution, BatchNorm, ReLU."""
    return [
        nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    ]


def small_cnn(shape: Sequence[int], classes: int, *, width: int = 16, head_bias: bool = True) -> Classifier:
    """Convolutions of `width` and 2 `width` channels, each with pooling, and a hidden layer of 64: D = 3."""
    channels, height, wide = picture(shape, 4)
    flat = 2 * width * (height // 4) * (wide // 4)
    layers = [
        *convolution(channels, width),
        nn.MaxPool2d(2),
        *convolution(width, 2 * width),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(flat, 64, bias=False),
        nn.BatchNorm1d(64),
        nn.ReLU(),
    ]
    return Classifier(nn.Sequential(*layers), 64, classes, bias=head_bias)


def lenet_5(shape: Sequence[int], classes: int, *, head_bias: bool = True) -> Classifier:
    """Two 5 x 5 convolutions (6 and 16 channels) with pooling, then 120 and 84 hidden units; no BatchNorm."""
    channels, height, width = picture(shape, 14)
    padding = 2 if height < 32 else 0  # the original takes 32 x 32; MNIST is padded to that
    side = [(length + 2 * padding - 4) // 2 for length in (height, width)]
    flat = 16 * ((side[0] - 4) // 2) * ((side[1] - 4) // 2)
    layers = [
        nn.Conv2d(channels, 6, 5, padding=padding),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(flat, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
    ]
    return Classifier(nn.Sequential(*layers), 84, classes, bias=head_bias)


def vgg(
    shape: Sequence[int], classes: int, *, depth: Literal[11, 13], width: int = 64, head_bias: bool = True
) -> Classifier:
    """VGG with BatchNorm after every convolution, average pooling to one pixel, and one linear layer on 512 features.

    `width` scales all channels: 16 is a quarter of the size for CPUs.
    """
    inputs, height, wide = picture(shape, 16)
    layers: list[nn.Module] = []
    smallest = min(height, wide)
    for entry in _VGG[depth]:
        if entry == 0:
            # 28 x 28 pictures are one pixel wide after four poolings; a fifth would leave nothing.
            if smallest >= 2:
                layers.append(nn.MaxPool2d(2))
                smallest //= 2
            continue
        outputs = entry * width // 64
        layers += convolution(inputs, outputs)
        inputs = outputs
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return Classifier(nn.Sequential(*layers), inputs, classes, bias=head_bias)


def picture(shape: Sequence[int], least: int) -> tuple[int, int, int]:
    """Channels, height and width of pictures large enough for a network."""
    if len(shape) != 3 or min(shape[1:]) < least:
        raise InputError(
            f"pictures of shape (channels, height, width), at least {least} pixels wide", tuple(shape), "use an mlp"
        )
    return int(shape[0]), int(shape[1]), int(shape[2])
