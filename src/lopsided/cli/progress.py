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


class _MinuteLines:
    """Lines of a log, at most one a minute."""

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock or time.monotonic
        self._began = self._last = self._clock()

    def say(self, known: str) -> None:
        """Write it, if a minute has passed since the last line."""
        if self._clock() - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = self._clock()
            sys.stderr.write(f"lopsided: {known}\n")
            sys.stderr.flush()


class LogLines(_MinuteLines):
    """`lopsided: claims 12 of 360, about 4 min left`; silent at the end, when the results speak."""

    def __init__(self, words: str, clock: Callable[[], float] | None = None) -> None:
        super().__init__(clock)
        self._words = words

    def __call__(self, done: int, total: int) -> None:
        """How far the work is."""
        if done < total:
            seconds = (self._clock() - self._began) / done * (total - done) if done else 0.0
            self.say(f"{self._words} {done} of {total}" + (f", about {_spoken(seconds)} left" if done else ""))


def _spoken(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _bar(speed_seconds: float) -> Any:
    """A bar that clears itself, or None where nobody watches; its time left follows the speed of the last seconds."""
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
    return Progress(*columns, console=console, transient=True, speed_estimate_period=speed_seconds)


@contextlib.contextmanager
def progress_steps(words: str, *, quiet: bool = False, speed_seconds: float = 30.0) -> Iterator[Callable[..., None]]:
    """Told (done, total), or (done, total, step) to name the step under way."""
    bar = None if quiet else _bar(speed_seconds)
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
    with progress_steps(words, speed_seconds=_SECONDS_OF_SPEED) as told:
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
        yield _MinuteLines().say
