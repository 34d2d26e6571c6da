"""The process of one job: niced, limited in memory and processor time, and gone when the server is.

It speaks JSON through its pipe: first comes the job, then it sends progress, and last the result or a sentence. A
worker may be started before there is a job, so that the imports are done when one comes.
"""

import contextlib
import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from lopsided.web.limits import Limits

# kind -> module and function; the function takes (parameters, report) and returns JSON-able values, under "report" a
# page of HTML where it wrote one.
KINDS = {
    "audit": "lopsided.web.rooms.audit:run",
    "claim": "lopsided.web.rooms.claims:rerun",
    "groups": "lopsided.web.rooms.groups:simulate",
    "inspect": "lopsided.web.rooms.files:inspect",
    "phase": "lopsided.web.rooms.memorisation:measure_phase",
    "score": "lopsided.web.rooms.memorisation:score_examples",
    "train": "lopsided.web.rooms.memorisation:train_here",
    "trial": "lopsided.web.rooms.trial:run",
    "width": "lopsided.web.rooms.width:run",
}
Report = Callable[..., None]


def main(connection: Connection, limits: Limits) -> None:
    """Wait for a job, do it, say how it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the server ends its workers
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"))
    with contextlib.suppress(OSError):
        os.nice(limits.job_niceness)
    _limit(limits)
    import lopsided.core.jsonable
    import lopsided.core.validation  # noqa: F401  # NumPy, before there is anything to do

    try:
        job = json.loads(connection.recv_bytes())
    except (EOFError, OSError):
        return
    threading.Thread(target=_follow, args=(connection,), daemon=True).start()
    _send(connection, _outcome(job, connection, limits))
    connection.close()
    os._exit(0)  # threads of libraries are nobody's concern any more


def _outcome(job: dict[str, Any], connection: Connection, limits: Limits) -> dict[str, Any]:
    from lopsided.core.errors import LopsidedError
    from lopsided.core.jsonable import jsonable

    def report(**news: Any) -> None:
        _send(connection, jsonable(news))

    module, _, name = KINDS[job["kind"]].partition(":")
    try:
        result = jsonable(getattr(importlib.import_module(module), name)(job["parameters"], report))
        page = result.pop("report", None)
        if len(json.dumps(result)) + len(page or "") > limits.result_bytes:
            return {"failed": f"The result is larger than {limits.result_bytes:,} bytes; use a smaller problem."}
        return {"result": result, "report": page}
    except LopsidedError as error:
        return {"failed": str(error)}
    except MemoryError:
        return {
            "failed": f"The job needs more than {limits.job_memory_bytes / 1e9:g} GB, its limit; use a smaller problem."
        }
    except Exception as error:
        return {"failed": f"The job failed: {type(error).__name__}: {' '.join(str(error).split())}"}


def _send(connection: Connection, message: dict[str, Any]) -> None:
    try:
        connection.send_bytes(json.dumps(message, allow_nan=False).encode())
    except (BrokenPipeError, OSError):
        os._exit(1)


def _follow(connection: Connection) -> None:
    """The server writes nothing more; the end of the pipe is the end of the server."""
    with contextlib.suppress(EOFError, OSError):
        connection.recv_bytes()
    os._exit(1)


def _limit(limits: Limits) -> None:
    if sys.platform == "win32":  # no such limits there; the time of the runner remains
        return
    import resource

    seconds = int(limits.job_seconds) + 5
    wanted = [(resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0)]
    # The data segment counts what is written to, unlike the address space, of which libraries reserve much.
    wanted.append((resource.RLIMIT_DATA, limits.job_memory_bytes))
    for what, most in wanted:
        _, hard = resource.getrlimit(what)
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(what, (allowed, hard))
