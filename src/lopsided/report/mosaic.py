"""A grid of pictures as one picture: pixels for Matplotlib, and the same as a PNG inside a data address for pages."""

import base64
import struct
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.core.figure import Pictures

_GAP = 2  # pixels of white between pictures


@dataclass(frozen=True)
class Mosaic:
    """RGB pixels of the whole grid and where its rows and columns have their middle."""

    pixels: NDArray[np.uint8]
    row_centres: list[float]
    column_centres: list[float]


def mosaic(series: Pictures) -> Mosaic:
    """Lay the pictures out on white."""
    pictures = {
        (i, j): _colour(picture)
        for i, line in enumerate(series.rows)
        for j, picture in enumerate(line)
        if picture is not None
    }
    shapes = {picture.shape for picture in pictures.values()}
    if len(shapes) != 1:
        raise InputError("pictures of one size", f"sizes {sorted(shapes)}", "resize them first")
    height, width, _ = shapes.pop()
    down, across = len(series.rows), max(len(line) for line in series.rows)
    pixels = np.full((down * (height + _GAP) - _GAP, across * (width + _GAP) - _GAP, 3), 255, dtype=np.uint8)
    for (i, j), picture in pictures.items():
        top, left = i * (height + _GAP), j * (width + _GAP)
        pixels[top : top + height, left : left + width] = picture
    return Mosaic(
        pixels,
        [i * (height + _GAP) + (height - 1) / 2 for i in range(down)],
        [j * (width + _GAP) + (width - 1) / 2 for j in range(across)],
    )


def data_address(grid: Mosaic) -> str:
    """data:image/png;base64,... of the grid; PNG by hand, so that a page needs no imaging package."""
    height, width, _ = grid.pixels.shape
    # Every line starts with its filter, 0 for none.
    lines = np.concatenate([np.zeros((height, 1), dtype=np.uint8), grid.pixels.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
    png = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9))
    return "data:image/png;base64," + base64.b64encode(png + _chunk(b"IEND", b"")).decode("ascii")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _colour(picture: object) -> NDArray[np.uint8]:
    array = np.clip(np.asarray(picture, dtype=np.float64), 0, 255).astype(np.uint8)
    array = array[:, :, None] if array.ndim == 2 else array
    array = np.repeat(array, 3, axis=2) if array.ndim == 3 and array.shape[2] == 1 else array
    if array.ndim != 3 or array.shape[2] != 3:
        raise InputError("pictures of grey or RGB pixels", f"shape {array.shape}")
    return array
