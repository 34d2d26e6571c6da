"""The claims laboratory: overhead of a task, a rerun from the store, and what a second process brings.

Promises: below 5 ms a task at 10,000 trivial tasks; every claim again from the store below 10 s; two jobs at least 1.7
times one. The second process is measured in turns with the first, because shared machines drift.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lopsided.papers.reproduce import Run, reproduce


def run(quick: bool) -> Iterator[dict[str, Any]]:
    """Rows with what, seconds, peer, peer_seconds, note."""
    before = os.environ.get("LOPSIDED_CLAIMS")
    os.environ["LOPSIDED_CLAIMS"] = str(Path(__file__).parent / "claim_files")
    try:
        with tempfile.TemporaryDirectory() as folder:
            for part in (_overhead, _two_jobs, _cached):
                yield from part(quick, Path(folder))
    finally:
        if before is None:
            del os.environ["LOPSIDED_CLAIMS"]
        else:
            os.environ["LOPSIDED_CLAIMS"] = before


def _timed(*ids: str, **options: Any) -> tuple[float, Run]:
    start = time.perf_counter()
    done = reproduce(ids, **options)
    seconds = time.perf_counter() - start
    if done.broken:
        raise RuntimeError("; ".join(record.found for record in done.claims if record.broken))
    return seconds, done


def _overhead(quick: bool, folder: Path) -> Iterator[dict[str, Any]]:
    for jobs in (1, 2):
        scale = "quick" if quick else "paper"
        seconds, done = _timed("bench-trivial", scale=scale, jobs=jobs, store=folder / f"t{jobs}")
        tasks = done.claims[0].tasks
        peer = _plain_files(tasks, folder / f"plain{jobs}")
        note = f"{1000 * seconds / tasks:.2f} ms a task (promise: below 5 ms)"
        yield {
            "what": f"{tasks:,} trivial tasks, {jobs} job{'s' if jobs > 1 else ''}",
            "seconds": seconds,
            "peer": "a loop that writes one file each",
            "peer_seconds": peer,
            "note": note,
        }


def _plain_files(count: int, folder: Path) -> float:
    """What the file system alone costs."""
    folder.mkdir()
    start = time.perf_counter()
    for index in range(count):
        (folder / f"{index}.json").write_text('{"value": 1}')
    return time.perf_counter() - start


def _two_jobs(quick: bool, folder: Path) -> list[dict[str, Any]]:
    scale = "quick" if quick else "paper"
    reproduce(["bench-trivial"], jobs=2, store=folder / "warm")  # the processes of the pool start before the clock does
    best = {1: float("inf"), 2: float("inf")}
    busy = 0.0  # tasks in hand on average: what two jobs would gain on two free cores, whatever else the machine does
    for repeat in range(2):
        for jobs in (1, 2):
            store = folder / f"busy{jobs}{repeat}"
            seconds, done = _timed("bench-busy", scale=scale, jobs=jobs, store=store)
            best[jobs] = min(best[jobs], seconds)
            if jobs == 2:
                busy = max(busy, done.claims[0].seconds / seconds)
    note = f"{best[1] / best[2]:.2f} times one job, {busy:.2f} tasks in hand (promise: 1.7 on two free cores)"
    return [
        {"what": "CPU-bound claim, 2 jobs", "seconds": best[2], "peer": "1 job", "peer_seconds": best[1], "note": note}
    ]


def _cached(quick: bool, folder: Path) -> list[dict[str, Any]]:
    papers = ["lp"] if quick else ["lp", "gi", "bo", "sd"]
    first, done = _timed(papers=papers, store=folder / "all")
    seconds, again = _timed(papers=papers, store=folder / "all")
    tasks, reused = (sum(getattr(record, name) for record in again.claims) for name in ("tasks", "reused"))
    if tasks != reused or [record.verdict for record in again.claims] != [record.verdict for record in done.claims]:
        raise RuntimeError("the rerun did not come from the store alone")
    return [
        {
            "what": f"rerun of {'the lp' if quick else 'all'} claims from the store ({tasks} tasks)",
            "seconds": seconds,
            "peer": "the first run",
            "peer_seconds": first,
            "note": "promise: below 10 s",
        }
    ]
