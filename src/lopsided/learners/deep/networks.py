"""Networks by name. Every one is a `Classifier`, fits any input size that its pooling allows, and has no dropout.

| name | what |
|---|---|
| mlp, mlp-plain | 128-64 hidden units, with and without BatchNorm; `widths` changes them |
| small-cnn | two convolutions and one hidden layer, BatchNorm: seconds on one core |
| lenet-5 | LeCun et al. 1998, with ReLU and maximum pooling as is usual today |
| vgg-11, vgg-13 | Simonyan and Zisserman 2015 with BatchNorm for dropout and one linear layer, as in the LP paper |
| resnet-9 | a residual net of eight convolutions (DAWNBench), for CPUs |
| resnet-18 | He et al. 2016 in its form for 32 x 32 pictures: no pooling at the start |
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal

from torch.nn.functional import relu

from lopsided.core.errors import InputError
from lopsided.core.validation import check_choice
from lopsided.learners.deep.classifier import Classifier, initialise
from torch import Tensor, nn

Body = tuple[list[nn.Module], int]  # the layers that compute the features, and the number of features

# Channels of the 3 x 3 convolutions; 0 is maximum pooling.
_VGG = {
    11: (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0),
    13: (64, 64, 0, 128, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0),
}


def build(
    name: str,
    shape: Sequence[int],
    classes: int,
    *,
    seed: int = 0,
    head_bias: bool = True,
    widths: Sequence[int] | None = None,
    width: int | None = None,
) -> Classifier:
    """The network `name` for inputs of `shape` (channels, height, width; an MLP takes any) with weights from `seed`.

    widths: of an MLP's hidden layers. width: channels of the first layer of the small CNN, a VGG or a residual net.
    """
    check_choice(name, NETWORKS, "a network")
    options = {key: value for key, value in (("widths", widths), ("width", width)) if value is not None}
    try:
        layers, dimension = NETWORKS[name](tuple(int(length) for length in shape), **options)
    except TypeError as error:
        raise InputError(f"options of {name}", str(error).split(") got ")[-1], "leave them out") from None
    network = Classifier(nn.Sequential(*layers), dimension, int(classes), bias=head_bias)
    initialise(network, seed)
    return network


def hidden_layers(network: nn.Module) -> int:
    """Layers with weights before the last: the D of the survival law."""
    return sum(isinstance(module, (nn.Linear, nn.Conv2d)) for module in network.modules()) - 1


def _mlp(shape: Sequence[int], *, widths: Sequence[int] = (128, 64), batch_norm: bool = True) -> Body:
    """Inputs of any shape are flattened. BatchNorm has its own shift, so its layers have no bias."""
    layers: list[nn.Module] = [nn.Flatten()]
    inputs = math.prod(shape)
    for width in widths:
        layers.append(nn.Linear(inputs, width, bias=not batch_norm))
        if batch_norm:
            layers.append(nn.BatchNorm1d(width))
        layers.append(nn.ReLU())
        inputs = width
    return layers, inputs


def _small_cnn(shape: Sequence[int], *, width: int = 16) -> Body:
    """Convolutions of `width` and 2 `width` channels, each with pooling, and a hidden layer of 64: D = 3."""
    channels, height, wide = _picture(shape, 4)
    flat = 2 * width * (height // 4) * (wide // 4)
    first = [*_convolution(channels, width), nn.MaxPool2d(2)]
    second = [*_convolution(width, 2 * width), nn.MaxPool2d(2), nn.Flatten()]
    return [*first, *second, nn.Linear(flat, 64, bias=False), nn.BatchNorm1d(64), nn.ReLU()], 64


def _lenet_5(shape: Sequence[int]) -> Body:
    """Two 5 x 5 convolutions (6 and 16 channels) with pooling, then 120 and 84 hidden units; no BatchNorm."""
    channels, height, width = _picture(shape, 14)
    padding = 2 if height < 32 else 0  # the original takes 32 x 32; MNIST is padded to that
    side = [(length + 2 * padding - 4) // 2 for length in (height, width)]
    flat = 16 * ((side[0] - 4) // 2) * ((side[1] - 4) // 2)
    first = [nn.Conv2d(channels, 6, 5, padding=padding), nn.ReLU(), nn.MaxPool2d(2)]
    second = [nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    return [*first, *second, nn.Linear(flat, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU()], 84


def _vgg(shape: Sequence[int], *, depth: Literal[11, 13], width: int = 64) -> Body:
    """VGG with BatchNorm after every convolution, average pooling to one pixel, and one linear layer on 512 features.

    `width` scales all channels: 16 is a quarter of the size for CPUs.
    """
    inputs, height, wide = _picture(shape, 8)
    layers: list[nn.Module] = []
    smallest = min(height, wide)
    for entry in _VGG[depth]:
        if entry == 0:
            # Small pictures are one pixel wide before the last poolings, which would leave nothing.
            if smallest >= 2:
                layers.append(nn.MaxPool2d(2))
                smallest //= 2
            continue
        outputs = entry * width // 64
        layers += _convolution(inputs, outputs)
        inputs = outputs
    return [*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten()], inputs


def _resnet_9(shape: Sequence[int], *, width: int = 64) -> Body:
    """Convolutions of 1, 2, 4, 8 times `width`, a residual pair after the second and the fourth, maximum pooling."""
    channels, _, _ = _picture(shape, 8)
    start = [*_convolution(channels, width), *_convolution(width, 2 * width), nn.MaxPool2d(2)]
    middle = [_ResidualPair(2 * width), *_convolution(2 * width, 4 * width), nn.MaxPool2d(2)]
    end = [*_convolution(4 * width, 8 * width), nn.MaxPool2d(2), _ResidualPair(8 * width)]
    return [*start, *middle, *end, nn.AdaptiveMaxPool2d(1), nn.Flatten()], 8 * width


def _resnet_18(shape: Sequence[int], *, width: int = 64) -> Body:
    """One convolution, four stages of two blocks with 1, 2, 4 and 8 times `width` channels, average pooling."""
    channels, _, _ = _picture(shape, 8)
    layers, inputs = _convolution(channels, width), width
    for stage in range(4):
        outputs = width * 2**stage
        layers += [_Block(inputs, outputs, 1 if stage == 0 else 2), _Block(outputs, outputs, 1)]
        inputs = outputs
    return [*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten()], inputs


NETWORKS: dict[str, Callable[..., Body]] = {
    "mlp": _mlp,
    "mlp-plain": lambda shape, **options: _mlp(shape, batch_norm=False, **options),
    "small-cnn": _small_cnn,
    "lenet-5": _lenet_5,
    "vgg-11": lambda shape, **options: _vgg(shape, depth=11, **options),
    "vgg-13": lambda shape, **options: _vgg(shape, depth=13, **options),
    "resnet-9": _resnet_9,
    "resnet-18": _resnet_18,
}


def _picture(shape: Sequence[int], least: int) -> tuple[int, int, int]:
    """Channels, height and width of pictures large enough for a network."""
    if len(shape) != 3 or min(shape[1:]) < least:
        expected = f"pictures of shape (channels, height, width), at least {least} pixels wide"
        raise InputError(expected, tuple(shape), "use an mlp")
    return int(shape[0]), int(shape[1]), int(shape[2])


def _convolution(inputs: int, outputs: int, *, stride: int = 1) -> list[nn.Module]:
    """3 x 3 convolution, BatchNorm, ReLU."""
    return [
        nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    ]


class _Block(nn.Module):  # type: ignore[misc]  # PyTorch is not typed here
    """relu(x + BN(conv(relu(BN(conv(x)))))), with a 1 x 1 convolution on x where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(*_convolution(inputs, outputs, stride=stride), *_convolution(outputs, outputs)[:2])
        self.shortcut = (
            nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs))
            if stride != 1 or inputs != outputs
            else nn.Identity()
        )

    def forward(self, inputs: Tensor) -> Tensor:
        return relu(self.inner(inputs) + self.shortcut(inputs))


class _ResidualPair(nn.Module):  # type: ignore[misc]
    """x + two convolutions of x."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(*_convolution(channels, channels), *_convolution(channels, channels))

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs + self.layers(inputs)
