"""Image sets by name: MNIST, Fashion-MNIST, CIFAR-10, CIFAR-100, its long tail, scikit-learn's digits.

Files are looked for in `folder`, else in the folder that the environment variable LOPSIDED_DATA names; there in the
set's own subfolder (mnist, MNIST, MNIST/raw, ...) or directly; Fashion-MNIST last where Debian's package
dataset-fashion-mnist puts it. Nothing is downloaded. Arrays are read-only and kept for the next caller
until the files change.
CelebA and folders of pictures have functions of their own (`celeba`, `image_folders`).
"""

import os
from functools import lru_cache
from pathlib import Path

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.validation import check_choice, check_count
from lopsided.data import cifar
from lopsided.data.image_folders import has_idx, idx_source, read_idx
from lopsided.data.image_set import Images, PictureSplit

VARIABLE = "LOPSIDED_DATA"
_IDX_FOLDERS = {
    "mnist": ("mnist", "MNIST", "MNIST/raw", "."),
    "fashion-mnist": ("fashion-mnist", "fashion_mnist", "FashionMNIST", "FashionMNIST/raw", "."),
}
DEBIAN = {"fashion-mnist": Path("/usr/share/datasets/fashion-mnist")}
_PREFIX = {"train": "train", "test": "t10k"}
_GARMENTS = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
_DIGITS = tuple(str(digit) for digit in range(10))
NAMES = ("mnist", "fashion-mnist", "cifar-10", "cifar-100", "cifar-100-lt", "digits")
_HOW = {
    "mnist": "put the four idx files (train-images-idx3-ubyte.gz, ...) there",
    "fashion-mnist": "put the four idx files there, or install Debian's package dataset-fashion-mnist",
    "cifar-10": "unpack cifar-10-python.tar.gz there",
    "cifar-100": "unpack cifar-100-python.tar.gz there",
    "cifar-100-lt": "put cifar100_lt100.npz there, or make a long tail of cifar-100 with data.subsampling",
}
# digits has no split of its own: every fourth example of its order is the test set.
_DIGITS_TEST_STEP = 4


def load_images(
    name: str,
    *,
    split: PictureSplit = "train",
    folder: str | os.PathLike[str] | None = None,
    at_most: int | None = None,
) -> Images:
    """The image set `name`, or its first `at_most` images (of CIFAR then only the files needed are decoded)."""
    check_choice(name, NAMES, "an image set")
    if split not in _PREFIX:
        raise InputError("the split train or test", repr(split))
    if at_most is not None:
        check_count(at_most, "the number of images")
    if name == "digits":
        return _cut(_digits(split), at_most)
    place = _find(name, folder)
    if name in _IDX_FOLDERS:
        return _cut(_load_idx(name, place, split, _stamp(*_idx_files(place, split))), at_most)
    return _load_cifar(name, place, split, at_most, _stamp(*_entries(place)))


def has_images(name: str, folder: str | os.PathLike[str] | None = None) -> bool:
    """Whether the files of the set were found."""
    return name == "digits" or find_images(name, folder) is not None


def find_images(name: str, folder: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder that holds the files of the set; None where there is none."""
    try:
        check_choice(name, NAMES, "an image set")
        return _find(name, folder)
    except InputError:
        return None


def _find(name: str, folder: str | os.PathLike[str] | None) -> Path:
    """The folder that holds the files of the set."""
    given = folder if folder is not None else os.environ.get(VARIABLE)
    if given:
        if name in _IDX_FOLDERS:
            places = [Path(given) / inner for inner in _IDX_FOLDERS[name] if _holds_idx(Path(given) / inner)]
        else:
            inner_places = (cifar.find_cifar(name, Path(given) / inner) for inner in cifar.FOLDERS[name])
            places = [place for place in inner_places if place is not None]
        if places:
            return places[0]
    if folder is None and name in DEBIAN and _holds_idx(DEBIAN[name]):
        return DEBIAN[name]
    if not given:
        remedy = f"give a folder or set the environment variable {VARIABLE}, and {_HOW[name]}"
        raise InputError(f"the folder with the files of {name}", "none", remedy)
    raise InputError(f"the files of {name} in {given} or its subfolder {name}", "none of them", _HOW[name])


def _holds_idx(place: Path) -> bool:
    return has_idx(place / "train-images-idx3-ubyte")


_Stamp = tuple[tuple[str, int, int], ...]  # name, time of the last change, bytes


def _stamp(*files: Path) -> _Stamp:
    """What changes when a file is replaced, so that arrays kept from before are not given out again."""
    return tuple((file.name, (facts := file.stat()).st_mtime_ns, facts.st_size) for file in files if file.exists())


def _entries(place: Path) -> list[Path]:
    """Files of a folder, and the folders of pictures two levels below; what cannot be listed fails when it is read."""
    try:
        return [*sorted(place.iterdir()), *sorted(place.glob("*/*/"))]
    except OSError:
        return []


def _idx_files(place: Path, split: PictureSplit) -> tuple[Path, Path]:
    stems = f"{_PREFIX[split]}-images-idx3-ubyte", f"{_PREFIX[split]}-labels-idx1-ubyte"
    return idx_source(place / stems[0]), idx_source(place / stems[1])


@lru_cache(maxsize=4)
def _load_idx(name: str, place: Path, split: PictureSplit, _: _Stamp) -> Images:
    images = read_idx(place / f"{_PREFIX[split]}-images-idx3-ubyte")
    labels = read_idx(place / f"{_PREFIX[split]}-labels-idx1-ubyte")
    if images.ndim != 3 or labels.ndim != 1 or images.shape[0] != labels.shape[0]:
        expected = f"images and labels of {name} that belong together"
        raise InputError(expected, f"shapes {images.shape} and {labels.shape}", "download the files again")
    if not labels.size or labels.max() > 9:
        got = f"a label {int(labels.max())}" if labels.size else "none"
        raise InputError(f"images of {name} with labels from 0 to 9", got, "download the files again")
    names = _GARMENTS if name == "fashion-mnist" else _DIGITS
    return _read_only(Images(name, split, images, labels.astype(np.int64), names))


@lru_cache(maxsize=2)
def _load_cifar(name: str, place: Path, split: PictureSplit, at_most: int | None, _: _Stamp) -> Images:
    return _read_only(cifar.load_cifar(name, place, split, at_most))


def _read_only(images: Images) -> Images:
    for array in (images.pixels, images.labels, images.groups):
        if array is not None:
            array.setflags(write=False)
    return images


def _cut(images: Images, at_most: int | None) -> Images:
    return images if at_most is None else images.take(np.arange(min(at_most, images.size)))


def _digits(split: PictureSplit) -> Images:
    from sklearn.datasets import load_digits

    found = load_digits()
    test = np.arange(found.target.shape[0]) % _DIGITS_TEST_STEP == 0
    chosen = test if split == "test" else ~test
    pixels, labels = found.images[chosen].astype(np.uint8), found.target[chosen].astype(np.int64)
    return Images("digits", split, pixels, labels, _DIGITS, white=16)
