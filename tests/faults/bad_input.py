"""Bad input: generated cases over every command and every public function, in watched processes."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass, field

from tests.faults.tally import Row, Size

SEED = 11
# cases of each kind; the bombs take seconds each
FULL = {"commands": 9000, "calls": 4000, "commands:zip bomb": 16, "commands:long csv": 8}
SHORT = {"commands": 100, "calls": 60}
PROCESSES = int(os.environ.get("FAULT_PROCESSES", "2"))


@dataclass
class Shared:
    """What the watching threads have found so far."""

    rows: dict[str, Row] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str, ended: str, words: str, seconds: float) -> None:
        with self.lock:
            name = what.partition(":")[0]
            row = self.rows.setdefault(name, Row("bad input", name))
            if ended == "lost":
                row.lose(f"{what}: {words}")
                print(f"lost in {what}: {words}", file=sys.stderr, flush=True)
            elif ended == "refused":
                row.refuse()
            else:
                row.answer()
            row.seconds += seconds


def run(size: Size, counts: dict[str, int] | None = None) -> list[Row]:
    """Every kind, split over processes. FAULT_SECONDS ends it early, with what was tried until then."""
    end = time.monotonic() + float(os.environ.get("FAULT_SECONDS", "inf"))
    found = Shared()
    wanted = counts or (FULL if size == "full" else SHORT)
    length = 500 if size == "full" else -(-max(wanted.values()) // PROCESSES)
    pieces = [
        (kind, first, min(first + length, count)) for kind, count in wanted.items() for first in range(0, count, length)
    ]
    # the kinds in turns, so that a run that is ended early has tried all of them
    waiting = iter(sorted(pieces, key=lambda piece: piece[1] / wanted[piece[0]]))
    lock = threading.Lock()

    def watch() -> None:
        while True:
            with lock:
                piece = next(waiting, None)
            if piece is None:
                return
            _piece(*piece, found, end)

    threads = [threading.Thread(target=watch) for _ in range(PROCESSES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return list(found.rows.values())


def _piece(kind: str, first: int, last: int, found: Shared, end: float = float("inf")) -> None:
    """One process after the other until all cases of the piece have ended."""
    while first < last and time.monotonic() < end:
        began, begun = time.perf_counter(), None
        with tempfile.TemporaryFile("w+") as complaint:
            command = [sys.executable, "-m", "tests.faults.cases", kind, str(SEED), str(first), str(last)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaint, text=True)
            lines = _lines(process)
            for line in lines:
                if "begins" in line:
                    begun = line["begins"]
                    continue
                if time.monotonic() > end:
                    process.kill()
                    lines.close()
                    process.wait()
                    return
                ended = time.perf_counter()
                found.note(line["what"], line["ended"], line["words"], ended - began)
                began, begun, first = ended, None, line["case"] + 1
            code = process.wait()
            complaint.seek(0)
            said = complaint.read()
        if first >= last:
            return
        why = "a hang" if "Timeout" in said else f"the interpreter ended with code {code}"
        where = " ".join(said[-700:].split())
        found.note(f"{kind}: case {begun}", "lost", f"{why} ({where})", time.perf_counter() - began)
        first = (begun if begun is not None else first) + 1


def _lines(process: "subprocess.Popen[str]") -> Generator[dict, None, None]:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if line.startswith("{"):
                yield json.loads(line)
