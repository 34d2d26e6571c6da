"""Labels in a file of their own: a .npy array, or text with one label per line."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.core.files import check_regular

FILE_ENDINGS = (".npy", ".txt", ".csv", ".tsv")


def looks_like_a_file(name: str) -> bool:
    """Does the name have a folder in it or a usual ending, so that it is no column's?"""
    return "/" in name or "\\" in name or name.lower().endswith(FILE_ENDINGS)


def read_label_file(path: Path) -> NDArray[Any]:
    """One label per example, in their order."""
    check_regular(path, "a .npy or text file of labels")
    if path.suffix.lower() == ".npy":
        from lopsided.data.npz_tables import load_npy

        return load_npy(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (UnicodeDecodeError, OSError):
        raise InputError("a .npy or text file of labels", str(path), "write one label per line") from None
    if lines and not lines[-1].strip():
        lines = lines[:-1]
    if not lines:
        raise InputError("a file with one label per line", f"an empty one: {path}", "write the labels first")
    return np.array([line.strip() for line in lines])
