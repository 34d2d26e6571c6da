"""How far long work is: one shape for every counter, shown by the command line and the web laboratory."""

from collections.abc import Callable

Ended = Callable[[int], None]  # called with the number of pieces that have just ended
ProgressStart = Callable[[int], Ended]  # given the number of pieces, returns their counter


def counter(progress: ProgressStart | None, pieces: int) -> Ended:
    """The counter of `pieces` pieces of work; one that shows nothing where none is wanted."""
    return progress(pieces) if progress is not None else _silent


def _silent(ended: int) -> None:
    """No progress is shown."""
