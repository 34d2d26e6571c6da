"""What the monitor costs: the same training epochs with and without it, in turns, in one process on one thread.

`seconds` is a monitored epoch, `peer_seconds` a plain one, both in processor time, so that other programs on the
machine count less. The two take turns every few batches, so that slow drifts of the machine cancel. Short epochs are
measured in full one time in seven, so the ratio of their sums over seven epochs is what counts, with the
smallest and largest of single epochs in the note. Inputs are random numbers in the shape of MNIST and CIFAR-10: speed
does not depend on what they show.
"""

import copy
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

BATCH = 128
IN_TURN = 4  # batches
LONG, SHORT = 30_000, 2_500  # examples an epoch
EPOCHS = {LONG: 3, SHORT: 14}  # measured, after the three first, which are all measured in full


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

    train_plain = trainer(copy.deepcopy(model))[2]
    loss, optimizer, train_watched = trainer(model)
    monitor = Monitor(model, loss=loss, optimizer=optimizer, counts=np.full(classes, examples / classes))

    def seconds(action: Callable[..., object], *arguments: torch.Tensor) -> float:
        began = time.process_time()
        action(*arguments)
        return time.process_time() - began

    pairs = []
    for turn in range(3 + EPOCHS.get(examples, EPOCHS[LONG])):
        watched = plain = 0.0
        for part in torch.arange(examples).split(IN_TURN * BATCH):  # the two networks take turns within the epoch
            watched += seconds(train_watched, part)
            plain += seconds(train_plain, part)
        watched += seconds(monitor.end_epoch)
        if turn > 2:  # the first load modules and are measured in full
            pairs.append((watched, plain))
    ours, peer = (sum(column) for column in zip(*pairs, strict=True))
    single = [watched / plain for watched, plain in pairs]
    return {
        "what": f"{what}, batch {BATCH}, {examples} examples an epoch, monitored",
        "seconds": ours / len(pairs),
        "peer": "unmonitored",
        "peer_seconds": peer / len(pairs),
        "note": f"overhead {ours / peer - 1:.1%} over {len(pairs)} epochs (one epoch: {min(single) - 1:.1%} to "
        f"{max(single) - 1:.1%})",
    }
