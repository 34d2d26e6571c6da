"""The audit of data larger than memory beside the time to read the files twice, and how both and the peak memory grow.

Processor time of one process, so that a busy machine does not bend the curve.

lopsided bench parts [--quick]
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]
SOURCE = Path(__file__).resolve().parents[1] / "src"
COLUMNS = 20


def run(quick: bool) -> Iterator[Row]:
    """One row a size, then the exponents of the last step."""
    measured: list[tuple[int, float, float]] = []
    for rows in (500_000, 1_000_000) if quick else (1_000_000, 4_000_000, 60_000_000):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "data"
            path.mkdir()
            write(path, rows)
            size = sum(entry.stat().st_size for entry in path.iterdir()) / 1e9
            read, found, again = (_child(kind, path) for kind in ("read", "audit", "read"))
        measured.append((rows, found["seconds"], found["gigabytes"]))
        note = f"processor time; {size:.2f} GB; peak {found['gigabytes']:.2f} GB (reading alone "
        note += f"{read['gigabytes']:.2f}); {found['sample']}"
        peer = {"peer": "reading the files twice", "peer_seconds": read["seconds"] + again["seconds"]}
        yield {"what": f"audit of {rows:,} x {COLUMNS}", "seconds": found["seconds"], **peer, "note": note}
    (before, seconds, peak), (after, longer, higher) = measured[-2:]
    step = np.log(after / before)
    time_grows, memory_grows = np.log(longer / seconds) / step, np.log(higher / peak) / step
    words = f"exponent of the last step: seconds {time_grows:.2f}, peak memory {memory_grows:.2f}"
    yield {"what": "growth over rows", "seconds": None, "exponent": float(time_grows), "note": words}


def write(folder: Path, rows: int, part: int = 500_000) -> None:
    """Parquet files of half a million rows: 20 columns of numbers, labels, predictions, groups and a split."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for start in range(0, rows, part):
        random, n = np.random.default_rng(start), min(part, rows - start)
        labels = random.choice(3, n, p=[0.7, 0.25, 0.05])
        columns: dict[str, Any] = {f"x{j}": random.normal(size=n) + 0.3 * (labels == j % 3) for j in range(COLUMNS)}
        columns["label"] = labels
        columns["predictions"] = np.where(random.random(n) < 0.8, labels, random.integers(0, 3, n))
        columns["site"] = np.array(["east", "north", "south", "west"])[random.integers(0, 4, n)]
        columns["split"] = np.where(random.random(n) < 0.2, "test", "train")
        pq.write_table(pa.table(columns), folder / f"part-{start:012d}.parquet", compression="zstd")


def _child(kind: str, path: Path) -> Row:
    """In a process of its own, so that its peak memory is its own."""
    command = [sys.executable, __file__, kind, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found: Row = json.loads(done.stdout)
    return found


def _measure(kind: str, path: str) -> None:
    from lopsided.data.parts import open_parts
    from lopsided.report.audit import audit

    began, sample = time.process_time(), ""
    if kind == "read":
        for part in open_parts(path).parts:
            for _ in part.batches():
                pass
    else:
        sample = audit(path, labels="label", groups="site").evidence.notes[-1]
    facts = {"seconds": time.process_time() - began, "sample": sample}
    print(json.dumps({**facts, "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}))


if __name__ == "__main__":
    _measure(sys.argv[1], sys.argv[2])
