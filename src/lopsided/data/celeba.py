"""CelebA: the aligned faces (img_align_celeba/*.jpg), 40 attributes (list_attr_celeba.txt), the official partition.

The set may not be redistributed; it is at the project page "Large-scale CelebFaces Attributes (CelebA) Dataset" of the
Chinese University of Hong Kong. Labels and groups are attributes, for example blond hair and sex.
"""

import os
from pathlib import Path
from typing import Literal

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.validation import IntArray
from lopsided.data.image_folders import read_picture
from lopsided.data.image_set import Images
from lopsided.data.images import VARIABLE

CelebaSplit = Literal["train", "valid", "test", "all"]
_PARTITION = {"train": 0, "valid": 1, "test": 2}
_ATTRIBUTES, _PARTITIONS, _PICTURES = "list_attr_celeba.txt", "list_eval_partition.txt", "img_align_celeba"
_INNER = ("celeba", "CelebA", "celeba/Anno", ".")


def find_celeba(place: Path) -> Path | None:
    """The folder at or under `place` with the attribute file and the pictures."""
    for inner in _INNER:
        folder = place / inner
        if _first(folder, _ATTRIBUTES) is not None and _first(folder, _PICTURES) is not None:
            return folder
    return None


def load_celeba(
    folder: str | os.PathLike[str] | None = None,
    *,
    label: str = "Blond_Hair",
    group: str | None = "Male",
    split: CelebaSplit = "train",
    size: tuple[int, int] = (64, 64),
    at_most: int | None = None,
) -> Images:
    """Faces with one attribute as label (0 absent, 1 present) and another as group, resized to `size`.

    folder: where the set is; else the folder that LOPSIDED_DATA names, or its subfolder celeba.
    """
    given = folder if folder is not None else os.environ.get(VARIABLE)
    if not given:
        raise InputError("the folder with CelebA", "none", f"give a folder or set the environment variable {VARIABLE}")
    place = find_celeba(Path(given))
    if place is None:
        raise InputError(
            f"{_ATTRIBUTES} and the folder {_PICTURES} in {given}",
            "not both",
            "get CelebA (aligned images and attributes) from its project page and unpack it there",
        )
    if split not in (*_PARTITION, "all"):
        raise InputError("the split train, valid, test or all", repr(split))
    files, names, values = _attributes(_required(place, _ATTRIBUTES))
    chosen = np.arange(len(files)) if split == "all" else np.flatnonzero(_partition(place, files) == _PARTITION[split])
    chosen = chosen[:at_most]
    if not chosen.size:
        raise InputError(f"pictures of the split {split}", f"none in {place}", "check the partition file")
    pictures = _required(place, _PICTURES)
    pixels = np.stack([np.broadcast_to(_colour(pictures / files[i], size), (*size, 3)) for i in chosen])
    labels = values[chosen, _column(names, label)]
    groups = None if group is None else values[chosen, _column(names, group)]
    group_names = () if group is None else (f"not {group}", group)
    return Images("celeba", split, pixels, labels, (f"not {label}", label), groups, group_names)


def _colour(path: Path, size: tuple[int, int]) -> np.ndarray:
    picture = read_picture(path, size)
    return picture if picture.ndim == 3 else picture[:, :, None]


def _attributes(path: Path) -> tuple[list[str], list[str], IntArray]:
    """File names, attribute names, and 0/1 (files x attributes); the file has a count, the names, then -1 and 1."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        raise InputError("a readable attribute file", str(path), "download it again") from None
    rows = [line.split() for line in lines if line.strip()]
    if len(rows) < 3 or len(rows[0]) != 1:
        raise InputError(f"a count, attribute names and one line per picture in {path}", "less", "download it again")
    names, body = rows[1], rows[2:]
    wrong = next((row for row in body if len(row) != len(names) + 1 or not set(row[1:]) <= {"-1", "1"}), None)
    if wrong is not None:
        raise InputError(f"{len(names)} values of -1 or 1 for every picture in {path}", f"{wrong[:3]}...")
    values = (np.array([row[1:] for row in body]) == "1").astype(np.int64)
    return [row[0] for row in body], names, values


def _partition(place: Path, files: list[str]) -> IntArray:
    path = _first(place, _PARTITIONS)
    if path is None:
        raise InputError(f"{_PARTITIONS} in {place}", "no such file", "download it, or use the split 'all'")
    try:
        code = {name: int(part) for name, part in (line.split() for line in path.read_text().splitlines() if line)}
        return np.array([code[name] for name in files], dtype=np.int64)
    except (ValueError, KeyError, OSError):
        raise InputError(
            f"a part 0, 1 or 2 for every picture in {path}", "something else", "download it again"
        ) from None


def _column(names: list[str], attribute: str) -> int:
    if attribute not in names:
        raise InputError("an attribute of CelebA", repr(attribute), f"choose among {', '.join(names[:8])}, ...")
    return names.index(attribute)


def _first(folder: Path, name: str) -> Path | None:
    """The file beside the others or in the subfolders of the official archive."""
    places = [folder / inner / name for inner in (".", "Anno", "Eval", "Img")]
    return next((path for path in places if path.exists()), None)


def _required(place: Path, name: str) -> Path:
    path = _first(place, name)
    assert path is not None  # find_celeba has seen it
    return path
