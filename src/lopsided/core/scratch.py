"""Scratch files in the system's temporary folder (TMPDIR). A full disk there is one sentence that names the folder."""

import contextlib
import errno
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from lopsided.core.files import WriteError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def scratch_space() -> Iterator[None]:
    """Say which folder has no room; errors of other files are left as they are."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        said = f"but the system said: {error.strerror}; make room there, or name another folder in TMPDIR."
        raise WriteError(f"Expected room for a scratch file in {tempfile.gettempdir()}, {said}") from None


class ScratchFile:
    """Bytes at their places; the file has no name and goes with the object."""

    def __init__(self) -> None:
        with scratch_space():
            self._file = tempfile.TemporaryFile(prefix="lopsided-")  # noqa: SIM115 - closed by `close`

    def write(self, place: int, data: Any) -> None:
        """Put bytes (an array's `data`) there."""
        with scratch_space():
            self._file.seek(place)
            self._file.write(data)

    def read(self, place: int, target: Any) -> None:
        """Fill `target` (an array's `data`) from there on."""
        with scratch_space():  # what was written last may reach the disk only now
            self._file.seek(place)
            self._file.readinto(target)

    def close(self) -> None:
        """Give the disk back."""
        with contextlib.suppress(OSError):  # no room for what nobody will read
            self._file.close()

    def __enter__(self) -> "ScratchFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
