"""The audit on large sets (seconds, peak memory, size of the report), and how often it is right on planted sets.

lopsided bench audit [--quick]
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]
SOURCE = Path(__file__).resolve().parents[1] / "src"


def run(quick: bool) -> Iterator[Row]:
    """One row after the other; `quick` takes smaller sizes."""
    yield pictures(10_000 if quick else 60_000)
    yield table(100_000 if quick else 1_000_000)
    for size in (1000, 10_000) if quick else (1000, 10_000, 60_000, 300_000):
        yield report(size)
    yield intervals(200_000 if quick else 1_000_000)
    for per_class in (200, 100):
        yield from planted(3 if quick else 25, per_class)


def pictures(n: int) -> Row:
    """n x 784 with ten classes, a split, a classifier and its predictions, from an npz file."""
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        labels = np.arange(n) % 10
        means, loading = random.standard_normal((10, 784)), random.standard_normal((40, 784)) / 4
        features = (means[labels] + random.standard_normal((n, 40)) @ loading).astype(np.float32)
        features += 0.3 * random.standard_normal((n, 784), dtype=np.float32)
        split = np.where(random.random(n) < 0.2, "test", "train")
        np.savez(path, features=features, labels=labels, split=split, classifier=means, logits=features @ means.T / 100)
        return _measured(f"audit of {n:,} x 784, ten classes", path, "{}", "bars: 60 s, 3 GB on two cores")


def table(n: int) -> Row:
    """n x 50 named columns with two columns of groups and predictions, from a parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.parquet"
        labels = random.integers(0, 3, n)
        columns: dict[str, Any] = {f"x{j}": random.standard_normal(n) + 0.3 * (labels == j % 3) for j in range(50)}
        columns |= {"label": labels, "predictions": np.where(random.random(n) < 0.8, labels, 0)}
        columns |= {"sex": np.array(["f", "m"])[random.integers(0, 2, n)]}
        columns |= {"site": np.array(["north", "south", "west", "east"])[random.integers(0, 4, n)]}
        pq.write_table(pa.table(columns), path)
        given = '{"groups": ["sex", "site"]}'
        return _measured(f"audit of {n:,} x 50 with groups", path, given, "bar: 120 s")


def _measured(what: str, path: Path, given: str, note: str) -> Row:
    """In a process of its own, so that its peak memory is its own."""
    command = [sys.executable, __file__, str(path), given]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    facts = json.loads(done.stdout)
    used = f"{facts['processor']:.0f} s of processor, {facts['gigabytes']:.2f} GB at the peak"
    words = f"{used}, report {facts['report']:.2f} MB in {facts['drawn']:.2f} s; {note}"
    return {"what": what, "seconds": facts["seconds"], "peer": None, "peer_seconds": None, "note": words}


def _child(path: str, given: str) -> None:
    import lopsided

    began = time.perf_counter()
    found = lopsided.audit(path, **json.loads(given))
    seconds = time.perf_counter() - began
    page = str(found.to_html())
    drawn = time.perf_counter() - began - seconds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    facts = {"seconds": seconds, "processor": time.process_time(), "drawn": drawn, "gigabytes": peak}
    print(json.dumps({**facts, "report": len(page.encode()) / 1e6}))


def report(n: int) -> Row:
    """Time and size of the page against the number of rows."""
    import lopsided

    random = np.random.default_rng(2)
    found = lopsided.audit(
        random.standard_normal((n, 8)),
        labels=random.integers(0, 10, n),
        predictions=random.integers(0, 10, n),
        groups={"g": random.integers(0, 5, n)},
        checks=["counts", "class_accuracy", "group_accuracy", "group_shift", "noise_ratios", "influence", "duplicates"],
    )
    began = time.perf_counter()
    page = str(found.to_html())
    seconds = time.perf_counter() - began
    note = f"{len(page.encode()) / 1e6:.3f} MB; bar: 2 MB at 60,000 rows"
    return {"what": f"report of {n:,} rows", "seconds": seconds, "peer": None, "peer_seconds": None, "note": note}


def intervals(n: int) -> Row:
    """Accuracy of 20 groups with simultaneous intervals, against resampling the rows 20 times and counting."""
    from lopsided.checkup.checks.intervals import gaps_to_rest, rate_intervals

    random = np.random.default_rng(3)
    codes, right = random.integers(0, 20, n), random.random(n) < 0.9
    began = time.perf_counter()
    totals, hits = np.bincount(codes, minlength=20), np.bincount(codes[right], minlength=20)
    rate_intervals(hits, totals)
    gaps_to_rest(hits, totals)
    ours = time.perf_counter() - began
    began = time.perf_counter()
    for _ in range(20):
        rows = random.integers(0, n, n)
        np.bincount(codes[rows], weights=right[rows], minlength=20) / np.bincount(codes[rows], minlength=20)
    peer = time.perf_counter() - began
    return {
        "what": f"group accuracies with intervals, {n:,} rows",
        "seconds": ours,
        "peer": "20 resamples of the rows",
        "peer_seconds": peer,
        "note": "ours also for the gap to the rest, and for all groups at once",
    }


def planted(times: int, per_class: int) -> Iterator[Row]:
    """How often each planted defect is found, and how many sets raise an alarm that they should not."""
    import lopsided
    from lopsided.engine.threads import one_thread

    sys.path.insert(0, str(SOURCE.parent))  # the same sets as the tests
    from tests.checkup.planted_truths import KINDS, judge, plant

    for kind in KINDS:
        began, hits, false, about = time.perf_counter(), 0, 0, Counter[str]()
        for seed in range(times):
            one = plant(kind, seed, per_class=per_class)
            with one_thread():  # the sets are small: a second thread would only wait
                hit, wrong = judge(lopsided.audit(**one.given, seed=seed), one)
            hits, false = hits + hit, false + bool(wrong)
            about.update(check for check, _, _ in wrong)
        found = "" if kind == "clean" else f"found in {hits} of {times}; "
        alarms = f"false alarms in {false} of {times} sets" + (f" ({dict(about)})" if about else "")
        seconds = (time.perf_counter() - began) / times
        yield {
            "what": f"planted: {kind}, {per_class} a class",
            "seconds": seconds,
            "peer": None,
            "peer_seconds": None,
            "note": found + alarms,
        }


if __name__ == "__main__":
    _child(sys.argv[1], sys.argv[2])
