"""Speed of the rooms of Xu and Chen 2025 against the naive loop, one matrix product and PyTorch autograd, in one run.

lopsided bench overfitting [--quick]
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lopsided.core.seeds import generator
from lopsided.data.patches import draw_patches, patch_distribution
from lopsided.data.tables import open_table
from lopsided.learners.patch_cnn import READINGS, initial_weights, train
from lopsided.measure.influence import class_scores, influence_scores, influence_scores_of_blocks

Row = dict[str, Any]


def run(quick: bool) -> Iterator[Row]:
    """One row after the other; `quick` takes smaller sizes."""
    yield naive_loop(*((1500, 200) if quick else (6000, 784)))
    yield many_classes(*((10_000, 196) if quick else (60_000, 784)))
    yield from_disk(*((100_000, 256) if quick else (1_000_000, 512)))
    for reading in ("mini-batch", "full batch"):
        yield cell(reading, quick)
    yield heat_map(4 if quick else 12, quick)


def best(function: Callable[[], Any], times: int = 3, clock: Callable[[], float] = time.perf_counter) -> float:
    """The shortest of a few runs, in seconds."""
    seconds = []
    for _ in range(times):
        start = clock()
        function()
        seconds.append(clock() - start)
    return min(seconds)


def naive_loop(n: int, d: int) -> Row:
    """Scores of one class against eq (10) as written; the loop's time is extrapolated from a few iterations."""
    rows = generator(0, "bench", "loop").standard_normal((n, d))
    ours = best(lambda: class_scores(rows))

    def energy(points: Any) -> float:
        return float(np.square(np.cov(points.T)).sum())

    iterations = 3
    one = best(lambda: energy(np.delete(rows, 0, axis=0)), iterations)
    wanted = energy(rows) - energy(np.delete(rows, 7, axis=0))
    error = abs(class_scores(rows)[7] - wanted) / energy(rows)
    return {
        "what": f"influence scores, {n} x {d}",
        "seconds": ours,
        "peer": "leave-one-out loop",
        "peer_seconds": one * n,
        "note": f"loop extrapolated from {iterations} measured iterations; relative difference {error:.0e}",
    }


def many_classes(n: int, d: int) -> Row:
    """Ten classes at once, the size of MNIST."""
    random = generator(0, "bench", "classes")
    rows, labels = random.standard_normal((n, d), dtype=np.float32), random.integers(0, 10, n)
    square = rows[:d].astype(np.float64)
    wide = rows.astype(np.float64)
    return {
        "what": f"influence scores, {n:,} x {d}, ten classes",
        "seconds": best(lambda: influence_scores(rows, labels), 2),
        "peer": f"one float64 product {n} x {d} x {d}",
        "peer_seconds": best(lambda: wide @ square, 2),
        "note": "in memory, float32 input",
    }


def from_disk(n: int, d: int) -> Row:
    """Two passes over a memory-mapped float32 file, in processor time."""
    labels = generator(0, "bench", "labels").integers(0, 10, n)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npy"
        file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, d))
        random = generator(0, "bench", "disk")
        for start in range(0, n, 50_000):
            file[start : start + 50_000] = random.standard_normal((min(50_000, n - start), d), dtype=np.float32)
        file.flush()
        del file
        np.save(Path(folder) / "y.npy", labels)
        # A process of its own, so that its memory is the scores' alone.
        command = [sys.executable, __file__, str(path), str(Path(folder) / "y.npy")]
        seconds, memory = (
            float(word) for word in subprocess.run(command, check=True, capture_output=True).stdout.split()
        )
        block, square = np.random.default_rng(0).standard_normal((20_000, d)), np.ones((d, d))
        product = best(lambda: block @ square, clock=time.process_time) * n / 20_000
    return {
        "what": f"influence scores, {n:,} x {d} float32 from disk, two passes",
        "seconds": seconds,
        "peer": f"one float64 product {n} x {d} x {d} (measured on 20,000 rows)",
        "peer_seconds": product,
        "note": f"processor time; memory without the mapped file {memory / 1e9:.2f} GB; {seconds / product:.1f} times "
        "one product",
    }


