"""Crowds: two runs on one store, ten readers while one writes, Dask workers that are lost during a run."""

import json
import os
import signal
import tempfile
import threading
import time
from pathlib import Path
from random import Random

from tests.faults.crashes import REPRODUCE, TOYS
from tests.faults.subprocesses import PATIENCE, finish, kill_group, start
from tests.faults.tally import Row, Size, timed

RUNS = {"full": 6, "short": 1}
READERS = 10
BETWEEN = 15  # readings of the store between two questions of a reader
PAUSE = 0.5  # seconds between two questions of a reader: ten that never rest leave the writer no processor


def run(size: Size) -> list[Row]:
    """One row per kind of crowd."""
    expected = _undisturbed()
    two, readers, workers = (
        Row("crowds", what) for what in ("two runs on one store", "ten readers while one writes", "Dask workers lost")
    )
    for _ in range(RUNS[size]):
        with timed(two):
            _two_runs(two, expected)
        with timed(readers):
            _readers(readers, expected)
    if size == "full":  # tests/engine/test_cluster.py kills a worker in every run of the tests
        for number in range(4):
            with timed(workers):
                _workers(workers, expected, Random(number))
        parts = Row("crowds", "Dask workers lost while they read parts")
        for number in range(4):
            with timed(parts):
                _parts(parts, number)
        return [two, readers, workers, parts]
    return [two, readers]


def _about(folder: Path) -> dict[str, str]:
    return {"LOPSIDED_CLAIMS": str(TOYS), "TOY_LOG": str(folder / "log"), "LOPSIDED_STORE": str(folder / "store")}


def _undisturbed() -> object:
    with tempfile.TemporaryDirectory() as place:
        finish(start(REPRODUCE.arguments, Path(place), **_about(Path(place))))
        return REPRODUCE.results(Path(place))


def _two_runs(row: Row, expected: object) -> None:
    """Both end well, and what is stored is what one run alone stores."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        runs = [start([*REPRODUCE.arguments, "--json"], folder, **_about(folder)) for _ in range(2)]
        for process in runs:
            code, out, err = finish(process)
            row.check((code, err) == (0, "") and json.loads(out)[0]["verdict"] == "holds", f"code {code}: {err[-200:]}")
        row.check(REPRODUCE.results(folder) == expected, "the store holds other results")
        row.check(not (folder / "store/set-aside").exists(), "a result was set aside")


def _readers(row: Row, expected: object) -> None:
    """Readers see whole results only, ever more of them, and harm nothing."""
    import lopsided
    from lopsided.engine.store import Store

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        writer = start(REPRODUCE.arguments, folder, **_about(folder))
        lock = threading.Lock()

        def read() -> None:
            last, end = 0, time.monotonic() + PATIENCE
            while writer.poll() is None and time.monotonic() < end:
                try:
                    answer = lopsided.results("select count(*), count(numbers) from tasks", store=folder / "store")
                    ((count, whole),) = answer.rows
                    good, words = last <= count == whole <= 24, f"saw {count} after {last}"
                    last = count
                except Exception as error:
                    good, words = False, f"{type(error).__name__}: {error}"
                with lock:
                    row.check(good, words)
                # a query has a process of its own and takes as long as many tasks: the store itself is read in between
                for _ in range(BETWEEN):
                    try:
                        count = sum(1 for _ in Store(folder / "store").results())
                        good, words = last <= count <= 24, f"read {count} after {last}"
                        last = count
                    except Exception as error:
                        good, words = False, f"{type(error).__name__}: {error}"
                    with lock:
                        row.check(good, words)
                    time.sleep(PAUSE / BETWEEN)

        threads = [threading.Thread(target=read) for _ in range(READERS)]
        for thread in threads:
            thread.start()
        code, _, err = finish(writer)
        for thread in threads:
            thread.join()
        row.check((code, err) == (0, ""), f"the writer ended with {code}: {err[-200:]}")
        row.check(REPRODUCE.results(folder) == expected, "the store holds other results")


def _workers(row: Row, expected: object, random: Random) -> None:
    """Three workers, of which one or two are killed at random moments; the run ends as if nothing had been."""
    from tests.engine.local_cluster import local_cluster

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        os.environ |= _about(folder)  # the workers log, too
        try:
            with local_cluster(folder, "tcp", [], workers=3) as (address, (_, *workers)):
                arguments = ["reproduce", "toy-sum", "--scale", "paper", "--cluster", address]
                process = start(arguments, folder, **_about(folder))
                end = time.monotonic() + PATIENCE
                while process.poll() is None and REPRODUCE.begun(folder) < 3 and time.monotonic() < end:
                    time.sleep(0.02)
                for worker in random.sample(workers, random.choice((1, 2))):
                    time.sleep(random.uniform(0, 1.0))
                    os.kill(worker.pid, signal.SIGKILL)
                code, _, err = finish(process)
                kill_group(process)
        finally:
            for name in _about(folder):
                os.environ.pop(name, None)
        row.check((code, err) == (0, ""), f"code {code}: {err[-300:]}")
        row.check(_numbers_alone(folder) == _numbers_expected(), "the store holds other results")


def _parts(row: Row, number: int) -> None:
    """Three workers read parts of a data set, one or two are killed meanwhile; the answers are those of one machine."""
    from itertools import count

    import lopsided
    from tests.checkup.streamed.small_parts import EXACT, GIVEN, table, written
    from tests.engine.local_cluster import local_cluster

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        parts = written(folder / "parts", table(24_000), 2000, 1000)
        asked = {"checks": [*EXACT, "influence"], "sample_rows": 2000, **GIVEN}
        here = lopsided.audit(parts, **asked).to_dict()
        scores = lopsided.score(parts, "kind", features=["x0", "x1"]).influence.scores
        for what in ("audit", "score"):
            with local_cluster(folder, "tcp", [], workers=3) as (address, (_, *workers)):
                answers = count()

                def kill(*_: object, answers=answers, workers=workers) -> None:
                    if (answer := next(answers)) in ((3 * number, 20) if number % 2 else (5 * number,)):
                        os.kill(workers[answer % 3].pid, signal.SIGKILL)

                if what == "audit":
                    there = lopsided.audit(parts, cluster=address, progress=kill, **asked).to_dict()
                    same = all(here[name] == there[name] for name in ("rows", "findings", "measures", "notes"))
                else:
                    features = ["x0", "x1"]
                    found = lopsided.score(parts, "kind", features=features, cluster=address, progress=kill)
                    same = bool((found.influence.scores == scores).all())
                row.check(same, f"{what} {number}: other numbers after a worker was lost")


def _numbers_alone(folder: Path) -> list[tuple[int, int, int]]:
    from lopsided.engine.store import Store

    return sorted((one.settings["x"], one.seed, one.numbers["value"]) for one in Store(folder / "store").results())


def _numbers_expected() -> list[tuple[int, int, int]]:
    """The toy's own law: x + seed (workers elsewhere report their own thread settings, which differ)."""
    return sorted((x, seed, x + seed) for x in range(12) for seed in range(2))
