"""Ctrl-C and SIGTERM wait until the step at hand is finished, so that what is then kept is a whole state."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def held_interruptions() -> Iterator[Callable[[], bool]]:
    """Yields a function that says whether an interruption waits; it is delivered when the block ends.

    Only the main thread receives signals; elsewhere nothing changes. A signal that is ignored stays ignored.
    """
    waiting: list[tuple[int, FrameType | None]] = []
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for known in _SIGNALS:
            handler = signal.getsignal(known)
            if handler not in (signal.SIG_IGN, None):
                before[known] = handler
                signal.signal(known, lambda got, frame: waiting.append((got, frame)))
    try:
        yield lambda: bool(waiting)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if waiting:
            number, frame = waiting[0]
            if callable(before[number]):
                before[number](number, frame)
            else:
                signal.raise_signal(number)
