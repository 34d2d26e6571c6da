"""Short computations of requests: in a few threads, within a time, and given up when the client has gone.

When a slider moves, the page drops its old request and sends a new one. A dropped request that still waits never
starts, and a running one stops at its next step if it reports steps.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fastapi import Request

from lopsided.core.blas import one_blas_thread
from lopsided.web.limits import Limits
from lopsided.web.problems import Refused

Result = TypeVar("Result")


class Watch:
    """Handed to a computation: `check` raises once the client has gone or the time is over."""

    def __init__(self, seconds: float) -> None:
        self._gone = threading.Event()
        self._seconds, self._end = seconds, time.monotonic() + seconds

    def leave(self) -> None:
        """The client no longer waits."""
        self._gone.set()

    def check(self, *about: object) -> None:
        """Shaped like a progress function, so that solvers can call it as one."""
        if self._gone.is_set():
            raise Refused(503, "Stopped: the request was cancelled.")
        if time.monotonic() > self._end:
            raise Refused(503, f"Stopped after {self._seconds:.0f} seconds; use a smaller problem.")


class Compute:
    """The threads that answer requests."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open()

    def _open(self) -> None:
        self._threads = ThreadPoolExecutor(self._limits.requests_at_once, thread_name_prefix="request")
        self._heavy = ThreadPoolExecutor(self._limits.heavy_at_once, thread_name_prefix="heavy")

    async def run(self, request: Request, work: Callable[[Watch], Result], *, heavy: bool = False) -> Result:
        """The result of `work(watch)`; heavy work waits for other heavy work and does not hold up the rest."""
        watch = Watch(self._limits.request_seconds)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.run_in_executor(self._heavy if heavy else self._threads, _begin, work, watch)
        gone: asyncio.Future[Any] = asyncio.ensure_future(_until_gone(request))
        try:
            await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                watch.leave()
                answer.cancel()
                raise Refused(503, "Stopped: the request was cancelled.")
            result: Result = answer.result()
            return result
        finally:
            gone.cancel()

    def prepare(self, work: Callable[[], None]) -> None:
        """Do something beforehand, so that the first request need not wait for imports."""
        self._threads.submit(work)

    def close(self) -> None:
        """Drop what waits; an application that is started again begins anew."""
        for pool in (self._threads, self._heavy):
            pool.shutdown(wait=False, cancel_futures=True)
        self._open()


def _begin(work: Callable[[Watch], Result], watch: Watch) -> Result:
    watch.check()
    with one_blas_thread():
        return work(watch)


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def compute_of(request: Request) -> Compute:
    """The threads of the server that was asked."""
    compute: Compute = request.app.state.compute
    return compute
