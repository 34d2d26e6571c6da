"""Folders of pictures: MNIST's idx files, or one subfolder of picture files per class; as a table or as an image set.

An idx file is two zeros, a type, the number of axes, their lengths (big endian), the values.
"""

import gzip
import math
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.data.image_set import Images
from lopsided.data.tables import Table, array_table

_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif", ".pgm", ".ppm")
_DEEP_STEPS = 257  # 65535 / 255: steps of 16 bits in one of 8
_MOST_UNPACKED = 2**31 - 1  # bytes of a packed idx file
_SPLITS = ("train", "training", "test", "val", "valid", "validation")


def open_image_folder(folder: Path, *, with_test: bool = False) -> Table:
    """The training pictures of an idx folder, or all pictures of class folders (equal sizes, grey or RGB).

    with_test: also the test pictures of an idx folder, or those of folders train/class and test/class (or val/class),
    with a column `split`.
    """
    if has_idx(folder / "train-images-idx3-ubyte"):
        return _idx_table(folder, with_test)
    parts = [inner for inner in visible(folder) if inner.is_dir()]
    if not (with_test and len(parts) > 1 and {part.name.lower() for part in parts} <= set(_SPLITS)):
        parts = [folder]
    files = [files_by_class(part) for part in parts]
    splits = [part.name.lower() if len(parts) > 1 else "" for part in parts]
    found = [(split, name, path) for split, own in zip(splits, files, strict=True) for name, path in own.pictures]
    check_some(found, folder)
    pictures = alike([(path, read_picture(path)) for _, _, path in found])
    columns = {
        "label": np.array([name for _, name, _ in found]),
        "file": np.array([str(path.relative_to(folder)) for _, _, path in found]),
    }
    if found[0][0]:
        columns["split"] = np.array([split for split, _, _ in found])
    told = sum(files[1:], files[0]).notes()
    return replace(array_table(pictures, columns, str(folder)), notes=told)


def _idx_table(folder: Path, with_test: bool) -> Table:
    has_test = has_idx(folder / "t10k-images-idx3-ubyte")
    prefixes = ("train", "t10k") if with_test and has_test else ("train",)
    pictures = [read_idx(folder / f"{prefix}-images-idx3-ubyte") for prefix in prefixes]
    labels = [read_idx(folder / f"{prefix}-labels-idx1-ubyte").astype(np.int64) for prefix in prefixes]
    columns = {"label": np.concatenate(labels)}
    if len(prefixes) > 1:
        columns["split"] = np.repeat(np.array(["train", "test"]), [len(part) for part in labels])
    return array_table(np.concatenate(pictures), columns, str(folder))


def load_image_folder(
    folder: str | os.PathLike[str], *, size: tuple[int, int] | None = None, at_most: int | None = None
) -> Images:
    """Class folders (folder/class/picture.png) as an image set, classes in the order of their names.

    size: (height, width) to which pictures are resized; needed where they differ. at_most: of every class the same
    number is taken, so that at most that many are read.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError(
            "a folder of pictures", f"{place}, which does not exist", "arrange it as folder/class/picture.png"
        )
    paths = files_by_class(place).pictures
    check_some(paths, place)
    names = tuple(dict.fromkeys(name for name, _ in paths))
    if at_most is not None:
        each = max(1, at_most // len(names))
        paths = [entry for name in names for entry in [pair for pair in paths if pair[0] == name][:each]]
    labels = np.array([names.index(name) for name, _ in paths], dtype=np.int64)
    pixels = alike([(path, read_picture(path, size)) for _, path in paths])
    return Images(place.name, "all", np.rint(pixels).astype(np.uint8), labels, names)


@dataclass(frozen=True)
class ClassFiles:
    """(class, file) of every picture, and how much else is there that is not hidden."""

    pictures: list[tuple[str, Path]]
    others: int  # files in class folders that do not end as pictures do
    nested: int  # folders within class folders
    loose: int  # files beside the class folders

    def __add__(self, other: "ClassFiles") -> "ClassFiles":
        return ClassFiles(
            self.pictures + other.pictures,
            self.others + other.others,
            self.nested + other.nested,
            self.loose + other.loose,
        )

    def notes(self) -> tuple[str, ...]:
        """A note on what was left out, if anything was."""
        counted = {
            "that are not pictures": (self.others, "file"),
            "within folders of classes": (self.nested, "folder"),
            "next to the folders of classes": (self.loose, "file"),
        }
        told = [f"{count:,} {unit}{'s' * (count > 1)} {where}" for where, (count, unit) in counted.items() if count]
        ends = ", ".join(ending[1:] for ending in _ENDINGS)
        return (f"Left out of the folder: {'; '.join(told)} (pictures are folder/class/name, {ends}).",) if told else ()


def visible(folder: Path) -> list[Path]:
    """The entries of a folder, sorted by name, without hidden ones."""
    try:
        found = sorted(folder.iterdir())
    except OSError as error:
        raise InputError("a folder of pictures", f"{folder}: {error.strerror}") from None
    return [path for path in found if not path.name.startswith((".", "__MACOSX"))]


def files_by_class(folder: Path) -> ClassFiles:
    """The pictures in the class folders, sorted by class and name."""
    inside = visible(folder)
    classes = [path for path in inside if path.is_dir()]
    found = [(inner.name, path) for inner in classes for path in visible(inner)]
    files = [(name, path) for name, path in found if not path.is_dir()]
    pictures = [(name, path) for name, path in files if path.suffix.lower() in _ENDINGS]
    return ClassFiles(pictures, len(files) - len(pictures), len(found) - len(files), len(inside) - len(classes))


def check_some(found: Sequence[object], folder: Path) -> None:
    """At least one picture was found."""
    if not found:
        expected = "a folder with idx files, or with one subfolder of pictures per class"
        raise InputError(expected, f"neither in {folder}", "arrange it as folder/class/picture.png")


def read_picture(path: Path, size: tuple[int, int] | None = None) -> NDArray[Any]:
    """Height x width (grey) or height x width x 3, from 0 to 255; resized to `size` = (height, width) where given.

    Grey pictures of 16 bits are floats, so that their finer steps are kept.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as picture:
            if picture.mode.startswith("I") or picture.mode == "F":
                plain = Image.fromarray(_deep_grey(np.asarray(picture), path))
            else:
                plain = picture.convert("L" if picture.mode in ("1", "L") else "RGB")
            if size is not None:
                plain = plain.resize((size[1], size[0]), Image.Resampling.BOX)
            return np.asarray(plain)
    except FileNotFoundError:
        raise InputError("a picture", f"{path}, which does not exist") from None
    except (UnidentifiedImageError, OSError, SyntaxError):
        raise InputError("a whole picture", f"a damaged one: {path}", "replace or remove it") from None


