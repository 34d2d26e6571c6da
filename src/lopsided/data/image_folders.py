"""Folders of pictures: MNIST's idx files, or one subfolder per class; as a table or as an image set."""

import os
from pathlib import Path

import numpy as np

from lopsided.core.errors import InputError
from lopsided.data.idx_files import has_idx, read_idx
from lopsided.data.image_set import Images
from lopsided.data.picture_files import alike, files_by_class, read_picture
from lopsided.data.tables import Table, array_table


def open_image_folder(folder: Path) -> Table:
    """The training pictures of an idx folder, or all pictures of class folders (equal sizes, grey or RGB)."""
    stem = folder / "train-images-idx3-ubyte"
    if has_idx(stem):
        labels = read_idx(folder / "train-labels-idx1-ubyte").astype(np.int64)
        return array_table(read_idx(stem), {"label": labels}, str(folder))
    paths = files_by_class(folder)
    pictures = alike([(path, read_picture(path)) for _, path in paths])
    names = np.array([str(path.relative_to(folder)) for _, path in paths])
    return array_table(pictures, {"label": np.array([name for name, _ in paths]), "file": names}, str(folder))


def load_image_folder(
    folder: str | os.PathLike[str], *, size: tuple[int, int] | None = None, at_most: int | None = None
) -> Images:
    """Class folders (folder/class/picture.png) as an image set, classes in the order of their names.

    size: (height, width) to which pictures are resized; needed where they differ. at_most: of every class the same
    number is taken, so that at most that many are read.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError("a folder of pictures", f"no such folder: {place}", "arrange it as folder/class/picture.png")
    paths = files_by_class(place)
    names = tuple(dict.fromkeys(name for name, _ in paths))
    if at_most is not None:
        each = max(1, at_most // len(names))
        paths = [entry for name in names for entry in [pair for pair in paths if pair[0] == name][:each]]
    labels = np.array([names.index(name) for name, _ in paths], dtype=np.int64)
    pixels = alike([(path, read_picture(path, size)) for _, path in paths])
    return Images(place.name, "all", pixels.astype(np.uint8), labels, names)
