"""Runs one task in a worker: measures, takes the time, records provenance, and stores the result at once.

A task that raises gives a `Failure` with a sentence; it is not kept, so the next run tries again.
"""

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lopsided.core.errors import InputError, LopsidedError, MissingPackage
from lopsided.core.files import WriteError
from lopsided.core.jsonable import jsonable
from lopsided.core.provenance import provenance
from lopsided.engine.code import code_of
from lopsided.engine.device import DEVICE_VARIABLE, chosen_device
from lopsided.engine.needs import DATA_VARIABLE
from lopsided.engine.store import Result, Store
from lopsided.engine.task import Measures, Task
from lopsided.engine.threads import one_thread
from lopsided.engine.unfinished import keeping_unfinished

_PARENT_CHECK_SECONDS = 1.0

_limit: Any = None


@dataclass(frozen=True)
class Failure:
    """A task that raised: the sentence, the traceback, whether a package was only missing, and a refusal as it was."""

    sentence: str
    traceback: str
    missing_package: bool = False
    refusal: InputError | None = None


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker must know besides the task; crosses process and machine borders."""

    store: str | None
    data: str | None
    run: int | None = None  # the process whose end is the worker's; None where that is another machine's business
    device: str = field(default_factory=chosen_device)


def work(task: Task, setup: WorkerSetup) -> tuple[str, Result | Failure | None]:
    """Run one task in a worker. With a store the result is written here and only its name travels back."""
    settle_in(setup.run)
    if setup.data is not None:
        os.environ[DATA_VARIABLE] = setup.data
    os.environ[DEVICE_VARIABLE] = setup.device
    outcome = attempt(task, None if setup.store is None else Store(setup.store).unfinished(task))
    if isinstance(outcome, Result) and setup.store is not None:
        Store(setup.store).save(task, outcome)
        return task.key, None
    return task.key, outcome


def settle_in(run: int | None = None) -> None:
    """Once per worker: one thread for as long as it lives, and no longer life than the `run` that started it."""
    global _limit
    if _limit is None:
        _limit = one_thread()
        _limit.__enter__()
        atexit.register(_limit.__exit__, None, None, None)  # later, libraries are half unloaded
        if run is not None:
            with contextlib.suppress(ValueError):  # not in the main thread: then Ctrl-C does not reach it either
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the run ends its workers
            threading.Thread(target=follow, args=(run,), daemon=True).start()


def follow(run: int) -> None:
    """A run that is killed outright cannot stop its workers, so these stop themselves, also where it was killed before
    they were ready. On Windows a launcher may stand between the two."""
    parent = os.getppid() if sys.platform == "win32" else run
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_SECONDS)
    os._exit(1)


def attempt(task: Task, unfinished: Path | None = None) -> Result | Failure:
    """Measure; whatever the task raises becomes a sentence. In `unfinished` it keeps what it has done so far."""
    wall, processor = time.perf_counter(), time.process_time()
    try:
        if (own := code_of(task.home, task.entry)) != task.code:
            raise LopsidedError(
                f"Expected the code {task.code} of {task.name} on the worker, but it has {own}; install the same "
                "lopsided everywhere."
            )
        with keeping_unfinished(unfinished):
            numbers = _numbers(task.load(task.home), task)
    except WriteError:
        raise  # a full disk is no fault of the task: the run stops
    except Exception as error:
        name = type(error).__name__
        sentence = str(error) if isinstance(error, LopsidedError) else f"{name}: {' '.join(str(error).split())}"
        refusal = error if isinstance(error, InputError) else None
        return Failure(sentence, traceback.format_exc(), isinstance(error, MissingPackage), refusal)
    origin = provenance(seed=task.seed, settings={})
    for repeated in ("seed", "settings"):
        del origin[repeated]
    if (device := chosen_device()) != "cpu":
        origin["machine"] = {**origin["machine"], "device": device}
    told = {name: getattr(task, name) for name in ("name", "version", "settings", "seed", "code")}
    seconds, processed = time.perf_counter() - wall, time.process_time() - processor
    return Result(**told, numbers=numbers, seconds=seconds, processor_seconds=processed, provenance=origin)


def _numbers(measurement: Measures, task: Task) -> dict[str, Any]:
    settings = task.settings | ({"place": task.place} if task.place else {})
    numbers = jsonable(measurement.measure(settings, task.seed))
    if not isinstance(numbers, dict):
        got = type(numbers).__name__
        raise LopsidedError(f"Expected named numbers from {task.name}, but got a {got}; return a dict.")
    return numbers
