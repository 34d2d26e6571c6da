"""A question to the store is answered in a process of its own, which ends with the answer, at the deadline or out of
memory: DuckDB alone stops neither within a function nor while its values become those of Python.

The process reads (folder, question) from its standard input and writes a byte when the tables are there, then
(columns, rows) or the error.
"""

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lopsided.core.errors import InputError, LopsidedError
from lopsided.engine.query_tables import answered, open_tables
from lopsided.engine.work import follow

_SMALLER = "use a sum, a count or LIMIT"
# The folder of the command, which -c would put first, may hold modules of any name; only sys is in the interpreter.
_CHILD = "import sys; sys.path[:] = sys.argv[1:]; from lopsided.engine.query_process import main; main()"

ColumnsAndRows = tuple[list[str], list[tuple[Any, ...]]]


@dataclass(frozen=True)
class QueryLimits:
    """Of the memory of a query besides the tables, and of the values of an answer (also in lists) and their bytes."""

    memory: int = 4 * 10**9
    values: int = 3_000_000  # as JSON, a minute's work
    bytes: int = 200 * 10**6

    def too_much(self) -> InputError:
        """The error of a query that needs more memory."""
        return InputError(f"a query that needs at most {self.memory / 1e9:g} GB", "one that needs more", _SMALLER)

    def too_long(self) -> InputError:
        """The error of an answer that has more."""
        most = f"{self.values:,} values and {self.bytes // 10**6} MB"
        return InputError(f"an answer of at most {most}", "more", _SMALLER)


def ask(question: str, folder: Path, seconds: float, limits: QueryLimits) -> ColumnsAndRows:
    """Columns and rows of the answer, within so many seconds from the time when the store has been read."""
    command = [sys.executable, "-c", _CHILD, *sys.path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        clock = threading.Timer(min(seconds, threading.TIMEOUT_MAX), child.kill)
        try:
            with contextlib.suppress(BrokenPipeError):
                child.stdin.write(pickle.dumps((folder, question, limits, os.getpid())))
                child.stdin.close()
            child.stdout.read(1)
            clock.start()
            reply = child.stdout.read()
            late = not clock.is_alive()
        finally:
            clock.cancel()
            child.kill()
    if late:
        remedy = "simplify the query, or raise --seconds"
        raise InputError(f"an answer within {seconds:g} seconds", "none yet", remedy)
    try:
        answer, error = pickle.loads(reply)
    except (pickle.UnpicklingError, EOFError):  # ended by the system or by a library that had no memory
        raise limits.too_much() from None
    if error is not None:
        raise error
    found: ColumnsAndRows = answer
    return found


def main() -> None:
    """The process that answers."""
    with open(sys.stdin.fileno(), "rb", closefd=False) as stdin:
        folder, question, limits, asker = pickle.load(stdin)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever a library prints is no part of the answer
    threading.Thread(target=follow, args=(asker,), daemon=True).start()
    connection, reply = None, b""
    try:
        connection = open_tables(folder, limits.memory)
    except LopsidedError as error:
        reply = pickle.dumps((None, error))
    out.write(b".")
    out.flush()
    out.write(reply or _reply(connection, question, limits))
    out.flush()
    os._exit(0)  # without tidying up, which may take long


def _reply(connection: Any, question: str, limits: QueryLimits) -> bytes:
    _limit_memory(limits.memory)
    try:
        answer = answered(connection, question, limits.values)
        reply = pickle.dumps((answer, None))
        return reply if answer and len(reply) <= limits.bytes else pickle.dumps((None, limits.too_long()))
    except MemoryError:
        return pickle.dumps((None, limits.too_much()))
    except LopsidedError as error:
        return pickle.dumps((None, error))


def _limit_memory(memory: int) -> None:
    """What the tables take and so much more; the data segment counts what can be written to."""
    if sys.platform == "win32":
        return
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit + memory
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
