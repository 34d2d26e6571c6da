"""Picture files (png, jpg, bmp, gif, pgm, ppm) to arrays, and folders with one subfolder of them per class."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError

_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".ppm")


def files_by_class(folder: Path) -> list[tuple[str, Path]]:
    """(class, file) of every picture in the class folders, sorted by class and name."""
    try:
        return [
            (inner.name, path)
            for inner in sorted(folder.iterdir())
            if inner.is_dir()
            for path in sorted(inner.iterdir())
            if path.suffix.lower() in _ENDINGS
        ]
    except OSError as error:
        raise InputError("a folder of pictures", f"{folder}: {error.strerror}", "check the path") from None


def check_some(found: Sequence[object], folder: Path) -> None:
    """At least one picture was found."""
    if not found:
        raise InputError(
            "a folder with idx files, or with one subfolder of pictures per class",
            f"neither in {folder}",
            "arrange it as folder/class/picture.png",
        )


def read_picture(path: Path, size: tuple[int, int] | None = None) -> NDArray[Any]:
    """Height x width (grey) or height x width x 3; resized to `size` = (height, width) where one is given."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as picture:
            plain = picture.convert("L" if picture.mode in ("1", "L", "I;16", "I") else "RGB")
            if size is not None:
                plain = plain.resize((size[1], size[0]), Image.Resampling.BOX)
            return np.asarray(plain)
    except FileNotFoundError:
        raise InputError("a picture", f"no such file: {path}", "check the folder") from None
    except (UnidentifiedImageError, OSError, SyntaxError):
        raise InputError("a whole picture", f"a damaged one: {path}", "replace or remove it") from None


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
