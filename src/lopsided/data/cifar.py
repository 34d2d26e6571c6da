"""CIFAR-10 and CIFAR-100 in each layout people have, always in the order of the original files.

- python: cifar-10-batches-py/data_batch_1..5, test_batch; cifar-100-python/train, test (pickles, not executed)
- binary: cifar-10-batches-bin/data_batch_1..5.bin, test_batch.bin; cifar-100-binary/train.bin, test.bin
- npz: cifar10_train*.npz, cifar10_test.npz, or cifar100_lt100.npz, with `delta` (lossless differences) and `y`
- folders: train/<class>/*.png and test/<class>/*.png

The groups of CIFAR-100 are its 20 superclasses, where the layout has them.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.core.validation import IntArray
from lopsided.data.image_folders import load_image_folder
from lopsided.data.image_set import Images, PictureSplit
from lopsided.data.npz_tables import read_npz_array
from lopsided.data.plain_pickle import read_plain_pickle

SIDE, PIXELS = 32, 3 * 32 * 32
FOLDERS = {
    "cifar-10": ("cifar-10", "CIFAR10", "cifar10", "cifar-10-batches-py", "cifar-10-batches-bin", "."),
    "cifar-100": ("cifar-100", "CIFAR100", "cifar100", "cifar-100-python", "cifar-100-binary", "."),
    "cifar-100-lt": ("cifar-100-lt", "."),
}
_NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_Part = tuple[NDArray[np.uint8], IntArray, IntArray | None]  # pixels n x 32 x 32 x 3, labels, superclasses


def find_cifar(name: str, place: Path) -> Path | None:
    """The folder at or under `place` that holds the set in one of the layouts; None where none does."""
    inner = {
        "cifar-10": ("cifar-10-batches-py", "cifar-10-batches-bin"),
        "cifar-100": ("cifar-100-python", "cifar-100-binary"),
    }
    for folder in (place, *(place / further for further in inner.get(name, ()))):
        if any(known(name, folder) for known in (_has_python, _has_binary, _has_npz, _has_folders)):
            return folder
    return None


def load_cifar(name: str, place: Path, split: PictureSplit, at_most: int | None) -> Images:
    """All images of the split, or the first files of it that hold at least `at_most`, cut there."""
    if _has_folders(name, place):
        found = load_image_folder(place / split, at_most=at_most)
        return Images(name, split, _checked(found.pixels, place), found.labels, found.class_names)
    layout = _python if _has_python(name, place) else _binary if _has_binary(name, place) else _npz
    parts: list[_Part] = []
    for part in layout(name, place, split):
        parts.append(part)
        if at_most is not None and sum(len(labels) for _, labels, _ in parts) >= at_most:
            break
    pixels = np.concatenate([part[0] for part in parts])[:at_most]
    labels = np.concatenate([part[1] for part in parts])[:at_most]
    coarse = [part[2] for part in parts if part[2] is not None]
    groups = np.concatenate(coarse)[:at_most] if coarse else None
    names, group_names = _names(name, place)
    if labels.min() < 0 or labels.max() >= len(names):
        raise InputError(f"labels from 0 to {len(names) - 1} in {place}", int(labels.max()), "download the files again")
    return Images(name, split, pixels, labels, names, groups, group_names if groups is not None else ())


def _has_python(name: str, place: Path) -> bool:
    return (place / ("data_batch_1" if name == "cifar-10" else "train")).is_file()


def _has_binary(name: str, place: Path) -> bool:
    return (place / ("data_batch_1.bin" if name == "cifar-10" else "train.bin")).is_file()


def _has_npz(name: str, place: Path) -> bool:
    if name == "cifar-100-lt":
        return (place / "cifar100_lt100.npz").is_file()
    stem = name.replace("-", "")
    return (place / f"{stem}_test.npz").is_file() and any(place.glob(f"{stem}_train*.npz"))


def _has_folders(name: str, place: Path) -> bool:
    return (place / "train").is_dir() and (place / "test").is_dir()


def _files(name: str, split: PictureSplit) -> list[str]:
    if name == "cifar-10":
        return ["test_batch"] if split == "test" else [f"data_batch_{number}" for number in range(1, 6)]
    return [split]


def _python(name: str, place: Path, split: PictureSplit) -> Iterator[_Part]:
    for file in _files(name, split):
        path = place / file
        content = _entries(read_plain_pickle(path), path)
        labels = content.get("labels", content.get("fine_labels"))
        if "data" not in content or labels is None:
            raise InputError(f"data and labels in {path}", f"the keys {', '.join(content)}", "download it again")
        coarse = content.get("coarse_labels")
        pixels = _planes_first(np.asarray(content["data"]), path)
        yield pixels, _codes(labels, len(pixels), path), None if coarse is None else _codes(coarse, len(pixels), path)


def _entries(content: Any, path: Path) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise InputError(f"a dict in {path}", f"a {type(content).__name__}", "download it again")
    return {key.decode("latin-1") if isinstance(key, bytes) else str(key): value for key, value in content.items()}


def _codes(labels: Any, count: int, path: Path) -> IntArray:
    codes = np.asarray(labels)
    if codes.shape != (count,) or codes.dtype.kind not in "iu":
        raise InputError(f"{count} labels in {path}", f"{codes.dtype} of shape {codes.shape}", "download it again")
    return codes.astype(np.int64)


def _planes_first(rows: NDArray[Any], path: Path) -> NDArray[np.uint8]:
    if rows.ndim != 2 or rows.shape[1] != PIXELS or rows.dtype != np.uint8:
        raise InputError(f"rows of {PIXELS} bytes in {path}", f"{rows.dtype} {rows.shape}", "download it again")
    return np.ascontiguousarray(rows.reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1))


def _binary(name: str, place: Path, split: PictureSplit) -> Iterator[_Part]:
    labels = 1 if name == "cifar-10" else 2  # CIFAR-100 has superclass and class before the pixels
    for file in _files(name, split):
        path = place / f"{file}.bin"
        try:
            content = np.fromfile(path, dtype=np.uint8)
        except OSError as error:
            raise InputError(f"the file {path.name}", f"{place}: {error.strerror}", "download it again") from None
        if content.size == 0 or content.size % (PIXELS + labels):
            raise InputError(
                f"records of {PIXELS + labels} bytes in {path}", f"{content.size} bytes", "download it again"
            )
        rows = content.reshape(-1, PIXELS + labels)
        coarse = rows[:, 0].astype(np.int64) if labels == 2 else None
        yield _planes_first(rows[:, labels:], path), rows[:, labels - 1].astype(np.int64), coarse


def _npz(name: str, place: Path, split: PictureSplit) -> Iterator[_Part]:
    if name == "cifar-100-lt":
        paths, ending = [place / "cifar100_lt100.npz"], f"_{split}"
    else:
        paths, ending = sorted(place.glob(f"{name.replace('-', '')}_{split}*.npz")), ""
    for path in paths:
        delta, labels = read_npz_array(path, f"delta{ending}"), read_npz_array(path, f"y{ending}")
        if delta.dtype != np.uint8 or delta.ndim != 4 or (delta.shape[0], *delta.shape[2:]) != (3, SIDE, SIDE):
            raise InputError(
                f"differences (3, n, 32, 32) in {path}", f"{delta.dtype} {delta.shape}", "download it again"
            )
        pixels = undo_differences(delta)
        yield pixels, _codes(labels, len(pixels), path), None


def undo_differences(delta: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(3, n, 32, 32) differences modulo 256 to (n, 32, 32, 3): sums along rows and columns, then green added back."""
    sums = np.cumsum(np.cumsum(delta, -1, dtype=np.uint8), -2, dtype=np.uint8)
    sums[0] += sums[1]
    sums[2] += sums[1]
    return np.ascontiguousarray(sums.transpose(1, 2, 3, 0))


def _names(name: str, place: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Class names and superclass names from the files beside the data; numbers where there are none."""
    if name == "cifar-10":
        return _NAMES, ()
    readers: tuple[Callable[[], tuple[Any, Any]], ...] = (
        lambda: _meta(place / "meta"),
        lambda: (_lines(place / "fine_label_names.txt"), _lines(place / "coarse_label_names.txt")),
        lambda: (read_npz_array(next(iter(sorted(place.glob("cifar100*.npz")))), "names").tolist(), ()),
    )
    for read in readers:
        try:
            fine, coarse = read()
        except (InputError, OSError, StopIteration, KeyError):
            continue
        return tuple(map(_text, fine)), tuple(map(_text, coarse))
    return tuple(map(str, range(100))), tuple(map(str, range(20)))


def _meta(path: Path) -> tuple[Any, Any]:
    content = _entries(read_plain_pickle(path), path)
    return content["fine_label_names"], content["coarse_label_names"]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split()


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _checked(pixels: NDArray[np.uint8], place: Path) -> NDArray[np.uint8]:
    if pixels.shape[1:] != (SIDE, SIDE, 3):
        raise InputError(f"pictures of {SIDE} x {SIDE} in colour in {place}", f"{pixels.shape[1:]}")
    return pixels
