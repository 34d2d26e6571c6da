"""Settings of network runs as JSON, and what follows from them without training: class sizes, recipe, forecasts.

images, shrink       image set, and the factor by which its pictures are made smaller
network              a name of `learners.deep.networks`, with widths (an MLP) or width (others)
majority_classes, minority_classes, majority_size
ratio | minority_size  R = n_A / n_B (null: no minority example at all), or n_B itself
batch, rate, weight_decay, steps | epochs
oversample, reweight, adjust   minority examples listed so often, weighted so much; logit adjustment
test_per_class, course         test images per class; whether the course of training is measured
"""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from lopsided.core.validation import IntArray
from lopsided.data.subsampling import two_size_counts

if TYPE_CHECKING:
    from lopsided.learners.deep.recipe import TrainingRecipe

MOMENTUM = 0.9
# A network of two hidden layers on MNIST at half resolution, with enough weight decay that 600 steps reach the end:
# about 0.7 s of one core, and the ratios at which classes are lost lie within reach of 300 images a class.
SMALL = {
    "images": "mnist",
    "shrink": 2,
    "network": "mlp",
    "widths": [128, 64],
    "majority_classes": 5,
    "minority_classes": 5,
    "majority_size": 300,
    "batch": 64,
    "rate": 0.1,
    "weight_decay": 1e-2,
    "steps": 600,
}
# Half a minute of one core.
LARGE = {
    **SMALL,
    "images": "fashion-mnist",
    "shrink": 1,
    "widths": [512, 256],
    "majority_size": 500,
    "weight_decay": 5e-3,
    "steps": 3000,
}
# The papers' convolutional networks at a quarter of their width, on a tenth of their data: about a quarter of an hour.
VGG = {
    **LARGE,
    "images": "cifar-10",
    "network": "vgg-13",
    "width": 16,
    "batch": 128,
    "steps": 4000,
    "test_per_class": 200,
}
del VGG["widths"]
RESNET = {**VGG, "network": "resnet-18"}
GARMENTS = {**VGG, "images": "fashion-mnist", "network": "vgg-11"}
# The papers' networks for the quick scale: an eighth of their width, pictures of half the side, 200 a class. Three to
# ten seconds of one core; a short run needs more weight decay to come near its end.
SLIM_VGG = {
    **SMALL,
    "images": "cifar-10",
    "network": "vgg-13",
    "width": 8,
    "majority_classes": 7,
    "minority_classes": 3,
    "majority_size": 200,
    "batch": 32,
    "steps": 300,
    "test_per_class": 100,
}
del SLIM_VGG["widths"]
SLIM_RESNET = {**SLIM_VGG, "network": "resnet-18", "steps": 200}
SLIM_GARMENTS = {**SLIM_VGG, "images": "fashion-mnist", "network": "vgg-11"}
# A few steps: the tests see that everything fits together.
TINY = {**SMALL, "majority_size": 40, "widths": [16, 8], "batch": 16, "steps": 30, "test_per_class": 20}
SLIM_ADDED = "the paper's networks were added to the quick scale; their sizes were chosen on a seed of no other use."
POWER_ADDED = "parts too small to detect became unresolved instead of failing, before the stored numbers were seen."
TINY_VGG = {**SLIM_GARMENTS, "images": "mnist", "majority_size": 40, "batch": 16, "steps": 4, "test_per_class": 20}
SPLITS = ((3, 7), (5, 5), (7, 3))


def varied(base: Mapping[str, Any], **values: Sequence[Any]) -> list[dict[str, Any]]:
    """All combinations of the values, each with the rest of `base`."""
    return [{**base, **dict(zip(values, chosen, strict=True))} for chosen in product(*values.values())]


def split_over(
    base: Mapping[str, Any], splits: Sequence[tuple[int, int]], **values: Sequence[Any]
) -> list[dict[str, Any]]:
    """`base` with each (majority, minority) number of classes, and with all combinations of the values."""
    parts = [{**base, "majority_classes": large, "minority_classes": small} for large, small in splits]
    return [setting for part in parts for setting in varied(part, **values)]


def class_sizes(settings: Mapping[str, Any]) -> IntArray:
    """Examples per class, majority first."""
    large, small, size = settings["majority_classes"], settings["minority_classes"], settings["majority_size"]
    if "minority_size" in settings:
        return np.array([size] * large + [settings["minority_size"]] * small, dtype=np.int64)
    ratio = math.inf if settings["ratio"] is None else float(settings["ratio"])
    return two_size_counts(large, small, size, ratio)


def effective_sizes(settings: Mapping[str, Any]) -> IntArray:
    """Class sizes as the loss sees them: times the rate of oversampling or the weight."""
    sizes = class_sizes(settings)
    sizes[settings["majority_classes"] :] *= settings.get("oversample", 1) * settings.get("reweight", 1)
    return sizes


def training_recipe(settings: Mapping[str, Any]) -> "TrainingRecipe":
    """SGD as the settings say, annealed at one and two thirds."""
    from lopsided.learners.deep.recipe import TrainingRecipe

    return TrainingRecipe(
        steps=settings.get("steps"),
        epochs=settings.get("epochs"),
        batch_size=settings["batch"],
        rate=settings["rate"],
        momentum=MOMENTUM,
        weight_decay=settings["weight_decay"],
    )
