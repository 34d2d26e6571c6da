"""`python -m tests.faults.killed_at WHEN NUMBER COMMAND...`: the command, which kills itself at the NUMBERth write.

WHEN is `half` (half of the bytes are written), `before` or `after` (the rename that puts the file into its place).
"""

import os
import signal
import sys
from typing import Any


def main() -> None:
    when, number, arguments = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    from lopsided.core import files

    left = number
    replace, fdopen = os.replace, os.fdopen

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def counted_replace(*places: Any, **options: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0 and when == "before":
            die()
        replace(*places, **options)
        if left == 0 and when == "after":
            die()

    class HalfStream:
        """A stream whose write stops half-way and for ever."""

        def __init__(self, stream: Any) -> None:
            self.stream = stream

        def __enter__(self) -> "HalfStream":
            return self

        def __exit__(self, *about: object) -> None:
            self.stream.close()

        def write(self, content: bytes) -> None:
            self.stream.write(content[: len(content) // 2])
            self.stream.flush()
            die()

    def half_fdopen(handle: int, *mode: Any, **options: Any) -> Any:
        nonlocal left
        stream = fdopen(handle, *mode, **options)
        if when != "half" or mode != ("wb",):
            return stream
        left -= 1
        return HalfStream(stream) if left == 0 else stream

    class Patched:
        """The os module with two functions exchanged, for core.files alone."""

        def __getattr__(self, name: str) -> Any:
            return {"replace": counted_replace, "fdopen": half_fdopen}.get(name) or getattr(os, name)

    files.os = Patched()  # type: ignore[assignment]
    from lopsided.cli.main import main as lopsided

    sys.exit(lopsided(arguments))


main()
