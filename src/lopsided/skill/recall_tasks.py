"""Networks as people train them, drawn by a generator: data, architecture, optimiser, tail and length of the training.

With a ratio of R, sizes fall from the largest class to 1/R of it, geometrically, as a power of the rank, or in one
step. The forecaster sees a validation set of its own; the outcome is measured on a larger test set that it never sees.

Two kinds of draw, each with a salt of its own: the first has short tails of pictures and texts, most of them hard. The
wider one has what the first leaves out: easy classes, up to 300 of them (clusters with one or more centres), milder
tails, longer training, and validation sets of up to 200 examples a class. The held-out half is that of the latest draw
of each kind, the development half that of the first three draws; what was held out before is used up.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lopsided.core.seeds import generator
from lopsided.core.validation import IntArray
from lopsided.engine.task import Settings
from lopsided.skill.family import FRESH_SALT, halves_of, split_of
from lopsided.skill.small_networks import read_pictures

if TYPE_CHECKING:
    from numpy.random import Generator

FAMILY = "skill-recall-early"
SALT = 20261117  # of the first draw, and with it of its split into halves: no earlier family used it
WIDER_SALT = 20261119
SECOND_SALT, LATEST_SALT = 20261121, 20261122
# architecture -> number of tasks, largest number of steps that is feasible on two cores
NETWORKS = {
    "mlp": (44, 1500),
    "small resnet": (24, 400),
    "vit": (20, 400),
    "text transformer": (20, 450),
    "frozen backbone": (16, 1200),
    "fine-tuned backbone": (8, 60),
}
# of the wider draw; clusters for MLPs alone
WIDER_NETWORKS = {"mlp": 56, "small resnet": 10, "vit": 8, "text transformer": 8, "frozen backbone": 6}
PICTURES = ("digits", "mnist", "fashion-mnist", "cifar-10", "mnist and fashion-mnist", "cifar-100-lt")
_MOST_CLASSES = {"digits": 10, "mnist": 10, "fashion-mnist": 10, "cifar-10": 10, "mnist and fashion-mnist": 20}
TEST, TEST_OF_BACKBONES = 120, 60  # test examples of a class, at most


def tasks() -> Sequence[Settings]:
    """Specifications drawn by generators of their own."""
    developed, _, latest = _draws()
    return halves_of(FAMILY, development=developed, held_out=latest)


def used_up() -> Sequence[Settings]:
    """The tasks that were held out before these and were scored: the law is fitted to them as well."""
    developed, second, _ = _draws()
    both = halves_of(FAMILY, development=developed, held_out=second)
    return [settings for settings in both if split_of(FAMILY, settings) == "held-out"]


def _draws() -> tuple[list[Settings], list[Settings], list[Settings]]:
    """Of the development half, of the used-up one and of the held-out one, numbered throughout."""
    draws = (
        _draw(SALT, NETWORKS, _drawn),
        _draw(WIDER_SALT, WIDER_NETWORKS, _wider),
        _draw(FRESH_SALT, NETWORKS, _drawn),
        *(
            _draw(salt, *kind)
            for salt in (SECOND_SALT, LATEST_SALT)
            for kind in ((NETWORKS, _drawn), (WIDER_NETWORKS, _wider))
        ),
    )
    ends = np.cumsum([0, *(len(draw) for draw in draws)])
    numbered: list[Settings] = [{"index": index, **settings} for index, settings in enumerate(chain(*draws))]
    return numbered[: ends[3]], numbered[ends[3] : ends[5]], numbered[ends[5] :]


def _draw(
    salt: int, networks: Mapping[str, tuple[int, int] | int], task: Callable[["Generator", str], dict[str, Any]]
) -> list[dict[str, Any]]:
    """One task for each network, in random order."""
    random = generator(salt, "skill", "recall")
    many = [one if isinstance(one, int) else one[0] for one in networks.values()]
    return [task(random, str(network)) for network in random.permutation(np.repeat(list(networks), many))]


def _wider(random: "Generator", network: str) -> dict[str, Any]:
    """A task of the wider draw."""
    clusters = network == "mlp" and random.random() < 0.75
    settings = _drawn(random, network, "clusters" if clusters else None)
    most = 400 if settings["classes"] <= 20 else 120
    if clusters:
        dimension = int(random.choice([8, 16, 32, 64]))
        settings |= {
            "dimension": dimension,
            "centres": int(random.choice([1, 3], p=[0.7, 0.3])),  # of a class
            "spread": float(f"{dimension**0.5 * np.exp(random.uniform(np.log(0.04), np.log(0.3))):.3g}"),
        }
        most = 1000 if settings["classes"] <= 20 else 300 if settings["classes"] <= 100 else 100
    if settings["data"] != "digits":
        settings["largest"] = int(random.choice([most // 2, most]))
    settings["ratio"] = float(f"{np.exp(random.uniform(np.log(2), np.log(min(100, settings['largest'])))):.3g}")
    settings["held_out"] = int(random.choice([10, 30, 100, 200]))
    epochs = float(np.exp(random.uniform(np.log(8), np.log(120))))
    steps = epochs * int(counts_of(settings).sum()) / settings["batch"]
    settings["steps"] = int(np.clip(steps, 40, 2 * NETWORKS[network][1]))
    return settings


def _drawn(random: "Generator", network: str, data: str | None = None) -> dict[str, Any]:
    data = data or _data(random, network)
    classes = _classes(random, data)
    optimiser = str(random.choice(["adamw", "sgd"], p=[0.6, 0.4]))
    norm = {"mlp": ["batch", "layer", "none"], "small resnet": ["batch", "group"]}.get(network)
    batch = int(random.choice([16, 32] if network == "fine-tuned backbone" else [32, 64, 128]))
    largest = 100 if data == "digits" else int(random.choice([100, 200, 400] if classes <= 20 else [60, 120]))
    settings: dict[str, Any] = {
        "data": data,
        "classes": classes,
        "largest": largest,
        "ratio": float(f"{min(np.exp(random.uniform(np.log(10), np.log(300))), largest):.3g}"),
        "profile": str(random.choice(["geometric", "power", "step"], p=[0.6, 0.2, 0.2])),
        "network": network,
        "norm": str(random.choice(norm)) if norm else "own",
        "optimiser": optimiser,
        "rate": _rate(random, network, optimiser),
        "weight_decay": float(f"{np.exp(random.uniform(np.log(1e-4), np.log(1e-2))):.2g}"),
        "schedule": str(random.choice(["cosine", "constant", "cuts"], p=[0.5, 0.25, 0.25])),
        "batch": batch,
        "held_out": int(random.choice([10, 25] if "backbone" in network else [10, 25, 50])),
    }
    epochs = float(np.exp(random.uniform(np.log(4), np.log(60))))
    examples = int(counts_of(settings).sum())
    settings["steps"] = int(np.clip(epochs * examples / batch, 40, NETWORKS[network][1]))
    return settings


def _data(random: "Generator", network: str) -> str:
    if network == "text transformer":
        return "languages"
    if "backbone" in network:
        return str(random.choice(["cifar-10", "cifar-100-lt"]))
    if network == "mlp":
        return str(random.choice(PICTURES, p=[0.1, 0.2, 0.25, 0.15, 0.15, 0.15]))
    return str(random.choice(PICTURES[1:], p=[0.15, 0.25, 0.25, 0.15, 0.2]))


def _classes(random: "Generator", data: str) -> int:
    if data == "cifar-100-lt":
        return int(random.choice([10, 20, 50, 100]))
    if data == "languages":
        return int(random.choice([5, 10, 20, 40, 60]))
    if data == "clusters":
        return int(random.choice([3, 10, 30, 100, 200, 300]))
    most = _MOST_CLASSES[data]
    return int(random.choice([3, 5, 8, most], p=[0.15, 0.15, 0.15, 0.55]))


def _rate(random: "Generator", network: str, optimiser: str) -> float:
    if network == "fine-tuned backbone":
        return float(random.choice([3e-4, 1e-3] if optimiser == "adamw" else [0.003, 0.01]))
    if optimiser == "adamw":
        return float(random.choice([5e-4, 1e-3, 3e-3]))
    return float(random.choice([0.02, 0.05] if network in ("vit", "text transformer") else [0.02, 0.05, 0.1]))


def counts_of(settings: Settings) -> IntArray:
    """Class sizes, the largest first; every class has at least one example."""
    classes, ratio = settings["classes"], settings["ratio"]
    rank = np.arange(classes)
    if settings["profile"] == "step":
        fall = (rank >= classes / 2).astype(np.float64)
    elif settings["profile"] == "geometric":
        fall = rank / (classes - 1)
    else:
        fall = np.log(rank + 1) / np.log(classes)
    sizes: IntArray = np.maximum(1, np.round(settings["largest"] / ratio**fall)).astype(np.int64)
    return sizes


class DrawnExamples(NamedTuple):
    """Inputs and codes to train on, to validate with, and to test on."""

    inputs: Any
    codes: IntArray
    held_out: Any
    held_out_codes: IntArray
    test: Any
    test_codes: IntArray


@lru_cache(maxsize=3)
def _source(name: str) -> tuple[Any, IntArray, Any, IntArray]:
    """Training pool and test pool of a set."""
    if name == "languages":
        from lopsided.data.message_catalogues import language_names

        found = language_names()
        test = generator(SALT, "languages").random(found.labels.size) < 0.5
        return found.codes[~test], found.labels[~test], found.codes[test], found.labels[test]
    if name == "mnist and fashion-mnist":
        parts = [_source("mnist"), _source("fashion-mnist")]
        shifted = [(a, b + 10 * place, c, d + 10 * place) for place, (a, b, c, d) in enumerate(parts)]
        one, two, three, four = (np.concatenate(part) for part in zip(*shifted, strict=True))
        return one, two, three, four
    pools = [read_pictures(name, split) for split in ("train", "test")]
    return (*pools[0], *pools[1])


def drawn(settings: Settings, seed: int) -> DrawnExamples:
    """The examples of a run: the task sets the order of the classes in the tail, the seed sets their examples.

    CIFAR-100-LT has a tail of its own: there classes with more examples stand first.
    """
    if settings["data"] == "clusters":
        return _clusters(settings, seed)
    pool, labels, test_pool, test_labels = _source(settings["data"])
    random, own = generator(SALT, "classes", settings["index"]), generator(seed, "recall examples")
    available = np.bincount(labels)
    chosen = random.permutation(available.size)[: settings["classes"]]
    if settings["data"] == "cifar-100-lt":
        chosen = np.sort(chosen)
    most = TEST_OF_BACKBONES if "backbone" in settings["network"] else TEST
    train, held_out, test = [], [], []
    for k, count in zip(chosen, counts_of(settings), strict=True):
        train.append(own.permutation(np.flatnonzero(labels == k))[:count])
        left = own.permutation(np.flatnonzero(test_labels == k))
        shown = min(settings["held_out"], left.size // 3)
        held_out.append(left[:shown])
        test.append(left[shown : shown + most])
    codes = [np.repeat(np.arange(len(rows)), [part.size for part in rows]) for rows in (train, held_out, test)]
    rows = [np.concatenate(part) for part in (train, held_out, test)]
    inputs, shown_inputs, test_inputs = pool[rows[0]], test_pool[rows[1]], test_pool[rows[2]]
    return DrawnExamples(inputs, codes[0], shown_inputs, codes[1], test_inputs, codes[2])


def _clusters(settings: Settings, seed: int) -> DrawnExamples:
    """Normal clusters around centres that the task draws; each example belongs to one centre of its class."""
    random, own = generator(SALT, "classes", settings["index"]), generator(seed, "recall examples")
    classes, each, dimension = settings["classes"], settings["centres"], settings["dimension"]
    centres = random.standard_normal((classes, each, dimension))

    def examples(counts: IntArray) -> tuple[Any, IntArray]:
        codes = np.repeat(np.arange(classes), counts)
        at = centres[codes, own.integers(each, size=codes.size)]
        noise = settings["spread"] * own.standard_normal(at.shape)
        return ((at + noise) / np.hypot(1.0, settings["spread"])).astype(np.float32), codes

    train, held_out, test = (
        examples(many) for many in (counts_of(settings), np.full(classes, settings["held_out"]), np.full(classes, TEST))
    )
    return DrawnExamples(*train, *held_out, *test)
