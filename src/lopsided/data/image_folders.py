"""Tables over folders of pictures: MNIST's idx files, or one subfolder per class with png, jpg, bmp or gif files."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.data.images import read_idx
from lopsided.data.tables import Table, array_table

_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".ppm")
_SPLITS = ("train", "training", "test", "val", "valid", "validation")


def open_image_folder(folder: Path, *, with_test: bool = False) -> Table:
    """The training pictures of an idx folder, or all pictures of class folders (equal sizes, grey or RGB).

    with_test: also the test pictures of an idx folder, or those of folders train/class and test/class (or val/class),
    with a column `split`.
    """
    stem = folder / "train-images-idx3-ubyte"
    if stem.exists() or stem.with_name(stem.name + ".gz").exists():
        return _idx_table(folder, with_test)
    parts = [inner for inner in sorted(folder.iterdir()) if inner.is_dir()]
    if with_test and parts and {part.name.lower() for part in parts} <= set(_SPLITS) and len(parts) > 1:
        found = [(part.name.lower(), name, path) for part in parts for name, path in _class_pictures(part)]
    else:
        found = [("", name, path) for name, path in _class_pictures(folder)]
    if not found:
        raise InputError(
            "a folder with idx files, or with one subfolder of pictures per class",
            f"neither in {folder}",
            "arrange it as folder/class/picture.png",
        )
    pictures = np.stack(_alike([(path, _read(path)) for _, _, path in found]))
    columns = {
        "label": np.array([name for _, name, _ in found]),
        "file": np.array([str(path.relative_to(folder)) for _, _, path in found]),
    }
    if found[0][0]:
        columns["split"] = np.array([split for split, _, _ in found])
    return array_table(pictures, columns, str(folder))


def _idx_table(folder: Path, with_test: bool) -> Table:
    has_test = (folder / "t10k-images-idx3-ubyte").exists() or (folder / "t10k-images-idx3-ubyte.gz").exists()
    prefixes = ("train", "t10k") if with_test and has_test else ("train",)
    pictures = [read_idx(folder / f"{prefix}-images-idx3-ubyte") for prefix in prefixes]
    labels = [read_idx(folder / f"{prefix}-labels-idx1-ubyte").astype(np.int64) for prefix in prefixes]
    columns = {"label": np.concatenate(labels)}
    if len(prefixes) > 1:
        columns["split"] = np.repeat(np.array(["train", "test"]), [len(part) for part in labels])
    return array_table(np.concatenate(pictures), columns, str(folder))


def _class_pictures(folder: Path) -> list[tuple[str, Path]]:
    return [
        (inner.name, path)
        for inner in sorted(folder.iterdir())
        if inner.is_dir()
        for path in sorted(inner.iterdir())
        if path.suffix.lower() in _ENDINGS
    ]


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
