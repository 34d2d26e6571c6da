"""idx files, the format of MNIST: two zeros, a type, the number of axes, their lengths (big endian), the values."""

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError


def has_idx(path: Path) -> bool:
    """Is the file there, plain or packed?"""
    return path.exists() or _packed(path).exists()


def idx_source(path: Path) -> Path:
    """The file that is read: the plain one, else the packed one."""
    return path if path.exists() else _packed(path)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """An idx file of bytes (type 8), plain or as .gz."""
    packed, source = _packed(path), idx_source(path)
    try:
        content = gzip.decompress(source.read_bytes()) if source == packed else source.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"the file {path.name} or {packed.name}", f"neither in {path.parent}", "check the folder"
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError("a whole gzip file", f"a damaged one: {source}", "fetch it again") from None
    except OSError as error:
        raise InputError("a readable idx file", f"{source}: {error.strerror}", "check the path") from None
    axes = content[3] if len(content) > 3 else 0
    header = 4 + 4 * axes
    if content[:3] != b"\x00\x00\x08" or axes == 0 or len(content) < header:
        raise InputError("an idx file of bytes", f"something else: {source}", "fetch it again")
    shape = tuple(int(length) for length in np.frombuffer(content[4:header], dtype=">u4"))
    size = math.prod(shape)  # of Python's numbers: the product of damaged lengths may be beyond 64 bits
    if len(content) - header != size:
        raise InputError(
            f"{size} bytes of pixels or labels",
            f"{len(content) - header} in {source}",
            "fetch it again",
        )
    try:
        return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)
    except ValueError:  # no entries, by one axis of length 0, and other axes longer than an array may have
        raise InputError(f"axes that an array can have in {path}", f"the lengths {shape}", "fetch it again") from None


def _packed(path: Path) -> Path:
    return path.with_name(path.name + ".gz")
