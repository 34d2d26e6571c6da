"""`Images`: the record that every loader of pictures returns, with a few operations."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray

PictureSplit = Literal["train", "test"]
WHITE = 255


@dataclass(frozen=True)
class Images:
    """Pixels (n x height x width, or n x height x width x 3; uint8), labels 0..K-1 and the name of every class.

    `groups` are codes 0..G-1 of a second property of each picture (an attribute, a superclass, a colour) where there
    is one. `white` is the value of a white pixel.
    """

    name: str
    split: str
    pixels: NDArray[np.uint8]
    labels: IntArray
    class_names: tuple[str, ...]
    groups: IntArray | None = None
    group_names: tuple[str, ...] = ()
    white: int = WHITE

    @property
    def size(self) -> int:
        """The number of images."""
        return int(self.labels.shape[0])

    @property
    def counts(self) -> IntArray:
        """Images per class."""
        return np.bincount(self.labels, minlength=len(self.class_names)).astype(np.int64)

    def rows(self) -> FloatArray:
        """Images flattened to n x (height width channels), float64, scaled to 0..1."""
        scaled: FloatArray = self.pixels.reshape(self.size, -1).astype(np.float64) / self.white
        return scaled

    def planes(self) -> NDArray[np.float32]:
        """What a network takes: n x channels x height x width, float32, scaled to 0..1."""
        pixels = self.pixels[..., None] if self.pixels.ndim == 3 else self.pixels
        return np.ascontiguousarray(pixels.transpose(0, 3, 1, 2), dtype=np.float32) / np.float32(self.white)

    def take(self, indices: IntArray) -> "Images":
        """The images at `indices`, in that order."""
        groups = None if self.groups is None else self.groups[indices]
        return replace(self, pixels=self.pixels[indices], labels=self.labels[indices], groups=groups)

    def first(self, per_class: int) -> "Images":
        """The first `per_class` images of every class, in their order."""
        keep = np.zeros(self.size, dtype=bool)
        for k in range(len(self.class_names)):
            keep[np.flatnonzero(self.labels == k)[:per_class]] = True
        return self.take(np.flatnonzero(keep))

    def shrunk(self, factor: int) -> "Images":
        """Each block of `factor` x `factor` pixels becomes its mean, rounded."""
        count, height, width = self.pixels.shape[:3]
        if factor < 1 or height % factor or width % factor:
            raise InputError(f"a factor that divides {height} and {width}", factor)
        inner = self.pixels.shape[3:]
        blocks = self.pixels.reshape(count, height // factor, factor, width // factor, factor, *inner)
        return replace(self, pixels=np.rint(blocks.mean(axis=(2, 4), dtype=np.float32)).astype(np.uint8))

    def with_groups(self, groups: IntArray, group_names: tuple[str, ...]) -> "Images":
        """The same pictures under other groups."""
        if groups.shape != self.labels.shape:
            raise InputError(f"{self.size} groups, one per image", f"shape {groups.shape}")
        return replace(self, groups=groups, group_names=group_names)

    def with_labels(self, labels: IntArray, class_names: tuple[str, ...]) -> "Images":
        """The same pictures under other classes."""
        if labels.shape != self.labels.shape:
            raise InputError(f"{self.size} labels, one per image", f"shape {labels.shape}")
        return replace(self, labels=labels, class_names=class_names)


def standardised(train: Images, *others: Images) -> tuple[NDArray[np.float32], ...]:
    """`planes()` of each set minus the training set's mean over its deviation, channel by channel."""
    planes = [images.planes() for images in (train, *others)]
    mean = planes[0].mean(axis=(0, 2, 3), dtype=np.float64, keepdims=True)
    deviation = planes[0].std(axis=(0, 2, 3), dtype=np.float64, keepdims=True)
    scale = np.where(deviation > 0, deviation, 1.0)
    return tuple(((part - mean) / scale).astype(np.float32) for part in planes)
