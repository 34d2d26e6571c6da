"""Groups of pictures: from classes (animals against vehicles), from an attribute, or painted on (colour).

Group codes follow the order in which the groups are named. What belongs to no group is left out by `regrouped`.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.core.validation import IntArray, check_in_range
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
                raise InputError("every class in one group", f"{member!r} in two, the second {name!r}", "choose one")
            code[place] = number
    found = code[images.labels]
    chosen = np.flatnonzero(found >= 0)
    return images.take(chosen).with_groups(found[chosen], tuple(groups))


def classes_as_labels(images: Images, classes: Mapping[str, Sequence[str]]) -> Images:
    """The images of the named classes with joined classes as labels; groups, where there are some, stay."""
    joined = groups_of_classes(images, classes)
    assert joined.groups is not None
    kept = np.flatnonzero(
        np.isin(images.labels, [_place(images, name) for names in classes.values() for name in names])
    )
    return images.take(kept).with_labels(joined.groups, tuple(classes))


def coloured(images: Images, agreement: float, seed: int) -> Images:
    """Grey pictures painted red or green; group = (colour agrees with the label's parity or not).

    A share `agreement` of the pictures is red where the label is even and green where it is odd; the others are painted
    the other way. Groups: "agrees", "disagrees".
    """
    share = check_in_range(agreement, "the agreement of colour and class", 0.0, 1.0)
    if images.pixels.ndim != 3:
        raise InputError("grey pictures to colour", f"shape {images.pixels.shape}", "use mnist or fashion-mnist")
    agrees = generator(seed, "colour").random(images.size) < share
    green = (images.labels % 2 == 1) == agrees
    pixels = np.zeros((*images.pixels.shape, 3), dtype=np.uint8)
    pixels[~green, :, :, 0] = images.pixels[~green]
    pixels[green, :, :, 1] = images.pixels[green]
    groups = (~agrees).astype(np.int64)
    return Images(
        images.name,
        images.split,
        pixels,
        images.labels,
        images.class_names,
        groups,
        ("agrees", "disagrees"),
        images.white,
    )


def _place(images: Images, name: str) -> int:
    if name not in images.class_names:
        raise InputError(f"a class of {images.name}", repr(name), f"choose among {', '.join(images.class_names)}")
    return images.class_names.index(name)


def group_indices(images: Images) -> dict[str, IntArray]:
    """Positions of the members of every group."""
    if images.groups is None:
        raise InputError(f"groups in {images.name}", "none", "make them with groups_of_classes or coloured")
    return {name: np.flatnonzero(images.groups == number) for number, name in enumerate(images.group_names)}
