"""Bytes that are damaged, and written to a file."""

from pathlib import Path
from random import Random


def damaged(content: bytes, random: Random) -> bytes:
    """The bytes truncated, with flipped or zeroed parts, repeated, or with something in front."""
    if not content:
        return content
    place = random.randrange(len(content))
    kind = random.randrange(7)
    if kind <= 1:
        return content[:place]
    if kind <= 3:
        changed = bytearray(content)
        for _ in range(random.choice((1, 3, 30))):
            changed[random.randrange(len(changed))] = random.randrange(256)
        return bytes(changed)
    if kind == 4:
        return content[:place] + bytes(min(64, len(content) - place)) + content[place + 64 :]
    if kind == 5:
        return content + content
    return random.randbytes(random.randrange(1, 40)) + content


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path
