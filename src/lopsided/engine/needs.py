"""What a claim needs beyond the package: data sets in the folder that LOPSIDED_DATA (or --data-dir) names, packages."""

import contextlib
import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from lopsided.core.errors import InputError, MissingPackage
from lopsided.core.files import as_path

DATA_VARIABLE = "LOPSIDED_DATA"


def why_absent(needs: Sequence[str], packages: Sequence[str] = ()) -> str | None:
    """The sentence that says what is missing, data sets or packages, and how to get it; None if all is there."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            return str(MissingPackage(package, "this claim", package))
    folder = os.environ.get(DATA_VARIABLE)
    missing = [name for name in needs if not _present(name, folder)]
    if not missing:
        return None
    if not folder:
        return f"Needs {', '.join(missing)}: name the folder with the data sets in {DATA_VARIABLE} or with --data-dir."
    return f"Needs {', '.join(missing)}, not found in {folder}."


def _present(name: str, folder: str | None) -> bool:
    """Image sets wherever their loader finds them; other sets as a folder of that name."""
    from lopsided.data.images import NAMES, has_images

    return has_images(name) if name in NAMES else bool(folder) and (Path(str(folder)) / name).exists()


@contextlib.contextmanager
def data_folder(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Let loaders find the data sets in `folder`; None keeps what the environment says."""
    if folder is None:
        yield
        return
    path = as_path(folder, "a folder with the data sets").absolute()
    try:
        there = path.is_dir()
    except OSError:  # a name that is too long
        there = False
    if not there:
        raise InputError("a folder with the data sets", str(path), "check --data-dir")
    before = os.environ.get(DATA_VARIABLE)
    os.environ[DATA_VARIABLE] = str(path)
    try:
        yield
    finally:
        if before is None:
            del os.environ[DATA_VARIABLE]
        else:
            os.environ[DATA_VARIABLE] = before
