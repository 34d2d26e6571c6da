"""Reads files of examples: features in blocks of rows, and other columns (labels, groups, predictions).

There is one record for every format, so that score, audit and trial read files in the same way:

- .npz: the features under `features`, `x`, `images`, `embeddings` or `data` (any case), else the only array with two
  or more axes; one-dimensional arrays of the same length are columns. Members are streamed, compressed or not. Or a
  sparse matrix as SciPy saves it.
- .npy: the features, memory-mapped; labels come from a file of their own.
- .parquet: one list column of features, else all numeric columns that are not columns beside; streamed by row groups.
- .csv, .tsv (also .gz): numeric columns that are not columns beside are features; read whole. Commas, semicolons,
  tabs or vertical bars. Likewise .feather and .arrow, .jsonl and .ndjson (one object a line), .xlsx (where openpyxl or
  python-calamine is installed).
- a folder of parquet files, hive partitions too (`split=train/...`): their columns of numbers, streamed.
- another folder: idx files (MNIST's layout), or one subfolder of images per class; hidden files are ignored.

No pickle is ever loaded, and a damaged file raises an InputError.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.core.files import check_regular
from lopsided.core.validation import name_one_of
from lopsided.data.rows import Rows

if TYPE_CHECKING:
    from lopsided.data.parts import Parts

LABEL_NAMES = ("label", "labels", "y", "target", "targets", "class")
FEATURE_NAMES = ("features", "x", "images", "embeddings", "embedding", "data")
GROUP_NAMES = ("group", "groups", "subgroup", "domain", "environment")
PREDICTION_NAMES = ("predictions", "prediction", "y_pred", "predicted", "pred")
SPLIT_NAMES = ("split", "is_test", "subset")
# a row's own name; the last three are how pandas writes its index to csv and parquet
ROW_NAMES = ("id", "index", "", "unnamed: 0", "__index_level_0__")
BESIDE_NAMES = (*LABEL_NAMES, *GROUP_NAMES, *PREDICTION_NAMES, *SPLIT_NAMES, *ROW_NAMES)
WHOLE_FILES = dict.fromkeys((".csv", ".tsv"), "csv") | dict.fromkeys((".csv.gz", ".tsv.gz"), "packed csv")
WHOLE_FILES |= dict.fromkeys((".feather", ".arrow"), "Arrow") | dict.fromkeys((".jsonl", ".ndjson"), "JSON lines")
WHOLE_FILES |= {".xlsx": "Excel"}
FILE_ENDINGS = (".npy", ".txt", ".csv", ".tsv")  # of labels in a file of their own
_BLOCK_NUMBERS = 4_000_000  # numbers in a block: 32 MB as float64


@dataclass(frozen=True)
class ColumnChoice:
    """Which columns are features: those named, else all of numbers but those `beside` and those of a `reserved` name
    (in small letters). `needed`: a table without features is refused. `whole`: columns of categories, words and dates
    are features too, and so are those with missing values; columns that say nothing are not."""

    features: str | Sequence[str] | None = None
    beside: Sequence[str] = ()
    reserved: Sequence[str] = BESIDE_NAMES
    needed: bool = True
    whole: bool = False

    @property
    def wanted(self) -> list[str] | None:
        """The features by name, where they were named."""
        if self.features is None:
            return None
        return [self.features] if isinstance(self.features, str) else list(self.features)

    def beside_features(self, names: Sequence[str]) -> set[str]:
        """Which of the column names stand beside the features."""
        return {name for name in names if name in self.beside or name.lower() in self.reserved}


ALL_NUMBERS = ColumnChoice()


@dataclass(frozen=True)
class Table:
    """n examples of `width` features, `blocks()` of which can be read again and again, and the columns beside them."""

    source: str
    rows: int
    width: int
    columns: Mapping[str, NDArray[Any]]
    read_blocks: Callable[[int], Iterator[NDArray[Any]]] = field(repr=False)
    feature_names: tuple[str, ...] | None = None
    misfits: Mapping[str, int] = field(default_factory=dict)  # columns of another length, which thus are none
    image_shape: tuple[int, ...] | None = None  # height, width[, channels] where an example is a picture
    notes: tuple[str, ...] = ()  # what the reader left out, one sentence each
    array: str = "features"  # what the features are called where their columns have no names
    frame: Rows | None = field(default=None, repr=False)  # the features as they came, where they are no finite matrix
    used: tuple[str, ...] | None = None  # columns of the frame that are features
    ignored: tuple[tuple[str, str], ...] = ()  # columns that could be, with the reason why they are not
    origins: tuple[str, ...] | None = None  # of features that encode the frame: the column that each comes from
    gaps: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)  # rows without a value, by column
    parts: "Parts | None" = field(default=None, repr=False)  # what it is read from, where that is read in parts

    def blocks(self, rows: int | None = None) -> Iterator[NDArray[Any]]:
        """Features in order, `rows` x width at a time (by default about 32 MB)."""
        yield from self.read_blocks(rows or max(1, _BLOCK_NUMBERS // max(self.width, 1)))

    def features(self) -> NDArray[Any]:
        """All features at once, rows x width."""
        return np.concatenate(list(self.blocks()), axis=0)

    def held(self) -> "Table":
        """The same with all features in memory as one matrix, for many passes."""
        matrix = self.features() if self.width else np.zeros((self.rows, 0))
        return replace(self, read_blocks=lambda size: (matrix[low : low + size] for low in range(0, self.rows, size)))

    def column(self, name: str) -> NDArray[Any]:
        """A column beside the features."""
        if name in self.misfits:
            got = f"{self.misfits[name]:,}"
            raise InputError(f"{self.rows:,} entries in {name} of {self.source}, one per example", got)
        if name not in self.columns:
            have = ", ".join(self.columns) or "none"
            remedy = name_one_of(self.columns, name)
            raise InputError(f"a column {name!r} in {self.source}", f"the columns: {have}", remedy)
        return self.columns[name]

    def labels(self, name: str | None = None) -> NDArray[Any]:
        """The column of labels: the one named, else the first with a usual name."""
        if name is not None:
            return self.column(name)
        lower = {known.lower(): known for known in self.columns}
        for usual in LABEL_NAMES:
            if usual in lower:
                return self.columns[lower[usual]]
        for misfit in self.misfits:
            if misfit.lower() in LABEL_NAMES:
                return self.column(misfit)
        have = ", ".join(self.columns) or "none"
        expected = f"a column of labels in {self.source} (such as {', '.join(LABEL_NAMES[:3])})"
        raise InputError(expected, f"the columns: {have}", "say which column or file holds the labels")


def open_table(path: str | os.PathLike[str], choice: ColumnChoice = ALL_NUMBERS, *, with_test: bool = False) -> Table:
    """Open a file or folder of examples; the ending chooses the format.

    with_test: of a folder that holds training and test pictures read both, with a column `split`.
    """
    place = Path(path)
    if not os.path.exists(place):  # False, too, where the name is longer than the system allows
        raise InputError("a file or folder of examples", f"{place}, which does not exist")
    if place.is_dir():
        from lopsided.data.parts import is_in_parts, open_parts

        if is_in_parts(place):
            from lopsided.data.arrow_tables import parts_table

            return parts_table(open_parts(place), choice)
        from lopsided.data.image_folders import open_image_folder

        return open_image_folder(place, with_test=with_test)
    check_regular(place, "a file or folder of examples")
    ending = place.suffix.lower()
    if ending == ".npz":
        from lopsided.data.npz_tables import open_npz

        return open_npz(place, choice)
    if ending == ".npy":
        from lopsided.data.npz_tables import open_npy

        return open_npy(place)
    if ending in (".parquet", ".pq"):
        from lopsided.data.arrow_tables import open_parquet

        return open_parquet(place, choice)
    kind = next((kind for known, kind in WHOLE_FILES.items() if place.name.lower().endswith(known)), None)
    if kind is not None:
        from lopsided.data.arrow_tables import open_whole

        return open_whole(place, kind, choice)
    known = ", ".join((".npz", ".npy", ".parquet", *WHOLE_FILES))
    raise InputError(f"a file that ends in {known}, or a folder of images", str(place), "convert it first")


def array_table(features: NDArray[Any], columns: Mapping[str, NDArray[Any]], source: str = "an array") -> Table:
    """A table over an array in memory or memory-mapped; examples with more than one axis are pictures."""
    if features.ndim < 2 or features.shape[0] == 0 or features.dtype.kind not in "biuf":
        expected = f"numbers as features, one row per example, in {source}"
        got = f"shape {features.shape} of type {features.dtype}"
        raise InputError(expected, got)
    for name, column in columns.items():
        if column.shape[:1] != features.shape[:1]:
            raise InputError(f"{features.shape[0]} entries in {name}", column.shape, "give one per example")
    n = features.shape[0]

    def read(size: int) -> Iterator[NDArray[Any]]:
        for start in range(0, n, size):
            part = features[start : start + size]
            yield at_most_double(np.asarray(part).reshape(part.shape[0], -1))

    width = int(np.prod(features.shape[1:], dtype=np.int64))
    return Table(source, n, width, dict(columns), read, image_shape=picture_shape(features.shape))


def at_most_double(block: NDArray[Any]) -> NDArray[Any]:
    """Long doubles as doubles, because linear algebra has none. Values that are too large become infinite and are
    rejected later."""
    if block.dtype.kind != "f" or block.dtype.itemsize <= 8:
        return block
    with np.errstate(over="ignore"):
        return block.astype(np.float64)


def picture_shape(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """(height, width) or (height, width, channels) of arrays that hold pictures, else None."""
    if len(shape) == 3:
        return shape[1:]
    return shape[1:] if len(shape) == 4 and shape[3] in (1, 3) else None


def looks_like_a_file(name: str) -> bool:
    """Does the name have a folder in it or a usual ending, so that it is no column's?"""
    return "/" in name or "\\" in name or name.lower().endswith(FILE_ENDINGS)


def read_label_file(path: Path) -> NDArray[Any]:
    """One label per example, in their order; None where a line says that it is missing, as a cell of a table would."""
    check_regular(path, "a .npy or text file of labels")
    if path.suffix.lower() == ".npy":
        from lopsided.data.npz_tables import load_npy

        return load_npy(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (UnicodeDecodeError, OSError):
        raise InputError("a .npy or text file of labels", str(path), "write one label per line") from None
    labels = [line.strip() for line in lines]
    while labels and not labels[-1]:
        labels.pop()
    if not labels:
        raise InputError("a file with one label per line", f"an empty one: {path}")
    if "" in labels:
        got = f"an empty line {labels.index('') + 1}"
        raise InputError(f"a label in every line of {path}", got, "write the label, or NA where it is missing")
    from lopsided.data.csv_file import missing_words

    missing = missing_words()
    if missing.isdisjoint(labels):
        return np.array(labels)
    return np.array([None if label in missing else label for label in labels], dtype=object)
