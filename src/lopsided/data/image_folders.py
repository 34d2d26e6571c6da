"""Folders of pictures: MNIST's idx files, or one subfolder per class; as a table or as an image set."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from lopsided.core.errors import InputError
from lopsided.data.idx_files import has_idx, read_idx
from lopsided.data.image_set import Images
from lopsided.data.picture_files import alike, check_some, files_by_class, read_picture, visible
from lopsided.data.tables import Table, array_table

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
        raise InputError("a folder of pictures", f"no such folder: {place}", "arrange it as folder/class/picture.png")
    paths = files_by_class(place).pictures
    check_some(paths, place)
    names = tuple(dict.fromkeys(name for name, _ in paths))
    if at_most is not None:
        each = max(1, at_most // len(names))
        paths = [entry for name in names for entry in [pair for pair in paths if pair[0] == name][:each]]
    labels = np.array([names.index(name) for name, _ in paths], dtype=np.int64)
    pixels = alike([(path, read_picture(path, size)) for _, path in paths])
    return Images(place.name, "all", np.rint(pixels).astype(np.uint8), labels, names)
