"""Crops of pictures blown up to the old size: cut side w at a random place, resize back (Li et al. 2022, A.1-A.2).

Resizing is bilinear between pixel centres; a crop of the whole picture is the picture.
"""

import numpy as np
from numpy.typing import NDArray

from lopsided.core.validation import FloatArray, check_in_range


def resized_crops(pictures: NDArray[np.float32], share: float, places: FloatArray) -> NDArray[np.float32]:
    """Pictures n x channels x height x width cut to `share` of each side and resized back.

    places: n x 2 numbers in [0, 1), where between the first and the last possible row and column each crop begins, so
    that one picture is cropped around the same place at every share.
    """
    part = check_in_range(share, "the share of a side that is kept", 0.0, 1.0)
    count, _, height, width = pictures.shape
    rows = _coordinates(height, part, places[:, 0])
    columns = _coordinates(width, part, places[:, 1])
    whole = np.arange(count)[:, None, None]
    top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
    down, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    low, side = (rows - top)[:, None, :, None], (columns - left)[:, None, None, :]
    last = pictures.transpose(0, 2, 3, 1)  # channels last, so that one index takes them all

    def at(i: NDArray[np.int_], j: NDArray[np.int_]) -> NDArray[np.float32]:
        return last[whole, i[:, :, None], j[:, None, :]].transpose(0, 3, 1, 2)

    upper = at(top, left) * (1 - side) + at(top, right) * side
    lower = at(down, left) * (1 - side) + at(down, right) * side
    return np.asarray(upper * (1 - low) + lower * low, dtype=np.float32)


def _coordinates(length: int, share: float, places: FloatArray) -> FloatArray:
    """Where the centres of the new pixels lie in the old picture, n x length."""
    kept = max(1.0, share * length)
    begin = places * (length - kept)
    centres = (np.arange(length) + 0.5) * (kept / length) - 0.5
    return np.asarray(np.clip(begin[:, None] + centres, 0.0, length - 1.0))
