"""Residual networks: ResNet-18 in the form for 32 x 32 pictures, and the eight convolutions of ResNet-9."""

from collections.abc import Sequence

from torch.nn.functional import relu

from lopsided.learners.deep.classifier import Classifier
from lopsided.learners.deep.convolutional import convolution, picture
from torch import Tensor, nn


class Block(nn.Module):  # type: ignore[misc]  # PyTorch is not typed here
    """relu(x + BN(conv(relu(BN(conv(x)))))), with a 1 x 1 convolution on x where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            *convolution(inputs, outputs, stride=stride),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        changes = stride != 1 or inputs != outputs
        self.shortcut = (
            nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs))
            if changes
            else nn.Identity()
        )

    def forward(self, inputs: Tensor) -> Tensor:
        """The block's output."""
        return relu(self.inner(inputs) + self.shortcut(inputs))


class Residual(nn.Module):  # type: ignore[misc]
    """x + layers(x)."""

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, inputs: Tensor) -> Tensor:
        """The sum."""
        return inputs + self.layers(inputs)


def resnet_18(shape: Sequence[int], classes: int, *, width: int = 64, head_bias: bool = True) -> Classifier:
    """One convolution, four stages of two blocks with 1, 2, 4 and 8 times `width` channels, average pooling."""
    channels, _, _ = picture(shape, 8)
    layers: list[nn.Module] = [*convolution(channels, width)]
    inputs = width
    for stage in range(4):
        outputs = width * 2**stage
        layers += [Block(inputs, outputs, 1 if stage == 0 else 2), Block(outputs, outputs, 1)]
        inputs = outputs
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return Classifier(nn.Sequential(*layers), inputs, classes, bias=head_bias)


def resnet_9(shape: Sequence[int], classes: int, *, width: int = 64, head_bias: bool = True) -> Classifier:
    """Convolutions of 1, 2, 4, 8 times `width`, a residual pair after the second and the fourth, maximum pooling."""
    channels, _, _ = picture(shape, 8)

    def pair(count: int) -> Residual:
        return Residual([*convolution(count, count), *convolution(count, count)])

    layers: list[nn.Module] = [
        *convolution(channels, width),
        *convolution(width, 2 * width),
        nn.MaxPool2d(2),
        pair(2 * width),
        *convolution(2 * width, 4 * width),
        nn.MaxPool2d(2),
        *convolution(4 * width, 8 * width),
        nn.MaxPool2d(2),
        pair(8 * width),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
    ]
    return Classifier(nn.Sequential(*layers), 8 * width, classes, bias=head_bias)
