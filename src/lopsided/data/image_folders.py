"""Tables over folders of pictures: MNIST's idx files, or one subfolder per class with png, jpg, bmp or gif files."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.data.images import read_idx
from lopsided.data.tables import Table, array_table

_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".ppm")


def open_image_folder(folder: Path) -> Table:
    """The training pictures of an idx folder, or all pictures of class folders (equal sizes, grey or RGB)."""
    stem = folder / "train-images-idx3-ubyte"
    if stem.exists() or stem.with_name(stem.name + ".gz").exists():
        labels = read_idx(folder / "train-labels-idx1-ubyte").astype(np.int64)
        return array_table(read_idx(stem), {"label": labels}, str(folder))
    paths = [
        (inner.name, path)
        for inner in sorted(folder.iterdir())
        if inner.is_dir()
        for path in sorted(inner.iterdir())
        if path.suffix.lower() in _ENDINGS
    ]
    if not paths:
        raise InputError(
            "a folder with idx files, or with one subfolder of pictures per class",
            f"neither in {folder}",
            "arrange it as folder/class/picture.png",
        )
    pictures = np.stack(_alike([(path, _read(path)) for _, path in paths]))
    names = np.array([str(path.relative_to(folder)) for _, path in paths])
    return array_table(pictures, {"label": np.array([name for name, _ in paths]), "file": names}, str(folder))


def _read(path: Path) -> NDArray[Any]:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as picture:
            return np.asarray(picture.convert("L" if picture.mode in ("1", "L", "I;16", "I") else "RGB"))
    except (UnidentifiedImageError, OSError, SyntaxError):
        raise InputError("a whole picture", f"a damaged one: {path}", "replace or remove it") from None


def _alike(pictures: list[tuple[Path, NDArray[Any]]]) -> list[NDArray[Any]]:
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
    return result
