"""Small networks on small pictures, seconds each: what the families on trained networks share."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lopsided.core.validation import FloatArray, IntArray
from lopsided.experiments.claim import Settings

CLASSES = 10
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "mlp 1": ("mlp", {"widths": (96,)}),
    "mlp 2": ("mlp", {"widths": (128, 64)}),
    "mlp 3": ("mlp", {"widths": (128, 96, 64)}),
    "plain mlp 2": ("mlp-plain", {"widths": (128, 64)}),
    "small cnn": ("small-cnn", {"width": 8}),
}


@dataclass(frozen=True)
class Pictures:
    """Inputs n x channels x height x width in [0, 1], and labels."""

    inputs: Any
    labels: IntArray


@dataclass(frozen=True)
class Ended:
    """The last layer after training, and how the network does."""

    classifier: FloatArray
    loss: float
    weight_energy: float
    centred_mean_energy: float
    recall: FloatArray  # on test pictures, by class


@lru_cache(maxsize=4)
def pictures(name: str, split: str) -> Pictures:
    """A set at half its size (mean of 2 x 2 pixels); digits as they are."""
    from lopsided.data.images import load_images

    found = load_images(name, split="train" if split == "train" else "test", at_most=12_000)
    values = np.asarray(found.pixels, dtype=np.float32)
    values = values[:, None] if values.ndim == 3 else values.transpose(0, 3, 1, 2)
    values = values / np.float32(values.max())
    if name != "digits":
        rows, channels, height, width = values.shape
        values = values.reshape(rows, channels, height // 2, 2, width // 2, 2).mean(axis=(3, 5))
    return Pictures(np.ascontiguousarray(values), np.asarray(found.labels, dtype=np.int64))


def largest_class(name: str) -> int:
    """The size of a majority class: what every class of the set can give."""
    return 120 if name == "digits" else 300


def trained(settings: Settings, counts: Sequence[int] | IntArray, seed: int, **changes: Any) -> Ended:
    """Train on a draw with these class counts and measure the last layer; `changes` go to `train`."""
    from lopsided.data.subsampling import subsample
    from lopsided.learners.deep.networks import build
    from lopsided.learners.deep.recipe import Recipe
    from lopsided.learners.deep.training import train
    from lopsided.measure.neural_collapse import neural_collapse

    source, test = pictures(settings["data"], "train"), pictures(settings["data"], "test")
    rows = subsample(source.labels, counts, seed)
    name, options = ARCHITECTURES[settings["network"]]
    network = build(name, source.inputs.shape[1:], CLASSES, seed=seed, **options)
    recipe = Recipe(
        steps=settings["steps"],
        batch_size=settings["batch"],
        rate=settings["rate"],
        momentum=settings["momentum"],
        weight_decay=settings["weight_decay"],
    )
    run = train(network, source.inputs[rows], source.labels[rows], recipe, seed=seed, threads=1, **changes)
    features = run.features(source.inputs[rows])
    found = neural_collapse(features, source.labels[rows], run.classifier, run.bias)
    predicted = run.predict(test.inputs)
    recall = [float(np.mean(predicted[test.labels == k] == k)) for k in range(CLASSES)]
    assert found.weight_energy is not None
    return Ended(run.classifier, run.loss, found.weight_energy, found.centred_mean_energy, np.array(recall))


def cosines(classifier: FloatArray) -> FloatArray:
    """cos(w_j, w_k) after centring over classes, which the softmax cannot see."""
    rows = classifier - classifier.mean(axis=0)
    lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    found: FloatArray = np.clip(rows @ rows.T / np.outer(lengths, lengths), -1.0, 1.0)
    return found
