"""Adult (census income), as the UCI repository has it: adult.data and adult.test, without a header, plain or .gz.

Numbers are features, text columns are kept separately (sex and race are the usual groups), `income` is the label, and
`split` says which of the two files a row comes from. Unknown entries remain "?".
"""

import gzip
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from lopsided.core.errors import InputError
from lopsided.data.images import VARIABLE
from lopsided.data.tables import Table, array_table

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race",
    "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income",
)  # fmt: skip
NUMBERS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")


def load_adult(folder: str | os.PathLike[str] | None = None) -> Table:
    """All 48,842 rows; the files are looked for in `folder`, else in LOPSIDED_DATA, there or in its subfolder adult."""
    given = folder if folder is not None else os.environ.get(VARIABLE)
    if not given:
        got = "none"
        raise InputError("the folder with adult.data", got, f"give a folder or set the environment variable {VARIABLE}")
    rows, split = [], []
    for name, word in (("adult.data", "train"), ("adult.test", "test")):
        lines = [line for line in _text(Path(given), name).splitlines() if line.count(",") == len(COLUMNS) - 1]
        found = [[cell.strip() for cell in line.rstrip(".").split(",")] for line in lines]
        rows += found
        split += [word] * len(found)
    cells = np.array(rows)
    try:
        features = cells[:, [COLUMNS.index(name) for name in NUMBERS]].astype(np.float64)
    except (ValueError, IndexError):
        got = f"others in {given}"
        raise InputError("the census files adult.data and adult.test", got, "download them again") from None
    columns = {name: cells[:, COLUMNS.index(name)] for name in COLUMNS if name not in NUMBERS}
    table = array_table(features, {**columns, "split": np.array(split)}, "Adult")
    return replace(table, feature_names=NUMBERS)


def _text(folder: Path, name: str) -> str:
    for place in (folder, folder / "adult"):
        plain, packed = place / name, place / f"{name}.gz"
        try:
            if plain.exists():
                return plain.read_text(encoding="utf-8")
            if packed.exists():
                return gzip.decompress(packed.read_bytes()).decode("utf-8")
        except (OSError, EOFError, UnicodeDecodeError):
            raise InputError(f"a whole file {name}", f"a damaged one in {place}", "download it again") from None
    raise InputError(f"the file {name} or {name}.gz", f"neither in {folder}")
