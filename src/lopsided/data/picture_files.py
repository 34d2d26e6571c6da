"""Picture files (png, jpg, webp, tif, bmp, gif, pgm, ppm) to arrays, and folders with a subfolder of them per class."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError

_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif", ".pgm", ".ppm")
_DEEP_STEPS = 257  # 65535 / 255: steps of 16 bits in one of 8


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
        """One sentence on what was left out, if anything was."""
        counted = {
            "that end as no picture does": (self.others, "file"),
            "within folders of classes": (self.nested, "folder"),
            "beside the folders of classes": (self.loose, "file"),
        }
        told = [f"{count:,} {unit}{'s' * (count > 1)} {where}" for where, (count, unit) in counted.items() if count]
        ends = ", ".join(ending[1:] for ending in _ENDINGS)
        return (f"Left out of the folder: {'; '.join(told)} (pictures are folder/class/name, {ends}).",) if told else ()


def visible(folder: Path) -> list[Path]:
    """What is in a folder, sorted by name, without what systems and notebooks hide there."""
    try:
        found = sorted(folder.iterdir())
    except OSError as error:
        raise InputError("a folder of pictures", f"{folder}: {error.strerror}", "check the path") from None
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
        raise InputError(
            "a folder with idx files, or with one subfolder of pictures per class",
            f"neither in {folder}",
            "arrange it as folder/class/picture.png",
        )


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
        raise InputError("a picture", f"no such file: {path}", "check the folder") from None
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
            raise InputError(
                f"pictures of one size, {result[0].shape[1]} x {result[0].shape[0]}",
                f"{shaped.shape[1]} x {shaped.shape[0]} in {path}",
                "resize them first",
            )
        result.append(shaped)
    return np.stack(result)