def _deep_grey(values: NDArray[Any], path: Path) -> NDArray[np.float32]:
    """Grey of more than 8 bits on the scale from 0 to 255; Pillow's own conversion would cut all above 255."""
    if values.dtype.kind == "f":
        low, high, most = float(values.min()), float(values.max()), 1.0
    else:
        low, high, most = int(values.min()), int(values.max()), 255 * _DEEP_STEPS
    if not (low >= 0 and high <= most):
        got = f"{low:g} to {high:g} in {path}"
        raise InputError(f"grey pictures from 0 to {most:g}, or of 8 bits", got, "convert it to 8 or 16 bits")
    return (values.astype(np.float64) * (255 / most)).astype(np.float32)


def alike(pictures: list[tuple[Path, NDArray[Any]]]) -> NDArray[Any]:
    """All pictures with one shape; grey ones are repeated over three channels where others are in colour."""
    colour = any(picture.ndim == 3 for _, picture in pictures)
    result: list[NDArray[Any]] = []
    for path, picture in pictures:
        shaped = np.repeat(picture[:, :, None], 3, axis=2) if colour and picture.ndim == 2 else picture
        if result and shaped.shape != result[0].shape:
            expected = f"pictures of one size, {result[0].shape[1]} x {result[0].shape[0]}"
            raise InputError(expected, f"{shaped.shape[1]} x {shaped.shape[0]} in {path}", "resize them first")
        result.append(shaped)
    return np.stack(result)


def has_idx(path: Path) -> bool:
    """Is the file there, plain or packed?"""
    return path.exists() or _packed(path).exists()


def idx_source(path: Path) -> Path:
    """The file that is read: the plain one, else the packed one."""
    return path if path.exists() else _packed(path)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """An idx file of bytes (type 8), plain or as .gz."""
    packed, source = _packed(path), idx_source(path)
    try:
        with gzip.open(source) if source == packed else source.open("rb") as stream:
            content = stream.read(_MOST_UNPACKED + 1 if source == packed else -1)
    except FileNotFoundError:
        got = f"neither in {path.parent}"
        raise InputError(f"the file {path.name} or {packed.name}", got) from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError("a whole gzip file", f"a damaged one: {source}", "download it again") from None
    except OSError as error:
        raise InputError("a readable idx file", f"{source}: {error.strerror}") from None
    if source == packed and len(content) > _MOST_UNPACKED:
        raise InputError(f"at most {_MOST_UNPACKED:,} bytes in {source}", "more", "unpack it")
    axes = content[3] if len(content) > 3 else 0
    header = 4 + 4 * axes
    if content[:3] != b"\x00\x00\x08" or axes == 0 or len(content) < header:
        raise InputError("an idx file of bytes", f"something else: {source}", "download it again")
    shape = tuple(int(length) for length in np.frombuffer(content[4:header], dtype=">u4"))
    size = math.prod(shape)  # of Python's numbers: the product of damaged lengths may be beyond 64 bits
    if len(content) - header != size:
        got = f"{len(content) - header} in {source}"
        raise InputError(f"{size} bytes of pixels or labels", got, "download it again")
    try:
        return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)
    except ValueError:  # no entries, by one axis of length 0, and other axes longer than an array may have
        raise InputError(
            f"axes that an array can have in {path}", f"the lengths {shape}", "download it again"
        ) from None


def _packed(path: Path) -> Path:
    return path.with_name(path.name + ".gz")
