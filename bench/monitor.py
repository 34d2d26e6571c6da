"""What the monitor costs: the same training epochs with and without it, in turns, in one process on one thread.

`seconds` is a monitored epoch, `peer_seconds` a plain one, both in processor time, so that other programs on the
machine count less. The two take turns every few batches, each of them first in turn, so that drifts of the machine
cancel. Few epochs are measured in full, and some more keep rows for the recall forecast; so the monitored epoch is the
median of every kind, in the shares in which they come over EPOCHS epochs, and the note has each. Before them come three
epochs that are measured in full, the first of which also compares a sample of the inputs; the note has them one by one.
A tenth of the examples is a validation set, so that the evidence of the recall forecast is complete; both networks are
evaluated on it. Whole spectra, due every tenth epoch and of short ones more rarely, are in none of the measured epochs.
Inputs are random numbers in the shape of MNIST and CIFAR-10: speed does not depend on what they show.
"""

import copy
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

BATCH = 128
MANY_EPOCHS = 1000  # planned, so that no measured epoch is the last
IN_TURN = 4  # batches
LONG, SHORT = 30_000, 2_500  # examples an epoch
EPOCHS = {LONG: 27, SHORT: 60}
START = 3  # epochs before those, all measured in full


def run(quick: bool) -> Iterator[dict[str, Any]]:
    """Networks with 10, 100 and 1,000 classes at the monitor's defaults, in short epochs and long ones."""
    import torch
    from torch import nn

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:

        def block(inputs: int, outputs: int) -> list[nn.Module]:
            return [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU()]

        def convolution(inputs: int, outputs: int) -> list[nn.Module]:
            return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]

        _row("", nn.Sequential(*block(8, 8), nn.Linear(8, 3)), (8,), 3, 256)  # loads what the monitor needs
        for examples in (SHORT,) if quick else (SHORT, LONG):
            for classes in (10, 100, 1000):
                mlp = nn.Sequential(*block(784, 512), *block(512, 256), nn.Linear(256, classes))
                yield _row(f"MLP 784-512-256, K = {classes}", mlp, (784,), classes, examples)
        halve = nn.MaxPool2d(2)
        cnn = nn.Sequential(
            *(*convolution(3, 32), halve, *convolution(32, 64), halve, *convolution(64, 128)),
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)),
        )
        yield _row("CNN of 3 convolutions, K = 10", cnn, (3, 32, 32), 10, 640 if quick else SHORT)
    finally:
        torch.set_num_threads(threads)


def _row(what: str, model: Any, shape: tuple[int, ...], classes: int, examples: int) -> dict[str, Any]:
    import torch
    from lopsided.torch import Monitor
    from torch import nn

    torch.manual_seed(0)
    inputs = torch.randn(examples, *shape)
    labels = torch.randint(0, classes, (examples,))

    def trainer(network: nn.Module) -> tuple[nn.Module, torch.optim.Optimizer, Callable[[torch.Tensor], None]]:
        loss = nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-3)

        def train(rows: torch.Tensor) -> None:
            for batch in rows.split(BATCH):
                optimizer.zero_grad()
                loss(network(inputs[batch]), labels[batch]).backward()
                optimizer.step()

        return loss, optimizer, train

    def evaluate(network: nn.Module, loss: nn.Module, rows: torch.Tensor) -> None:
        network.eval()
        with torch.no_grad():
            for batch in rows.split(BATCH):
                loss(network(inputs[batch]), labels[batch])
        network.train()

    plain_network = copy.deepcopy(model)
    plain_loss, _, train_plain = trainer(plain_network)
    loss, optimizer, train_watched = trainer(model)
    monitor = Monitor(
        model, loss=loss, optimizer=optimizer, counts=np.full(classes, examples / classes), epochs=MANY_EPOCHS
    )
    held_out = torch.arange(examples - examples // 10, examples)

    def seconds(action: Callable[..., object], *arguments: Any) -> float:
        began = time.process_time()
        action(*arguments)
        return time.process_time() - began

    pairs: list[tuple[tuple[bool, ...], float, float]] = []
    first: list[float] = []  # overhead of the first epochs
    for turn in range(START + EPOCHS.get(examples, EPOCHS[LONG])):
        due = monitor._cadence
        kind, spent = (due.full, due.rows, due.means), {True: 0.0, False: 0.0}
        for number, part in enumerate(torch.arange(examples - len(held_out)).split(IN_TURN * BATCH)):
            for monitored in (True, False) if (turn + number) % 2 else (False, True):
                spent[monitored] += seconds(train_watched if monitored else train_plain, part)
        spent[True] += seconds(evaluate, model, loss, held_out) + seconds(monitor.end_epoch)
        spent[False] += seconds(evaluate, plain_network, plain_loss, held_out)
        if turn < START:
            first.append(spent[True] / spent[False] - 1)
        else:
            pairs.append((kind, spent[True], spent[False]))
    ratios = {kind: [watched / plain for own, watched, plain in pairs if own == kind] for kind, *_ in pairs}
    ratio = sum(statistics.median(found) * len(found) for found in ratios.values()) / len(pairs)
    kinds = ", ".join(
        f"{len(found)} {_words(*kind)}: {statistics.median(found) - 1:.1%}" for kind, found in sorted(ratios.items())
    )
    peer = statistics.median(plain for *_, plain in pairs)
    return {
        "what": f"{what}, batch {BATCH}, {examples} examples an epoch, monitored",
        "seconds": ratio * peer,
        "peer": "unmonitored",
        "peer_seconds": peer,
        "note": f"overhead {ratio - 1:.1%} over {len(pairs)} epochs ({kinds}); of the {START} epochs before them "
        + ", ".join(f"{share:.1%}" for share in first),
    }


def _words(full: bool, rows: bool, means: bool) -> str:
    return "in full" if full else "with rows" if rows else "with class means" if means else "with scores alone"
