"""Random crops of pictures: pad by p on every side, cut the original size out at a random place.

The papers (Li et al. 2022, Figures 7 and 8b) vary p for the minority group: more cropping is more variance, which helps
up to a point and then hurts.
"""

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.core.validation import IntArray, check_count


def random_crops(
    images: NDArray[np.generic], padding: int, stream: np.random.Generator, *, fill: float = 0.0
) -> NDArray[np.generic]:
    """Shifted copies of pictures n x H x W or n x H x W x C, of the same type; uncovered pixels are `fill`."""
    given = np.asarray(images)
    if given.ndim not in (3, 4):
        raise InputError("pictures n x H x W or n x H x W x C", f"shape {given.shape}", "reshape them")
    border = check_count(padding, "the padding", at_least=0)
    shifts = crop_shifts(given.shape[0], border, stream)
    return shifted(given, shifts, border, fill)


def crop_shifts(number: int, padding: int, stream: np.random.Generator) -> IntArray:
    """Row and column where each crop begins in the padded picture, uniform on 0..2p."""
    return stream.integers(0, 2 * padding + 1, size=(number, 2))


def shifted(images: NDArray[np.generic], shifts: IntArray, padding: int, fill: float) -> NDArray[np.generic]:
    """Cut H x W at `shifts` out of the padded pictures."""
    height, width = images.shape[1:3]
    borders = [(0, 0), (padding, padding), (padding, padding)] + [(0, 0)] * (images.ndim - 3)
    padded = np.pad(images, borders, constant_values=fill)
    rows = shifts[:, :1] + np.arange(height)
    columns = shifts[:, 1:] + np.arange(width)
    return np.asarray(padded[np.arange(images.shape[0])[:, None, None], rows[:, :, None], columns[:, None, :]])
