"""Ends a process that hangs, with its stack: one that computes for too long, or that waits and does nothing.

Time on the processor is counted, not the clock, because the machines are shared; a process that waits uses none.
"""

import faulthandler
import os
import sys
import threading
import time

BUSY_SECONDS = 60.0  # of the processor: compiling the kernels for the first time takes a dozen, every answer less
IDLE_SECONDS = 60.0  # on the clock in which next to nothing was computed
FROZEN_SECONDS = 900.0  # on the clock, for code that lets no other thread run


class Watchdog:
    """`begin` before a case, `end` after it."""

    def __init__(self) -> None:
        self._since: tuple[float, float] | None = None
        threading.Thread(target=self._watch, daemon=True).start()

    def begin(self) -> None:
        """A case begins."""
        faulthandler.dump_traceback_later(FROZEN_SECONDS, exit=True)
        self._since = (time.process_time(), time.monotonic())

    def end(self) -> None:
        """It has ended."""
        self._since = None
        faulthandler.cancel_dump_traceback_later()

    def _watch(self) -> None:
        worked, moved = 0.0, time.monotonic()
        case = None
        while True:
            time.sleep(1.0)
            since, now, used = self._since, time.monotonic(), time.process_time()
            if since is None or since is not case or used - worked > 0.05:
                case, worked, moved = since, used, now
            if since is not None and (used - since[0] > BUSY_SECONDS or now - moved > IDLE_SECONDS):
                sys.stderr.write("Timeout\n")
                faulthandler.dump_traceback()
                os._exit(3)
