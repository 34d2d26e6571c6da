"""Data sets that a claim needs: folders inside the one that LOPSIDED_DATA (or --data-dir) names."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from lopsided.core.errors import InputError

DATA_VARIABLE = "LOPSIDED_DATA"


def why_absent(needs: Sequence[str]) -> str | None:
    """The sentence that says which data sets are missing and how to give them; None if all are there."""
    if not needs:
        return None
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        return f"Needs {', '.join(needs)}: name the folder with the data sets in {DATA_VARIABLE} or with --data-dir."
    missing = [name for name in needs if not (Path(folder) / name).exists()]
    return f"Needs {', '.join(missing)}, not found in {folder}." if missing else None


@contextlib.contextmanager
def data_folder(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Let loaders find the data sets in `folder`; None keeps what the environment says."""
    if folder is None:
        yield
        return
    path = Path(folder).absolute()
    if not path.is_dir():
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
