"""What the monitor costs: the same training epoch with and without it, in turns, in one process on one thread.

`seconds` is the monitored epoch, `peer_seconds` the plain one, both in processor time, so that other programs on the
machine count less. The two take turns every 16 batches, so that slow drifts of the machine cancel; the note gives the
overhead as the median over epochs, with the smallest and largest. Inputs are random numbers in the shape of MNIST and
CIFAR-10: speed does not depend on what they show.
"""

import copy
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

PAIRS = 5
IN_TURN = 16  # batches


def run(quick: bool) -> Iterator[dict[str, Any]]:
    """Three networks at the monitor's defaults."""
    import torch
    from torch import nn

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:

        def block(inputs: int, outputs: int) -> list[nn.Module]:
            return [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU()]

        def convolution(inputs: int, outputs: int) -> list[nn.Module]:
            return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]

        halve = nn.MaxPool2d(2)
        mlp = nn.Sequential(*block(784, 512), *block(512, 256), nn.Linear(256, 10))
        many = nn.Sequential(*block(784, 512), nn.Linear(512, 1000))
        cnn = nn.Sequential(
            *(*convolution(3, 32), halve, *convolution(32, 64), halve, *convolution(64, 128)),
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)),
        )
        yield _row("MLP 784-512-256, K = 10, batch 128", mlp, (784,), 10, 10_000 if quick else 60_000)
        yield _row("CNN of 3 convolutions, K = 10, batch 128", cnn, (3, 32, 32), 10, 1_280 if quick else 3_200)
        yield _row("MLP 784-512, K = 1000, batch 128", many, (784,), 1000, 10_000 if quick else 60_000)
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
            for batch in rows.split(128):
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
    for turn in range(PAIRS + 1):
        watched = plain = 0.0
        for part in torch.arange(examples).split(IN_TURN * 128):  # the two networks take turns within the epoch
            watched += seconds(train_watched, part)
            plain += seconds(train_plain, part)
        watched += seconds(monitor.end_epoch)
        if turn:  # the first loads modules and has no reference means yet
            pairs.append((watched, plain))
    overheads = [ours / plain - 1 for ours, plain in pairs]
    return {
        "what": f"{what}, {examples} examples an epoch, monitored",
        "seconds": statistics.median(ours for ours, _ in pairs),
        "peer": "unmonitored",
        "peer_seconds": statistics.median(plain for _, plain in pairs),
        "note": f"overhead {statistics.median(overheads):.1%} (from {min(overheads):.1%} to {max(overheads):.1%})",
    }
