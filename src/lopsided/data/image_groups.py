"""Groups of pictures from classes (animals against vehicles), and crops of them.

Group codes follow the order in which the groups are named. A crop is cut at a random place and blown up to the old size
(Li et al. 2022, A.1-A.2), bilinear between pixel centres; a crop of the whole picture is the picture.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, check_in_range
from lopsided.data.image_set import Images


def groups_of_classes(images: Images, groups: Mapping[str, Sequence[str]]) -> Images:
    """The images of the named classes with the group of their class.

    >>> groups_of_classes(cifar, {"animals": ["bird", "cat"], "vehicles": ["airplane"]})  # doctest: +SKIP
    """
    code = np.full(len(images.class_names), -1, dtype=np.int64)
    for number, (name, members) in enumerate(groups.items()):
        for member in members:
            place = _place(images, member)
            if code[place] >= 0:
                raise InputError("every class in one group", f"{member!r} in two, the second {name!r}")
            code[place] = number
    found = code[images.labels]
    chosen = np.flatnonzero(found >= 0)
    return images.take(chosen).with_groups(found[chosen], tuple(groups))


def _place(images: Images, name: str) -> int:
    if name not in images.class_names:
        raise InputError(f"a class of {images.name}", repr(name), f"choose among {', '.join(images.class_names)}")
    return images.class_names.index(name)


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