def _score_file(path: Path, labels: Any) -> tuple[float, float]:
    """Processor time, and the largest memory of its own between two blocks (mapped pages belong to the file)."""
    start = time.process_time()
    table, largest = open_table(path), 0.0

    def blocks() -> Any:
        nonlocal largest
        first = 0
        for block in table.blocks(8192):
            yield block, labels[first : first + block.shape[0]]
            first += block.shape[0]
            largest = max(largest, _own_bytes())

    influence_scores_of_blocks(blocks, labels, tuple(map(str, range(10))), table.width)
    return time.process_time() - start, largest


def _own_bytes() -> float:
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return 1024.0 * next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))


def cell(reading: str, quick: bool) -> Row:
    """One cell of Fig 3 against PyTorch autograd in float64 with the same iterates."""
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    K, m, d, size = (5, 50, 400, 40) if quick else (5, 100, 1000, 100)
    distribution, _ = patch_distribution([size] * K, d, feature_norms=0.5, ratios=100.0)
    sample = draw_patches(distribution, 0, "bench")
    start = initial_weights(generator(0, "bench", "w"), K, m, d)
    training = READINGS[reading]
    found = {}

    def ours() -> None:
        fit = train(start, sample.features, sample.noise, sample.labels, training, generator(0, "bench", "batches"))
        found["ours"] = fit.weights

    x = torch.tensor(np.stack([sample.features[sample.labels], sample.noise], axis=1))
    y = torch.tensor(sample.labels)

    def peer() -> None:
        weights = torch.tensor(start.reshape(K * m, d)).requires_grad_()
        optimiser = torch.optim.SGD([weights], lr=training.step)
        random = generator(0, "bench", "batches")
        n = y.shape[0]
        batch = training.batch or n
        for _ in range(training.epochs):
            order = np.arange(n) if batch == n else random.permutation(n)
            for first in range(0, n, batch):
                rows = torch.tensor(order[first : first + batch])
                optimiser.zero_grad()
                logits = torch.relu(x[rows] @ weights.T).sum(dim=1).reshape(-1, K, m).mean(dim=2)
                torch.nn.functional.cross_entropy(logits, y[rows]).backward()
                optimiser.step()
        found["peer"] = weights.detach().numpy().reshape(K, m, d)

    ours()  # both are warm before they are timed
    seconds, peer_seconds = best(ours, 2), best(peer, 1 if not quick else 2)
    difference = np.abs(found["ours"] - found["peer"]).max() / np.abs(found["peer"]).max()
    return {
        "what": f"one cell of Fig 3, {reading}: K={K}, d={d}, m={m}, {size} per class, {training.epochs} epochs",
        "seconds": seconds,
        "peer": "PyTorch autograd, float64",
        "peer_seconds": peer_seconds,
        "note": f"largest relative difference of the weights {difference:.0e}",
    }


def heat_map(size: int, quick: bool) -> Row:
    """All of Fig 3's Gaussian half; three cells are measured and the rest extrapolated unless quick."""
    from lopsided.papers.bo.bo_heatmap import CLAIM

    scale = "quick" if quick else "paper"
    grid = [s for s in CLAIM.plans[scale].settings if s["family"] == "gaussian" and s["reading"] == "mini-batch"]
    some = grid[:: max(1, len(grid) // 3)][:3]
    each = best(lambda: [CLAIM.measure(settings, 0) for settings in some], 1) / len(some)
    return {
        "what": f"Fig 3, Gaussian noise, {size} x {size} cells with data, training and test",
        "seconds": each * len(grid),
        "peer": None,
        "peer_seconds": None,
        "note": f"extrapolated from {len(some)} measured cells",
    }


if __name__ == "__main__":
    print(*_score_file(Path(sys.argv[1]), np.load(sys.argv[2])))
