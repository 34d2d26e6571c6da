"""Progress with time left, on standard error, so that what is printed stays clean.

On a terminal a bar that is gone when the work ends; in a log (a batch job, `nohup`) one line a minute.
"""

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from lopsided.core.progress import ProgressStart, counted

_SECONDS_BETWEEN_LINES = 60.0
# Tasks differ in length, so the last ten minutes say more about the time left than the last seconds.
_SECONDS_OF_SPEED = 600


def stop_on_sigterm() -> None:
    """Batch systems end jobs so: as with Ctrl-C, what was finished is kept."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)


class LogLines:
    """`lopsided: claims 12 of 360, about 4 min left`, at most one line a minute."""

    def __init__(self, words: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._words, self._clock = words, clock
        self._began = self._last = clock()

    def __call__(self, done: int, total: int) -> None:
        """Say it, if a minute has passed; silent at the end, when the results speak."""
        now = self._clock()
        if now - self._last < _SECONDS_BETWEEN_LINES or done >= total:
            return
        self._last = now
        left = f", about {_spoken((now - self._began) / done * (total - done))} left" if done else ""
        sys.stderr.write(f"lopsided: {self._words} {done} of {total}{left}\n")
        sys.stderr.flush()


def _spoken(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _bar(**options: Any) -> Any:
    """A bar that clears itself, or None where nobody watches."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        return None
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, transient=True, **options)


@contextlib.contextmanager
def progress_steps(words: str, *, quiet: bool = False, **options: Any) -> Iterator[Callable[..., None]]:
    """Told (done, total), or (done, total, step) to name the step under way; `options` are the bar's."""
    bar = None if quiet else _bar(**options)
    if bar is None:
        say = LogLines(words)
        yield (lambda done, total, step="": None) if quiet else (lambda done, total, step="": say(done, total))
        return
    with bar:
        task = bar.add_task(words, total=None)
        yield lambda done, total, step=words: bar.update(task, completed=done, total=total, description=step)


@contextlib.contextmanager
def progress_tasks(words: str) -> Iterator[ProgressStart]:
    """Gives a function that, told how many tasks there are, returns the counter of those that ended."""
    with progress_steps(words, speed_estimate_period=_SECONDS_OF_SPEED) as told:
        yield counted(told)


@contextlib.contextmanager
def status_line(words: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A line on standard error while work of unknown length goes on, to be told what is known; gone when it ends.

    In a log what it is told is written, at most once a minute.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if quiet:
        yield lambda known: None
    elif console.is_terminal:
        with console.status(words) as status:
            yield status.update
    else:
        yield _MinuteLines()


class _MinuteLines:
    """A line of a log, if a minute has passed since the last."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, known: str) -> None:
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            sys.stderr.write(f"lopsided: {known}\n")
            sys.stderr.flush()
