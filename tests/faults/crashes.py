"""Crashes: kill -9 at random moments and at the very moments of writing; what a rerun gives is what an undisturbed run
gives, and what was finished is not computed again."""

import hashlib
import json
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tests.faults.subprocesses import finish, kill_after, start
from tests.faults.tally import Row, Size, timed

TOYS = Path(__file__).parents[1] / "engine/toys"
KILLS = {"full": {"reproduce": 34, "score": 33, "audit": 33}, "short": {"reproduce": 2, "score": 2, "audit": 0}}
AT_ONCE = 2  # cores
_LOCK = threading.Lock()
AT_WRITES = {"full": (1, 2, 5, 9), "short": (1,)}


@dataclass(frozen=True)
class Subject:
    """A command that is killed: how it is called in a folder, and what its results are there (None: not there)."""

    name: str
    arguments: list[str]
    results: Callable[[Path], Any]
    finished: Callable[[Path], int]  # pieces of work that a rerun must not repeat
    begun: Callable[[Path], int]  # pieces of work that were ever begun
    writes: int  # files that one undisturbed run writes at least


def run(size: Size) -> list[Row]:
    """One row per command; two runs at a time, of whatever command is next, so that no processor waits for another."""
    subjects = [one for one in (AUDIT, REPRODUCE, SCORE) if KILLS[size][one.name]]
    rows = [Row("crashes", f"kill -9 of {subject.name}") for subject in subjects]
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(AT_ONCE) as pool:
        plans = list(pool.map(partial(_plan, place=Path(place), size=size), subjects, rows))
        for trial in [pool.submit(trial) for trials in plans for trial in trials]:
            trial.result()
    return rows


def _plan(subject: Subject, row: Row, place: Path, size: Size) -> list[Callable[[], None]]:
    """The kills of a command; none where it fails undisturbed."""
    random = Random(f"kills of {subject.name}")
    with timed(row):
        # the first run may compile kernels: of kills spread over its time, most would come after the end
        for number in range(2 if size == "full" else 1):
            undisturbed = _folder(place / f"{subject.name} undisturbed {number}")
            began = time.monotonic()
            code, _, err = finish(_start(subject, undisturbed))
            whole = time.monotonic() - began
        expected = subject.results(undisturbed)
        if code != 0 or expected is None:
            row.lose(f"the undisturbed run ended with {code}: {err[-300:]}")
            return []
        total = KILLS[size][subject.name]
        moments: list[tuple[str, float]] = [
            (kind, number)
            for number in AT_WRITES[size]
            for kind in ("half", "before", "after")
            if number <= subject.writes
        ][:total]
        # The last part of a run is where files are written, so half of the kills fall there.
        for count in range(total - len(moments)):
            share = random.uniform(0.0, 1.0) if count % 2 else random.uniform(0.6, 1.05)
            moments.append(("group" if random.random() < 0.5 else "process", share * whole))
    early: list[bool] = []
    return [
        partial(_trial, subject, row, place / f"{subject.name} {number}", moment, expected, whole, early)
        for number, moment in enumerate(moments)
    ]


def _trial(
    subject: Subject,
    row: Row,
    folder: Path,
    moment: tuple[str, float],
    expected: Any,
    whole: float,
    early: list[bool],
) -> None:
    """One kill, and what it says of the row."""
    one = Row(row.part, row.what)
    with timed(one):
        early.append(_one(subject, one, _folder(folder), moment, expected))
    with _LOCK:
        row.tried, row.answered, row.seconds = (
            row.tried + one.tried,
            row.answered + one.answered,
            row.seconds + one.seconds,
        )
        row.lost += one.lost
        row.note = f"{whole:.1f} s a run; {sum(early)} before its end"


