"""What a claim or a skill family needs besides lopsided: data sets in the folder that LOPSIDED_DATA (or --data-dir)
names, and packages."""

import contextlib
import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from lopsided.core.errors import InputError, MissingPackage
from lopsided.core.files import as_path

DATA_VARIABLE = "LOPSIDED_DATA"
DEFAULT_FOLDER = "lopsided-data"  # where `lopsided data get` puts them unless told otherwise


# importable package -> the extra of lopsided that installs it
EXTRAS = {
    "dask": "cluster",
    "distributed": "cluster",
    "imblearn": "sampling",
    "openpyxl": "excel",
    "safetensors": "torch",
    "torch": "torch",
}


def chosen_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """The folder with the data sets: the one given, else the one that LOPSIDED_DATA names, else ./lopsided-data."""
    return as_path(folder or os.environ.get(DATA_VARIABLE) or DEFAULT_FOLDER, "a folder with the data sets").absolute()


def why_absent(needs: Sequence[str], packages: Sequence[str] = (), *, purpose: str = "this claim") -> str | None:
    """A sentence that says which data sets or packages `purpose` lacks and how to get them; None if nothing is missing.

    A package outside the extras is named as PyPI spells it, with hyphens.
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            extra = EXTRAS.get(package)
            return str(MissingPackage(package if extra else package.replace("_", "-"), purpose, extra))
    folder = os.environ.get(DATA_VARIABLE)
    missing = [name for name in needs if not _present(name, folder)]
    if not missing:
        return None
    where = f"not found in {folder}" if folder else f"and neither {DATA_VARIABLE} nor --data-dir names a folder"
    return f"Needs {', '.join(missing)}, {where}; download with: lopsided data get {' '.join(missing)}"


def _present(name: str, folder: str | None) -> bool:
    """Known sets wherever their loader finds them; a set of a user's own claim as a folder of that name."""
    from lopsided.data.data_sets import DATA_SETS, find_data_set

    place = Path(folder) if folder else None
    if name in DATA_SETS:
        return find_data_set(name, place) is not None
    return place is not None and (place / name).exists()


def found_here() -> contextlib.AbstractContextManager[None]:
    """Use ./lopsided-data if it exists and no other folder was given."""
    here = not os.environ.get(DATA_VARIABLE) and Path(DEFAULT_FOLDER).is_dir()
    return data_folder(DEFAULT_FOLDER if here else None)


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
    with environment(DATA_VARIABLE, str(path)):
        yield


@contextlib.contextmanager
def environment(name: str, value: str) -> Iterator[None]:
    """Within the block, the variable of the environment has this value."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
