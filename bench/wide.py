"""SGD on the wide ReLU network, one thread, float32: against PyTorch autograd, and against the limits of the machine.

Timed are whole runs with their set-up, divided by the number of steps. The limits are measured in the same run: the
bandwidth of a copy, and the rate of the matrix product that a block of steps consists of.
"""

import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lopsided.core.seeds import generator
from lopsided.data.clusters import ClusterSpec, random_mixture, sample_mixture
from lopsided.learners.wide_descent import BLOCK_ROWS, WideDescent, shuffled_batches
from lopsided.learners.wide_relu import WideNetwork, random_network

CLASSES, BATCH = 10, 16


def run(quick: bool) -> Iterator[dict[str, Any]]:
    """Rows for `lopsided bench`."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield from _steps(100 if quick else 400)
        yield from _widest(quick)
        yield from _mnist_shape(quick)


def _seconds(action: Callable[[], object], repeats: int = 3) -> float:
    """The best of a few: other work on the machine only ever adds."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        action()
        times.append(time.perf_counter() - begin)
    return min(times)


def _data(width: int, examples: int, dimension: int, steps: int, batch: int) -> tuple[WideNetwork, Any, np.ndarray]:
    spec = ClusterSpec(classes=CLASSES, dimension=dimension)
    sample = sample_mixture(random_mixture(spec, generator(0, "mixture")), examples, generator(0, "sample"))
    network = random_network(width, dimension, CLASSES, generator(0, "network"), dtype=np.float32)
    return network, sample, shuffled_batches(examples, batch, steps, generator(0, "batches"))


def _walk(network: WideNetwork, sample: Any, batches: np.ndarray, rate: float, form: str) -> None:
    for _ in WideDescent(network, sample.points, sample.labels, batches, rate, form=form):
        pass


def _steps(steps: int) -> list[dict[str, Any]]:
    width, dimension, examples = 4000, 1000, 1000
    network, sample, batches = _data(width, examples, dimension, steps, BATCH)
    rate = 10 / width
    peer = _autograd(network, sample, batches[:40], rate)
    bandwidth, products = _bandwidth(), _product_rate(width, examples)
    # Step by step the weights are read for the preactivations, then read and written for the update.
    traffic = 3 * 4 * width * dimension
    rows = []
    for form, operations in (("coefficients", 2 * examples), ("dense", 4 * dimension)):
        seconds = _seconds(lambda form=form: _walk(network, sample, batches, rate, form)) / steps
        arithmetic = width * BATCH * (operations + BLOCK_ROWS) / products  # the last term: corrections inside a block
        note = (
            f"{seconds / (traffic / bandwidth):.2f} of the time that reading and writing W each step would take at "
            f"{bandwidth / 1e9:.0f} GB/s; {arithmetic / seconds:.0%} of the product rate, {products / 1e9:.0f} GFLOP/s"
        )
        rows.append(
            {
                "what": f"one step, m=4000 d=1000 B=16, {form}",
                "seconds": seconds,
                "peer": "PyTorch autograd",
                "peer_seconds": peer,
                "note": note,
            }
        )
    return rows


def _widest(quick: bool) -> list[dict[str, Any]]:
    width, steps = (4000, 100) if quick else (16000, 400)
    network, sample, batches = _data(width, 1000, 1000, steps, BATCH)
    peak = _peak_memory(lambda: _walk(network, sample, batches[:70], 10 / width, "coefficients"))  # a whole pass
    seconds = _seconds(lambda: _walk(network, sample, batches, 10 / width, "coefficients"), repeats=1)
    few = 3 if quick else 10
    peer = _autograd(network, sample, batches[: few + 2], 10 / width) * steps
    note = f"set-up included; arrays of at most {peak / 2**20:,.0f} MiB; the peer's {few} steps scaled to {steps}"
    return [
        {
            "what": f"{steps} steps, m={width:,} d=1000 B=16",
            "seconds": seconds,
            "peer": "PyTorch autograd",
            "peer_seconds": peer,
            "note": note,
        }
    ]


def _mnist_shape(quick: bool) -> list[dict[str, Any]]:
    width, dimension, examples, steps = 1000, 784, 60_000, 300 if quick else 20_000
    network, sample, batches = _data(width, examples, dimension, steps, 64)
    peak = _peak_memory(lambda: _walk(network, sample, batches[:20], 40 / width, "auto"))
    seconds = _seconds(lambda: _walk(network, sample, batches, 40 / width, "auto"), repeats=1)
    few = 20 if quick else 200
    peer = _autograd(network, sample, batches[: few + 2], 40 / width) * steps
    note = f"shape of MNIST; arrays of at most {peak / 2**20:,.0f} MiB beside the images; the peer's {few} steps scaled"
    return [
        {
            "what": f"{steps:,} steps, m=1000 d=784 B=64 n=60,000",
            "seconds": seconds,
            "peer": "PyTorch autograd",
            "peer_seconds": peer,
            "note": note,
        }
    ]


def _autograd(network: WideNetwork, sample: Any, batches: np.ndarray, rate: float) -> float | None:
    """Seconds per step of the plain PyTorch loop, after two steps to warm up; None without PyTorch."""
    try:
        import torch
    except ImportError:
        return None
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        weights = torch.tensor(network.hidden, requires_grad=True)
        top = torch.tensor(network.top)
        points = torch.tensor(sample.points, dtype=torch.float32)
        labels = torch.tensor(sample.labels)
        optimiser = torch.optim.SGD([weights], lr=rate)
        begin = 0.0
        for step, batch in enumerate(torch.tensor(batches)):
            if step == 2:
                begin = time.perf_counter()
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(torch.relu(points[batch] @ weights.T) @ top.T, labels[batch]).backward()
            optimiser.step()
        return (time.perf_counter() - begin) / (len(batches) - 2)
    finally:
        torch.set_num_threads(threads)


def _bandwidth() -> float:
    """Bytes per second of a copy much larger than the caches, counting what is read and what is written."""
    source = np.ones(2**25, dtype=np.float32)
    target = np.empty_like(source)
    return 2 * source.nbytes / _seconds(lambda: np.copyto(target, source), repeats=5)


def _product_rate(width: int, examples: int) -> float:
    """Operations per second of a block's product, (256, n) by (n, m)."""
    left = np.ones((BLOCK_ROWS, examples), dtype=np.float32)
    right = np.ones((examples, width), dtype=np.float32)
    return 2 * BLOCK_ROWS * examples * width / _seconds(lambda: left @ right, repeats=5)


def _peak_memory(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
