"""A worker of the campaign: runs case after case in this process and prints one JSON line for each.

`python -m tests.faults.cases KIND SEED FIRST LAST`. A case that hangs ends the process with a stack (the watchdog), one
that breaks the interpreter ends it without; the parent (`bad_input.py`) sees which case it was and goes on behind it.
"""

import json
import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path
from random import Random

from tests.faults.watchdog import Watchdog

WATCHDOG = Watchdog()
MEMORY_BYTES = 8 * 2**30  # of addresses: what eats memory is told so instead of eating the machine


def run(kind: str, seed: int, first: int, last: int) -> None:
    """Cases `first` up to `last`, one line each: {case, what, ended, words}."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    work = Path(tempfile.mkdtemp(prefix="faults-"))
    try:
        if kind == "calls":
            from tests.faults.call_cases import run as run_calls

            run_calls(seed, last - first, first, _begin, _report, work)
            return
        for number in range(first, last):
            folder = work / str(number)
            (folder / "out").mkdir(parents=True)
            _begin(number)
            _report(number, *one(kind, Random(f"{seed} {kind} {number}"), folder))
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _begin(number: int) -> None:
    WATCHDOG.begin()
    print(json.dumps({"begins": number}), flush=True)


def _report(number: int, what: str, ended: str, words: str) -> None:
    WATCHDOG.end()
    print(json.dumps({"case": number, "what": what, "ended": ended, "words": words}), flush=True)


def one(kind: str, random: Random, folder: Path) -> tuple[str, str, str]:
    """(what it was, answered / refused / lost, words about a loss)."""
    from tests.faults.command_cases import command_case
    from tests.faults.console import fault, say

    canary = folder / "canary"
    what, arguments = command_case(random, folder, canary, kind.partition(":")[2] or None)
    said = say(arguments, folder)
    wrong = fault(said, arguments, folder, folder / "out")
    if canary.exists():
        wrong = "code out of data was executed"
    if wrong:
        return what, "lost", f"{wrong} <- lopsided {' '.join(map(repr, arguments))}"[:900]
    return what, "refused" if said.code == 2 else "answered", ""


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
