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

from collections.abc import Callable, Sequence

from lopsided.core.errors import InputError
from lopsided.learners.deep.classifier import Classifier, initialise
from lopsided.learners.deep.convolutional import lenet_5, small_cnn, vgg
from lopsided.learners.deep.perceptron import mlp
from lopsided.learners.deep.residual import resnet_9, resnet_18
from torch import nn

Builder = Callable[..., Classifier]
NETWORKS: dict[str, Builder] = {
    "mlp": mlp,
    "mlp-plain": lambda shape, classes, **options: mlp(shape, classes, batch_norm=False, **options),
    "small-cnn": small_cnn,
    "lenet-5": lenet_5,
    "vgg-11": lambda shape, classes, **options: vgg(shape, classes, depth=11, **options),
    "vgg-13": lambda shape, classes, **options: vgg(shape, classes, depth=13, **options),
    "resnet-9": resnet_9,
    "resnet-18": resnet_18,
}


def build(name: str, shape: Sequence[int], classes: int, *, seed: int = 0, **options: object) -> Classifier:
    """The network `name` for inputs of `shape` (channels, height, width; an MLP takes any) with weights from `seed`.

    Options: `widths` of an MLP, `width` of a residual net or the small CNN (channels of its first layer), `head_bias`.
    """
    if name not in NETWORKS:
        raise InputError(f"a network among {', '.join(NETWORKS)}", repr(name), "name one of those")
    try:
        network = NETWORKS[name](tuple(int(length) for length in shape), int(classes), **options)
    except TypeError as error:
        raise InputError(f"options that {name} knows", str(error).split(") ")[-1], "leave them out") from None
    initialise(network, seed)
    return network


def hidden_layers(network: nn.Module) -> int:
    """Layers with weights before the last: the D of the survival law."""
    weighted = [module for module in network.modules() if isinstance(module, (nn.Linear, nn.Conv2d))]
    return len(weighted) - 1


def has_batch_norm(network: nn.Module) -> bool:
    """Does any layer normalise over the batch?"""
    return any(isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)) for module in network.modules())