def _one(subject: Subject, row: Row, folder: Path, moment: tuple[str, float], expected: Any) -> bool:
    """Whether the kill came before the end."""
    kind, when = moment
    if kind in ("half", "before", "after"):
        process = _start(subject, folder, "tests.faults.killed_at", kind, str(int(when)))
        early = finish(process)[0] != 0
    else:
        early = kill_after(_start(subject, folder), when, group=kind == "group")
    time.sleep(0.05)
    left = subject.results(folder)
    if left not in (None, expected):
        row.lose(f"after a kill ({kind} {when:.2f}) other results were there")
        return early
    done, begun = subject.finished(folder), subject.begun(folder)
    code, _, err = finish(_start(subject, folder))
    if code != 0 or err:
        row.lose(f"the rerun after a kill ({kind} {when:.2f}) ended with {code}: {err[-300:]}")
    elif subject.results(folder) != expected:
        row.lose(f"the rerun after a kill ({kind} {when:.2f}) gave other results")
    elif subject.begun(folder) - begun > subject.finished(folder) - done:
        row.lose(f"the rerun after a kill ({kind} {when:.2f}) computed again what was finished")
    else:
        row.answer()
    shutil.rmtree(folder, ignore_errors=True)
    return early


def _folder(folder: Path) -> Path:
    """Data for score and audit, the same in every folder."""
    folder.mkdir()
    random = np.random.default_rng(7)
    labels = np.repeat(np.arange(4), (200, 100, 40, 9))
    features = random.normal(size=(labels.size, 12)) + labels[:, None]
    np.savez(folder / "data.npz", features=features, labels=labels, group=np.arange(labels.size) % 2)
    return folder


def _start(subject: Subject, folder: Path, module: str = "lopsided", *before: str) -> Any:
    about = {"LOPSIDED_CLAIMS": str(TOYS), "TOY_LOG": str(folder / "log"), "LOPSIDED_STORE": str(folder / "store")}
    return start([*before, *subject.arguments], folder, module=module, **about)


def _numbers(folder: Path) -> Any:
    """Settings, seed and numbers of every task and the verdict's numbers; None until the verdict is there."""
    from lopsided.engine.store import Store

    store = Store(folder / "store")
    verdicts = [(entry["id"], entry["verdict"], entry["numbers"]) for entry in store.verdicts()]
    if not verdicts:
        return None
    kept = sorted(json.dumps([one.settings, one.seed, one.numbers], sort_keys=True) for one in store.results())
    return hashlib.sha256(json.dumps([kept, verdicts], sort_keys=True).encode()).hexdigest()


def _lines(folder: Path) -> int:
    log = folder / "log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def _bytes(name: str) -> Callable[[Path], Any]:
    return lambda folder: hashlib.sha256((folder / name).read_bytes()).hexdigest() if (folder / name).exists() else None


def _report(folder: Path) -> Any:
    """The page without the time of day and the seconds that it took."""
    path = folder / "report.html"
    if not path.exists():
        return None
    text = re.sub(
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z| UTC)?", "TIME", path.read_text(encoding="utf-8")
    )
    text = re.sub(r"(seconds</t[hd]>\s*<td>)[\d.]+", r"\1SECONDS", text)
    text = text.replace(str(folder), "FOLDER").replace(os.path.realpath(folder), "FOLDER")
    return hashlib.sha256(text.encode()).hexdigest()


def _nothing(folder: Path) -> int:
    return 0


REPRODUCE = Subject(
    "reproduce",
    ["reproduce", "toy-sum", "--scale", "paper", "--jobs", "2"],
    _numbers,
    lambda folder: len(list((folder / "store/tasks/toy-sum").glob("*.json"))),
    _lines,
    1,  # tasks are written by workers; the process itself writes the verdict
)
SCORE = Subject(
    "score",
    ["score", "data.npz", "--out", "scores.parquet", "--noise-matrix", "--plot", "scores.html"],
    _bytes("scores.parquet"),
    _nothing,
    _nothing,
    2,
)
AUDIT = Subject("audit", ["audit", "data.npz", "--report", "report.html"], _report, _nothing, _nothing, 1)
