"""One step of training, one thread: our loop against the plain PyTorch loop with a DataLoader, in the same run.

The plain loop is the one of PyTorch's tutorials: TensorDataset, DataLoader(shuffle=True) in this process,
torch.optim.SGD. Both train the same network on the same number of batches of the same size; epochs count in full, with
the drawing of their order.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lopsided.core.seeds import generator

CLASSES = 10


def run(quick: bool) -> Iterator[dict[str, Any]]:
    """Rows for `lopsided bench`."""
    try:
        import torch
    except ImportError:
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield _row("MLP 196-128-64 with BatchNorm, batch 64", "mlp", (1, 14, 14), 64, 300 if quick else 2000)
        yield _row("small CNN on 28 x 28, batch 64", "small-cnn", (1, 28, 28), 64, 40 if quick else 300)
    finally:
        torch.set_num_threads(threads)


def _row(what: str, name: str, shape: tuple[int, ...], batch: int, steps: int) -> dict[str, Any]:
    stream = generator(0, "inputs")
    inputs = stream.standard_normal((3000, *shape)).astype(np.float32)
    labels = stream.integers(CLASSES, size=3000)
    # In turns, so that other work on the machine meets both; the best of each counts.
    times = [(_ours(name, inputs, labels, batch, steps), _plain(name, inputs, labels, batch, steps)) for _ in range(3)]
    ours, plain = (min(pair) for pair in zip(*times, strict=True))
    return {
        "what": f"one training step, {what}",
        "seconds": ours / steps,
        "peer": "PyTorch DataLoader loop",
        "peer_seconds": plain / steps,
        "note": f"{steps} steps of SGD with momentum and decay, processor time; {batch * steps / ours:,.0f} examples/s",
    }


def _seconds(action: Callable[[], object]) -> float:
    begin = time.process_time()  # one thread: the same as wall time on an idle machine, and steady on a busy one
    action()
    return time.process_time() - begin


def _ours(name: str, inputs: Any, labels: Any, batch: int, steps: int) -> float:
    from lopsided.learners.deep.networks import build
    from lopsided.learners.deep.recipe import TrainingRecipe
    from lopsided.learners.deep.training import train

    network = build(name, inputs.shape[1:], CLASSES)
    recipe = TrainingRecipe(steps=steps, batch_size=batch)
    return _seconds(lambda: train(network, inputs, labels, recipe, threads=1))


def _plain(name: str, inputs: Any, labels: Any, batch: int, steps: int) -> float:
    from torch.nn.functional import cross_entropy
    from torch.utils.data import DataLoader, TensorDataset

    import torch
    from lopsided.learners.deep.networks import build

    network = build(name, inputs.shape[1:], CLASSES).train()
    examples = TensorDataset(torch.from_numpy(inputs), torch.from_numpy(labels))
    loader = DataLoader(examples, batch_size=batch, shuffle=True, drop_last=True)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)

    def loop() -> None:
        done = 0
        while True:
            for batch_inputs, batch_labels in loader:
                optimiser.zero_grad()
                loss = cross_entropy(network(batch_inputs), batch_labels)
                loss.backward()
                optimiser.step()
                loss.item()  # as any loop that reports its loss
                done += 1
                if done == steps:
                    return

    return _seconds(loop)
