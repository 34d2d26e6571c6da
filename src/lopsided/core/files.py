"""Writing files so that none is ever half written: a temporary neighbour, then an atomic rename."""

import contextlib
import os
import tempfile
from pathlib import Path

from lopsided.core.errors import LopsidedError


class WriteError(LopsidedError):
    """A file could not be written; nothing was left behind."""


def write_atomically(path: str | os.PathLike[str], content: str | bytes, *, durable: bool = True) -> Path:
    """Write `content` to `path`, whole or not at all.

    `durable=False` does not wait for the disk: a power cut may then leave a damaged file, so it is for content that
    carries a checksum and can be made again.
    """
    target = Path(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise WriteError(
            f"Expected to write {target}, but the system said: {reason}; choose another place or make room."
        ) from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
    return target


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
