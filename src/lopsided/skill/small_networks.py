"""Small networks on small pictures, trained in seconds, for the families on trained networks.

A task names the set, its classes in order of size, the network and its training. `trained` returns what is kept of a
run. The Gram matrix of the rows of the last layer (centred over classes, which does not change the softmax) has all
angles between classes, so a question about angles can be changed without training again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lopsided.core.validation import FloatArray, IntArray
from lopsided.engine.task import Numbers, Settings

if TYPE_CHECKING:
    from numpy.random import Generator

CLASSES = 10
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "mlp 1": ("mlp", {"widths": (96,)}),
    "mlp 2": ("mlp", {"widths": (128, 64)}),
    "mlp 3": ("mlp", {"widths": (128, 96, 64)}),
    "plain mlp 1": ("mlp-plain", {"widths": (96,)}),
    "plain mlp 2": ("mlp-plain", {"widths": (128, 64)}),
    "small cnn": ("small-cnn", {"width": 8}),
}
HIDDEN_LAYERS = {"mlp 1": 1, "mlp 2": 2, "mlp 3": 3, "plain mlp 1": 1, "plain mlp 2": 2, "small cnn": 3}
REPEATS = 2
SHORT_PILOT = 0.02  # of the steps of a run
_LEAST_SHORT_STEPS = 20


@dataclass(frozen=True)
class SmallPictures:
    """Inputs n x channels x height x width in [0, 1], and labels."""

    inputs: Any
    labels: IntArray


@lru_cache(maxsize=8)
def pictures(name: str, split: str) -> SmallPictures:
    """A set at half its size; digits as they are."""
    inputs, labels = read_pictures(name, split)
    return SmallPictures(np.ascontiguousarray(halved(inputs)), labels)


def read_pictures(name: str, split: str) -> tuple[Any, IntArray]:
    """Inputs as above and labels, of the first 12,000; CIFAR-100-LT, whose tail is its own, in full."""
    from lopsided.data.images import load_images

    most = None if name == "cifar-100-lt" else 12_000
    found = load_images(name, split="train" if split == "train" else "test", at_most=most)
    values = np.asarray(found.pixels, dtype=np.float32)
    values = values[:, None] if values.ndim == 3 else values.transpose(0, 3, 1, 2)
    return values / np.float32(values.max()), np.asarray(found.labels, dtype=np.int64)


def halved(values: Any) -> Any:
    """Pictures at half their size, the mean of 2 x 2 pixels; small ones as they are."""
    rows, channels, height, width = values.shape
    if height < 28:
        return values
    return values.reshape(rows, channels, height // 2, 2, width // 2, 2).mean(axis=(3, 5))


def random_training(random: "Generator") -> dict[str, Any]:
    """Set, classes, network and training of a task, drawn from what small networks are trained with.

    The number of steps is chosen so that weight decay has removed the initial weights: the sum of rate x decay / (1 -
    momentum) over the training, `forgetting`, is 4 if 500 to 1600 steps allow it. If it is less, the run has not
    converged, which a recipe can see from the settings.
    """
    network = str(random.choice(list(ARCHITECTURES), p=[0.2, 0.25, 0.15, 0.1, 0.15, 0.15]))
    optimiser = str(random.choice(["sgd", "adamw"], p=[0.85, 0.15]))
    plain, momentum = network.startswith("plain"), 0.0
    if optimiser == "adamw":
        rate, lowest, highest = float(random.choice([1e-3, 3e-3])), 0.5, 4.0
    else:
        momentum = float(random.choice([0.0, 0.9], p=[0.3, 0.7]))
        rate = float(random.choice([0.03, 0.1, 0.2] if momentum else [0.1, 0.3]))
        rate = min(rate, 0.05) if plain and momentum else rate  # larger steps can diverge without BatchNorm
        lowest, highest = (4e-3, 2e-2) if plain else (3e-3, 3e-2)
    classes = int(random.choice([3, 4, 5, 6, 8, 10], p=[0.08, 0.1, 0.12, 0.1, 0.15, 0.45]))
    data = str(random.choice(["mnist", "fashion-mnist", "digits", "cifar-10"], p=[0.3, 0.35, 0.15, 0.2]))
    settings: dict[str, Any] = {
        "data": data,
        "classes": [int(label) for label in random.permutation(CLASSES)[:classes]],
        "largest": 120 if data == "digits" else int(random.choice([300, 600])),
        "network": network,
        "optimiser": optimiser,
        "schedule": str(random.choice(["cuts", "cosine"], p=[0.6, 0.4])),
        "weight_decay": float(f"{np.exp(random.uniform(np.log(lowest), np.log(highest))):.2g}"),
        "rate": rate,
        "momentum": momentum,
        "batch": int(random.choice([32, 64, 128])),
    }
    mean_rate = rate * (0.37 if settings["schedule"] == "cuts" else 0.5) / (1 - momentum)
    most = 900 if network == "small cnn" else 1600
    settings["steps"] = int(np.clip(4.0 / (mean_rate * settings["weight_decay"]), 500, most))
    return settings


def trained(settings: Settings, counts: Sequence[int] | IntArray, seed: int, *, steps: int | None = None) -> Numbers:
    """Train on a sample with these class counts and record the geometry of the last layer and its features.

    `steps` ends the training early, at the first step size, for a cheap pilot.
    """
    from lopsided.data.subsampling import subsample
    from lopsided.learners.deep.networks import build
    from lopsided.learners.deep.recipe import TrainingRecipe
    from lopsided.learners.deep.training import train

    source, codes = _chosen(settings, "train")
    rows = subsample(codes, counts, seed)
    inputs, labels = source[rows], codes[rows]
    classes = len(settings["classes"])
    name, options = ARCHITECTURES[settings["network"]]
    network = build(name, inputs.shape[1:], classes, seed=seed, **options)
    recipe = TrainingRecipe(
        steps=steps or settings["steps"],
        batch_size=settings["batch"],
        rate=settings["rate"],
        momentum=settings["momentum"],
        weight_decay=settings["weight_decay"],
        optimiser=settings["optimiser"],
        schedule="cuts" if steps else settings["schedule"],
        anneal_at=() if steps else (1 / 3, 2 / 3),
    )
    run = train(network, inputs, labels, recipe, seed=seed, threads=1)
    features = np.asarray(run.features(inputs), dtype=np.float64)
    logits = features @ run.classifier.T + run.bias
    means = np.array([features[labels == k].mean(axis=0) for k in range(classes)])
    test_inputs, test_codes = _chosen(settings, "test")
    predicted = run.predict(test_inputs)
    losses = np.logaddexp.reduce(logits, axis=1) - logits[np.arange(labels.size), labels]
    halfway = run.history[len(run.history) // 2]
    return {
        "gram": _rounded(_gram(run.classifier)),
        "mean_gram": _rounded(_gram(means)),
        "scatter": float(np.mean(np.sum((features - means[labels]) ** 2, axis=1))),
        "loss": run.loss,
        "halfway_loss": halfway.loss,
        "losses": _rounded(np.array([losses[labels == k].mean() for k in range(classes)])),
        "right": _rounded(np.array([np.mean(logits[labels == k].argmax(axis=1) == k) for k in range(classes)])),
        "recall": _rounded(np.array([np.mean(predicted[test_codes == k] == k) for k in range(classes)])),
    }


def repeated(settings: Settings, counts: Sequence[int] | IntArray, seed: int) -> list[Numbers]:
    """`trained` with the `REPEATS` seeds after this one, which is reserved for what a forecaster may see."""
    return [trained(settings, counts, seed + 1 + place) for place in range(REPEATS)]


def mean_cosines(runs: Sequence[Numbers]) -> FloatArray:
    """Mean over runs of the cosines between classifiers."""
    found: FloatArray = np.mean([cosines_of_gram(run["gram"]) for run in runs], axis=0)
    return found


def short_steps(settings: Settings) -> int:
    """2 % of the steps."""
    return max(_LEAST_SHORT_STEPS, round(SHORT_PILOT * int(settings["steps"])))


def class_similarity(settings: Settings, counts: Sequence[int] | IntArray, seed: int) -> Numbers:
    """What the training pictures show before any training: angles of class means, scatter, length of the inputs."""
    from lopsided.data.subsampling import subsample

    source, codes = _chosen(settings, "train")
    rows = subsample(codes, counts, seed)
    flat, labels = source[rows].reshape(rows.size, -1).astype(np.float64), codes[rows]
    means = np.array([flat[labels == k].mean(axis=0) for k in range(len(settings["classes"]))])
    centred = flat - flat.mean(axis=0)
    return {
        "mean_cosines": _rounded(cosines_of_gram(_gram(means))),
        "scatter": float(np.mean(np.sum((flat - means[labels]) ** 2, axis=1)) / np.mean(np.sum(centred**2, axis=1))),
        "input_norm": float(np.sqrt(np.mean(np.sum(flat**2, axis=1)))),
        "centred_norm": float(np.sqrt(np.mean(np.sum(centred**2, axis=1)))),
    }


def cosines_of_gram(gram: Any) -> FloatArray:
    """cos = g_jk / sqrt(g_jj g_kk)."""
    inner = np.asarray(gram, dtype=np.float64)
    lengths = np.sqrt(np.maximum(np.diag(inner), 1e-300))
    found: FloatArray = np.clip(inner / np.outer(lengths, lengths), -1.0, 1.0)
    return found


def _chosen(settings: Settings, split: str) -> tuple[Any, IntArray]:
    """The pictures of the task's classes, coded by their place in the task."""
    found = pictures(settings["data"], split)
    place = np.full(CLASSES, -1)
    place[settings["classes"]] = np.arange(len(settings["classes"]))
    codes = place[found.labels]
    return found.inputs[codes >= 0], codes[codes >= 0].astype(np.int64)


def _gram(rows: FloatArray) -> FloatArray:
    centred = rows - rows.mean(axis=0)
    inner: FloatArray = centred @ centred.T
    return inner


def _rounded(values: FloatArray) -> list[Any]:
    """Five significant digits: enough for any question, and a smaller store."""
    return [_rounded(row) if np.ndim(row) else float(f"{row:.5g}") for row in values]
