"""Does `lopsided.torch.mend` improve finished networks? Its test gain beside simple rules, on the same networks.

Small networks are trained plainly on long tails of pictures: the set, the tail, the network, the optimiser, the weight
decay and the length of training are drawn for every task, and so is the validation set, which has the tail of the
training set or equal classes. Everybody gets the same validation set and is scored on the same test pictures, equally
many of every class. Peers: the network as it is, post-hoc adjustment with tau = 1, and `ThresholdMover`.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.metrics import balanced_accuracy_score

from lopsided.core.seeds import generator
from lopsided.core.validation import IntArray
from lopsided.data.image_set import standardised
from lopsided.data.images import has_images, load_images
from lopsided.data.subsampling import subsample
from lopsided.engine.threads import one_thread
from lopsided.remedies.logit_adjustment import adjust_logits
from lopsided.remedies.thresholds import ThresholdMover

MEASURED = ("mend", "post-hoc adjustment, tau 1", "thresholds")
SETS = ("digits", "mnist", "fashion-mnist", "cifar-10", "cifar-100-lt")
TASKS, QUICK_TASKS = 60, 6
TEST_EACH = 200


def run(quick: bool) -> Iterator[dict[str, Any]]:
    """Rows with what, seconds and note: every network, then the means."""
    try:
        import torch  # noqa: F401
    except ImportError:
        return
    usable = [index for index in range(TASKS) if has_images(_set_of(index))]
    rows = []
    with one_thread():
        for index in usable[:QUICK_TASKS] if quick else usable:  # of every set
            task = finished(index)
            row = compare(task)
            rows.append(row)
            gains = ", ".join(f"{name} {row[name]:+.3f}" for name in MEASURED)
            note = (
                f"{row['chosen']}; plain {row['plain']:.3f}, {gains}; interval {row['low']:+.3f} to {row['high']:+.3f}"
            )
            yield {"what": task.words, "seconds": row["seconds"], "note": note}
    means = ", ".join(f"{name} {np.mean([row[name] for row in rows]):+.4f}" for name in MEASURED)
    held = np.mean([row["low"] <= row["mend"] <= row["high"] for row in rows])
    beyond = sum(row["mend"] < row["low"] - 0.01 for row in rows)
    worse = sum(row["mend"] < -0.01 for row in rows)
    note = f"mean gain in balanced accuracy: {means}; intervals hold {held:.2f}, {beyond} more than 0.01 below theirs; "
    yield {"what": f"{len(rows)} networks", "note": note + f"{worse} networks lost more than 0.01"}


def compare(task: "Finished") -> dict[str, Any]:
    """Balanced accuracy of the network on the test pictures, and what each correction adds."""
    from torch.utils.data import DataLoader, TensorDataset

    import torch
    from lopsided.learners.deep.classifier import logits_of
    from lopsided.torch import mend

    inputs, codes = task.validation
    loader = DataLoader(TensorDataset(torch.from_numpy(inputs), torch.from_numpy(codes)), batch_size=256)
    began = time.process_time()
    found = mend(task.network, loader, counts=task.counts)
    seconds = time.process_time() - began
    plain = logits_of(task.network, task.test[0]).astype(np.float64)
    mover = ThresholdMover("balanced").fit(
        softmax(logits_of(task.network, inputs), axis=1), codes, classes=range(task.counts.size)
    )
    answers = {
        "plain": plain.argmax(axis=1),
        "mend": logits_of(found.model, task.test[0]).argmax(axis=1),
        "post-hoc adjustment, tau 1": adjust_logits(plain, task.counts).argmax(axis=1),
        "thresholds": (log_softmax(plain, axis=1) + mover.biases_).argmax(axis=1),
    }
    scores = {name: balanced_accuracy_score(task.test[1], called) for name, called in answers.items()}
    gains = {name: scores[name] - scores["plain"] for name in MEASURED}
    facts = {"chosen": found.chosen, "low": found.gain.low, "high": found.gain.high, "seconds": seconds}
    return gains | facts | {"plain": scores["plain"]}


def long_tail_counts(classes: int, largest: int, ratio: float) -> IntArray:
    """int(n_0 R^(-k/(K-1))): sizes that fall geometrically (Cui et al. 2019)."""
    # 500 * 0.01^(99/99) must give 5, not 4: rounding errors of the power are far below 1e-9.
    return np.array([int(largest * ratio ** (-k / (classes - 1)) + 1e-9) for k in range(classes)], dtype=np.int64)


@dataclass(frozen=True)
class Finished:
    """A trained network, the counts it was trained on, and validation and test pictures."""

    words: str
    network: Any
    counts: IntArray
    validation: tuple[Any, IntArray]
    test: tuple[Any, IntArray]


def finished(index: int) -> Finished:
    """Task number `index`, trained."""
    from lopsided.learners.deep.networks import build
    from lopsided.learners.deep.recipe import TrainingRecipe
    from lopsided.learners.deep.training import train

    draw = generator(index, "mend task")
    name = _set_of(index)
    kind = str(draw.choice(["mlp", "mlp-plain", "small-cnn"]))
    images = load_images(name, split="test" if name == "cifar-10" else "train")
    images = images if name == "digits" else images.shrunk(2)
    classes = len(images.class_names)
    order = draw.permutation(classes)  # which class is how rare
    largest = {"digits": 80, "cifar-100-lt": 250}.get(name) or int(draw.choice([200, 400, 600]))
    tail = np.maximum(1, long_tail_counts(classes, largest, float(draw.choice([10, 30, 100, 200]))))
    if name == "cifar-100-lt":
        order, tail = np.arange(classes), np.maximum(tail, 2)
        tail = np.minimum(tail, images.counts - np.maximum(1, images.counts // 4))
    natural = bool(draw.integers(2))
    own = np.maximum(1, tail // 4) if natural else np.full(classes, int(draw.choice([5, 10, 20])))
    if name == "cifar-100-lt":
        own = np.minimum(own, images.counts - tail)
    by_class = np.empty((2, classes), dtype=np.int64)
    by_class[:, order] = tail, own
    taken = subsample(images.labels, by_class.sum(axis=0), index)
    starts = np.repeat(np.cumsum(by_class.sum(axis=0)) - by_class.sum(axis=0), by_class.sum(axis=0))
    first = np.arange(taken.size) - starts < by_class[0][images.labels[taken]]
    training, validation = images.take(taken[first]), images.take(taken[~first])
    if name == "cifar-100-lt":
        tested = load_images(name, split="test").shrunk(2)
    else:
        rest = images.take(np.setdiff1d(np.arange(images.size), taken))
        tested = rest.first(min(TEST_EACH, int(rest.counts.min())))
    rows = standardised(training, validation, tested)
    adam = bool(draw.integers(2))
    recipe = TrainingRecipe(
        steps=int(draw.choice([60, 150, 300])) if kind == "small-cnn" else int(draw.choice([200, 600, 1500])),
        batch_size=64,
        rate=1e-3 if adam else 0.05,
        weight_decay=float(draw.choice([1e-4, 5e-4, 3e-3, 1e-2])),
        schedule="cosine",
        optimiser="adamw" if adam else "sgd",
    )
    network = build(kind, rows[0].shape[1:], classes, seed=index)
    train(network, rows[0], training.labels, recipe, seed=index, threads=1)
    words = f"{name}, {kind}, {recipe.optimiser}, {'natural' if natural else 'balanced'} validation"
    return Finished(words, network, by_class[0], (rows[1], validation.labels), (rows[2], tested.labels))


def _set_of(index: int) -> str:
    return SETS[index % len(SETS)]
