"""How far long work is: one shape for every counter, shown by the command line and the web laboratory."""

from collections.abc import Callable

Ended = Callable[[int], None]  # called with the number of pieces that have just ended
ProgressStart = Callable[[int], Ended]  # given the number of pieces, returns their counter


def counter(progress: ProgressStart | None, pieces: int) -> Ended:
    """The counter of `pieces` pieces of work; one that shows nothing where none is wanted."""
    return progress(pieces) if progress is not None else lambda ended: None


def counted(told: Callable[[int, int], None]) -> ProgressStart:
    """Tells how many pieces have ended of how many: once at the start, then whenever some end."""

    def start(pieces: int) -> Ended:
        done = 0

        def count(ended: int) -> None:
            nonlocal done
            done += ended
            told(done, pieces)

        count(0)
        return count

    return start
