"""One function for every reader of users' files and for the grammar of counts: bytes in, a value or one sentence out.

Run by `fuzz.py` in a process of its own under atheris (coverage-guided), and over the kept seeds by the tests.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np


def _counts(content: bytes, folder: Path) -> None:
    from lopsided.core.counts import class_counts

    class_counts(content.decode(errors="replace"), at_least_two=False)


def _counts_file(content: bytes, folder: Path) -> None:
    from lopsided.core.counts import counts_file

    counts_file(_put(folder / "counts.csv", content))


def _specification(content: bytes, folder: Path) -> None:
    from lopsided.core.mixture_file import mixture_file

    mixture_file(_put(folder / "spec.toml", content))


def _table(ending: str) -> Callable[[bytes, Path], None]:
    def read(content: bytes, folder: Path) -> None:
        from lopsided.data.tables import ColumnChoice, open_table

        table = open_table(_put(folder / f"data{ending}", content), ColumnChoice(needed=False))
        for block in table.blocks(100):
            np.isfinite(block)

    return read


def _labels(content: bytes, folder: Path) -> None:
    from lopsided.core.validation import check_labels
    from lopsided.data.tables import read_label_file

    check_labels(read_label_file(_put(folder / "labels.txt", content)))


def _pickle(content: bytes, folder: Path) -> None:
    from lopsided.data.plain_pickle import read_plain_pickle

    read_plain_pickle(_put(folder / "batch", content))


def _idx(content: bytes, folder: Path) -> None:
    from lopsided.data.images import read_idx

    read_idx(_put(folder / "train-images-idx3-ubyte", content))


def _put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


TARGETS: dict[str, Callable[[bytes, Path], None]] = {
    "counts": _counts,
    "counts-file": _counts_file,
    "specification": _specification,
    "npz": _table(".npz"),
    "npy": _table(".npy"),
    "csv": _table(".csv"),
    "parquet": _table(".parquet"),
    "labels": _labels,
    "pickle": _pickle,
    "idx": _idx,
}


def tried(name: str, content: bytes, folder: Path) -> bool:
    """True for a value, False for a sentence; anything else raises."""
    from lopsided.core.errors import LopsidedError

    try:
        TARGETS[name](content, folder)
    except LopsidedError as error:
        if "\n" in str(error):
            raise AssertionError(f"not one sentence: {error!r}") from None
        return False
    except MemoryError:
        raise AssertionError("memory without bounds") from None
    return True


def main() -> None:
    """`python -m tests.faults.fuzz_targets NAME FOLDER [libFuzzer options and corpora]`."""
    import atheris

    name, folder = sys.argv[1], Path(sys.argv[2])
    with atheris.instrument_imports(include=["lopsided.core", "lopsided.data", "zipfile", "pickle", "tomllib"]):
        tried(name, b"", folder)  # the reader and what it imports, under instrumentation
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    atheris.Setup([sys.argv[0], *sys.argv[3:]], lambda content: tried(name, bytes(content), folder) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
