"""Image sets: MNIST and Fashion-MNIST from their idx files, scikit-learn's digits from the package itself.

The idx files (plain or .gz) are looked for in `folder`, else in the folder that the environment variable LOPSIDED_DATA
names; there in the set's own subfolder (mnist, MNIST, MNIST/raw, ...) or directly. Nothing is downloaded.
"""

import gzip
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray

Split = Literal["train", "test"]
VARIABLE = "LOPSIDED_DATA"
_FOLDERS = {
    "mnist": ("mnist", "MNIST", "MNIST/raw", "."),
    "fashion-mnist": ("fashion-mnist", "fashion_mnist", "FashionMNIST", "FashionMNIST/raw", "."),
}
_PREFIX = {"train": "train", "test": "t10k"}
_GARMENTS = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
_DIGITS = tuple(str(digit) for digit in range(10))
NAMES = ("mnist", "fashion-mnist", "digits")
# digits has no split of its own: every fourth example of its order is the test set.
_DIGITS_TEST_STEP = 4


@dataclass(frozen=True)
class Images:
    """Pixels (n x height x width, uint8), labels 0..K-1 and the name of every class."""

    name: str
    split: str
    pixels: NDArray[np.uint8]
    labels: IntArray
    class_names: tuple[str, ...]

    @property
    def size(self) -> int:
        """The number of images."""
        return int(self.labels.shape[0])

    def rows(self) -> FloatArray:
        """Images flattened to n x (height width), scaled to 0..1."""
        scaled: FloatArray = self.pixels.reshape(self.size, -1).astype(np.float64) / (
            16.0 if self.name == "digits" else 255.0
        )
        return scaled

    def first(self, per_class: int) -> "Images":
        """The first `per_class` images of every class, in their order."""
        keep = np.zeros(self.size, dtype=bool)
        for k in range(len(self.class_names)):
            keep[np.flatnonzero(self.labels == k)[:per_class]] = True
        return Images(self.name, self.split, self.pixels[keep], self.labels[keep], self.class_names)


def load_images(name: str, *, split: Split = "train", folder: str | os.PathLike[str] | None = None) -> Images:
    """The image set `name` (mnist, fashion-mnist or digits)."""
    if name not in NAMES:
        raise InputError(f"an image set among {', '.join(NAMES)}", repr(name), "name one of those")
    if split not in _PREFIX:
        raise InputError("the split train or test", repr(split), "name one of the two")
    if name == "digits":
        return _digits(split)
    place = _find(name, folder, split)
    images = read_idx(place / f"{_PREFIX[split]}-images-idx3-ubyte")
    labels = read_idx(place / f"{_PREFIX[split]}-labels-idx1-ubyte")
    if images.ndim != 3 or labels.ndim != 1 or images.shape[0] != labels.shape[0]:
        raise InputError(
            f"images and labels of {name} that belong together",
            f"shapes {images.shape} and {labels.shape}",
            "fetch the files again",
        )
    return Images(name, split, images, labels.astype(np.int64), _GARMENTS if name == "fashion-mnist" else _DIGITS)


def has_images(name: str, folder: str | os.PathLike[str] | None = None) -> bool:
    """Are the files of the set where they are looked for?"""
    try:
        return name == "digits" or bool(_find(name, folder, "train"))
    except InputError:
        return False


def read_idx(path: Path) -> NDArray[np.uint8]:
    """An idx file of bytes: two zeros, type 8, the number of axes, their lengths (big endian), the bytes."""
    packed = path.with_name(path.name + ".gz")
    source = path if path.exists() else packed
    try:
        content = gzip.decompress(source.read_bytes()) if source == packed else source.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"the file {path.name} or {packed.name}", f"neither in {path.parent}", "check the folder"
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError("a whole gzip file", f"a damaged one: {source}", "fetch it again") from None
    axes = content[3] if len(content) > 3 else 0
    header = 4 + 4 * axes
    if content[:3] != b"\x00\x00\x08" or axes == 0 or len(content) < header:
        raise InputError("an idx file of bytes", f"something else: {source}", "fetch it again")
    shape = tuple(int(length) for length in np.frombuffer(content[4:header], dtype=">u4"))
    if len(content) - header != int(np.prod(shape, dtype=np.int64)):
        raise InputError(
            f"{np.prod(shape, dtype=np.int64)} bytes of pixels or labels",
            f"{len(content) - header} in {source}",
            "fetch it again",
        )
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)


def _find(name: str, folder: str | os.PathLike[str] | None, split: Split) -> Path:
    given = folder if folder is not None else os.environ.get(VARIABLE)
    if not given:
        raise InputError(
            f"the folder with the files of {name}", "none", f"give a folder or set the environment variable {VARIABLE}"
        )
    for inner in _FOLDERS[name]:
        place = Path(given) / inner
        stem = place / f"{_PREFIX[split]}-images-idx3-ubyte"
        if stem.exists() or stem.with_name(stem.name + ".gz").exists():
            return place
    raise InputError(
        f"{_PREFIX[split]}-images-idx3-ubyte (or .gz) of {name} in {given} or its subfolder {_FOLDERS[name][0]}",
        "no such file",
        f"put the four idx files there, or let {VARIABLE} name the folder that has them",
    )


def _digits(split: Split) -> Images:
    from sklearn.datasets import load_digits

    found = load_digits()
    test = np.arange(found.target.shape[0]) % _DIGITS_TEST_STEP == 0
    chosen = test if split == "test" else ~test
    return Images(
        "digits", split, found.images[chosen].astype(np.uint8), found.target[chosen].astype(np.int64), _DIGITS
    )
