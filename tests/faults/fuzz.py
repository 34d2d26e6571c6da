"""Coverage-guided fuzzing of the readers and of the counts grammar with atheris, from the seeds kept in `seeds/`."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from tests.faults.fuzz_targets import TARGETS, tried
from tests.faults.tally import Row, Size, timed

SEEDS = Path(__file__).parent / "seeds"
SECONDS = 120  # of each target, two at a time: ten minutes
LONGEST = 4000  # bytes of an input
_MEMORY_MB, _HANG_SECONDS = 3000, 20
# atheris loses some KB an input in code that it instruments (the same code without it: nothing), which in 400,000
# inputs would be taken for a reader's memory: so a process is replaced after this long, and its successor goes on.
_SECONDS_OF_A_PROCESS, _INPUTS_OF_A_PROCESS = 30, 200_000


def run(size: Size, seconds: int = SECONDS) -> list[Row]:
    """The kept seeds in any case; the search itself in the full form, where atheris is installed."""
    seeds = Row("fuzzing", "kept seeds of ten readers")
    with timed(seeds), tempfile.TemporaryDirectory() as place:
        for name in TARGETS:
            for path in sorted((SEEDS / name).glob("*")):
                try:
                    seeds.answer() if tried(name, path.read_bytes(), Path(place)) else seeds.refuse()
                except Exception as error:
                    seeds.lose(f"{name}/{path.name}: {type(error).__name__}: {error}")
    if size == "short":
        return [seeds]
    if importlib.util.find_spec("atheris") is None:
        seeds.note = "atheris is not installed (it has wheels for Linux on x86-64), so nothing was searched"
        return [seeds]
    rows = [Row("fuzzing", f"atheris: {name}") for name in TARGETS]
    waiting, lock = iter(zip(TARGETS, rows, strict=True)), threading.Lock()

    def work() -> None:
        while True:
            with lock:
                following = next(waiting, None)
            if following is None:
                return
            with timed(following[1]):
                _search(*following, seconds)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [seeds, *rows]


def _search(name: str, row: Row, seconds: int) -> None:
    """Fuzz one target; every input that broke it is a loss, and is kept."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "corpus").mkdir()
        runs, end = 0, time.monotonic() + seconds
        while (left := end - time.monotonic()) >= 1 and not row.lost:
            limits = [f"-max_total_time={min(int(left), _SECONDS_OF_A_PROCESS)}", f"-runs={_INPUTS_OF_A_PROCESS}"]
            done = fuzz(name, folder, [*limits, str(folder / "corpus"), str(SEEDS / name)])
            found = re.search(r"stat::number_of_executed_units:\s+(\d+)", done.stderr)
            runs += int(found[1]) if found else 0
            broken = sorted(path for path in folder.glob("found-*") if not path.name.startswith("found-slow"))
            for path in broken:
                kept = shutil.copy(path, Path(tempfile.gettempdir()) / f"lopsided-{name}-{path.name}")
                row.lose(f"{path.name.split('-')[1]} by {kept}: {_last(done.stderr)}")
            if (done.returncode or not found) and not broken:
                row.lose(f"ended with {done.returncode}: {_last(done.stderr)}")
        row.tried, row.answered = runs, runs - len(row.lost)
        row.note = f"{len(list((folder / 'corpus').iterdir()))} new paths; answers and refusals counted together"


def fuzz(name: str, folder: Path, options: list[str]) -> "subprocess.CompletedProcess[str]":
    """libFuzzer on one target; what breaks it is written to folder/found-*."""
    limits = [f"-max_len={LONGEST}", f"-rss_limit_mb={_MEMORY_MB}", f"-timeout={_HANG_SECONDS}", "-print_final_stats=1"]
    command: list[Any] = [sys.executable, "-m", "tests.faults.fuzz_targets", name, folder, *limits]
    command += [f"-artifact_prefix={folder}/found-", *options]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", env=dict(os.environ))


def _last(text: str) -> str:
    """The Python error in libFuzzer's words."""
    found = re.findall(r"^(\w*(?:Error|Exception|Warning)[^\n]*)", text, re.MULTILINE)
    return found[-1][:300] if found else " ".join(text[-300:].split())
