"""A progress bar with time left, on standard error, so that what is printed stays clean; silent when nobody watches."""

import contextlib
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress_bar(words: str) -> Iterator[Callable[[int], Callable[[int], None]]]:
    """Gives a function that, told how many tasks there are, returns the counter of those that ended."""
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
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
        speed_estimate_period=600,  # tasks differ in length, so the last ten minutes say more than the last seconds
    )

    def start(total: int) -> Callable[[int], None]:
        task = bar.add_task(words, total=total)
        return lambda ended: bar.advance(task, ended)

    with bar:
        yield start
