"""Reads class counts in the forms that people write: `5000*5,50*5`, a list, an array, or a csv or txt file with or
without names.

Counts are weights of the loss, so they may be fractions (an oversampled class counts rate times its size) and,
where a limit is asked for, zero; by default they are positive.
"""

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.files import check_regular
from lopsided.core.validation import FloatArray, is_number

MOST_CLASSES = 10_000_000
LEAST_COUNT, LARGEST_COUNT = 1e-100, 1e100  # beyond these, sums and ratios of counts leave the doubles
_TERM = re.compile(r"^\s*(?P<count>[^*\s]+)\s*(?:\*\s*(?P<times>[^*\s]+)\s*)?$")
_COUNT_COLUMNS = ("count", "counts", "n", "size", "examples", "samples", "number")
_NAME_COLUMNS = ("class", "name", "label", "class_name", "category")


@dataclass(frozen=True)
class ClassCounts:
    """Examples per class, in the order given, with a name each."""

    counts: FloatArray
    names: tuple[str, ...] | None = None

    @property
    def classes(self) -> int:
        """K, the number of classes."""
        return int(self.counts.shape[0])

    @property
    def total(self) -> float:
        """N, the number of examples."""
        return float(self.counts.sum())

    def name(self, index: int) -> str:
        """The name of a class; its index where none was given."""
        return self.names[index] if self.names is not None else str(index)


CountsLike = ClassCounts | str | os.PathLike[str] | Mapping[str, float] | Iterable[float]


def class_counts(value: CountsLike, *, at_least_two: bool = True) -> ClassCounts:
    """Read class counts in any of the accepted forms.

    >>> class_counts("5000*2,50").counts.tolist()
    [5000.0, 5000.0, 50.0]
    """
    if isinstance(value, ClassCounts):
        return value
    if isinstance(value, (bytes, bytearray)):
        raise InputError("class counts as text, a list or an array", "bytes", "decode them first")
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InputError("a count for every class", "masked entries", "fill or drop them first")
    if isinstance(value, os.PathLike):
        return counts_file(value)
    if isinstance(value, str):
        if _looks_like_file(value):
            return counts_file(value)
        return _checked(_parse(value), None, at_least_two)
    if isinstance(value, Mapping):
        return _checked(list(value.values()), [str(name) for name in value], at_least_two)
    return _checked(value, None, at_least_two)


def counts_file(path: str | os.PathLike[str]) -> ClassCounts:
    """Counts from a text file: one per line, or comma-separated, or csv with a column of counts and one of names."""
    source = check_regular(path, "a file of class counts")
    try:
        text = source.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        got = f"other bytes in {source}"
        raise InputError("a UTF-8 text file of class counts", got, "save it as UTF-8") from None
    except OSError as error:
        raise InputError("a readable file of class counts", f"{source}: {error.strerror}") from None
    raw = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in (line.partition("#")[0].strip() for line in raw) if line]
    if not lines:
        raise InputError("class counts in the file", f"an empty file: {source}", "write one count per line")
    cells = [line.strip(",").split(",") for line in lines]
    if all(_TERM.match(part) and _is_number(part) for row in cells for part in row) and not _numbered(cells):
        return _checked(_parse(",".join(part for row in cells for part in row)), None, True)
    # In a table "#" may belong to a name; only lines before it that start with "# " are comments.
    first = next((position for position, line in enumerate(raw) if not line.startswith("# ")), 0)
    return _from_table(raw[first:], source)


def _numbered(cells: list[list[str]]) -> bool:
    """Rows of two numbers of which the first counts the rows: a label and a count, not two counts."""
    if len(cells) < 2 or any(len(row) != 2 for row in cells):
        return False
    labels = [float(row[0]) if "*" not in row[0] else None for row in cells]
    return labels[0] in (0, 1) and all(label == labels[0] + step for step, label in enumerate(labels))


def _from_table(lines: list[str], source: Path) -> ClassCounts:
    delimiter = max(",;\t", key=lines[0].count) if any(mark in lines[0] for mark in ",;\t") else None
    if delimiter is None:
        rows = [line.rsplit(maxsplit=1) for line in lines]
    else:
        try:
            text = io.StringIO("\n".join(lines))
            rows = list(csv.reader(text, delimiter=delimiter, strict=True, skipinitialspace=True))
        except csv.Error as error:
            raise InputError("a csv file of class counts", f"{source}: {error}") from None
    numbers = re.split(r"[;\s]+", lines[0])
    if len(rows) == 1 and len(numbers) > 1 and all(map(_is_number, numbers)):
        return _checked([_number(cell) for cell in numbers], None, True)
    header = [cell.strip().lower() for cell in rows[0]]
    has_header = not any(_is_number(cell) for cell in rows[0])
    count_column = _column(header, _COUNT_COLUMNS) if has_header else None
    body = rows[1:] if has_header else rows
    if not body:
        raise InputError("class counts in the file", f"only a header in {source}", "add one row per class")
    if count_column is None:
        numeric = [column for column in range(len(body[0])) if all(_is_number(_cell(row, column)) for row in body)]
        if not numeric:
            expected = "a column of counts"
            raise InputError(expected, f"none in {source} with the columns {', '.join(rows[0])}", "name it 'count'")
        count_column = numeric[-1]
    name_column = _column(header, _NAME_COLUMNS) if has_header else None
    if name_column is None:
        others = [column for column in range(len(body[0])) if column != count_column]
        name_column = others[0] if others else None
    names = None if name_column is None else [_cell(row, name_column) for row in body]
    cells = [_cell(row, count_column) for row in body]
    for number, cell in enumerate(cells, start=2 if has_header else 1):
        if not _is_number(cell):
            got = f"{cell!r} in row {number} of {source}"
            raise InputError("a number of examples in every row", got, "fill it in or remove the row")
    return _checked([_number(cell) for cell in cells], names, True)


def _column(header: list[str], known: tuple[str, ...]) -> int | None:
    return next((header.index(name) for name in known if name in header), None)


def _cell(row: list[str], column: int) -> str:
    return row[column].strip() if column < len(row) else ""


def _looks_like_file(text: str) -> bool:
    if re.search(r"\.(csv|tsv|txt)$", text.strip(), re.IGNORECASE):
        return True
    if len(text) >= 4096 or re.fullmatch(r"[\s\d.,*eE+\-]*", text) or "\0" in text:
        return False
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a name that is too long, or that no file system takes
        return False


def _parse(text: str) -> FloatArray:
    counts: list[float] = []
    repeats: list[int] = []
    classes = 0
    for term in text.split(","):
        match = _TERM.match(term)
        if match is None:
            expected = "counts such as 5000*5,50*5 (five classes of 5000 examples, five of 50)"
            raise InputError(expected, f"{term.strip()!r} in {_shorten(text)!r}", "separate the counts by commas")
        times = 1
        if match["times"] is not None:
            if not re.fullmatch(r"\d{1,9}", match["times"]) or int(match["times"]) == 0:
                raise InputError("a whole number of classes after *", repr(term.strip()), "write for example 5000*5")
            times = int(match["times"])
        classes += times
        if classes > MOST_CLASSES:
            raise InputError(f"at most {MOST_CLASSES:,} classes", f"more, at {term.strip()!r}")
        counts.append(_number(match["count"]))
        repeats.append(times)
    return np.repeat(np.array(counts), repeats)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError("a number of examples", repr(_shorten(text)), "write for example 5000*5,50*5") from None


def _is_number(text: str) -> bool:
    return is_number(text.partition("*")[0])


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _checked(values: Iterable[float], names: Sequence[str] | None, at_least_two: bool) -> ClassCounts:
    if isinstance(values, np.ndarray) and values.dtype.kind == "c":
        raise InputError("one number of examples per class", "complex numbers", "give a flat list of numbers")
    try:
        values = values if isinstance(values, np.ndarray) else list(values)
        counts = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        expected = "one number of examples per class"
        raise InputError(expected, _shorten(repr(values)), "give a flat list of numbers") from None
    if counts.ndim != 1:
        raise InputError("one number of examples per class", f"shape {counts.shape}", "give a flat list of numbers")
    least = 2 if at_least_two else 1
    if counts.size < least:
        raise InputError(f"at least {least} classes", counts.size)
    bad = ~((counts >= LEAST_COUNT) & (counts <= LARGEST_COUNT))
    if bad.any():
        first = int(bad.argmax())
        who = "" if names is None else f" ({names[first]})"
        usual = "leave out classes without examples" if counts[first] <= 0 else f"give at most {LARGEST_COUNT:g}"
        got = f"{counts[first]:g} for class {first}{who}"
        raise InputError("a positive number of examples in every class", got, usual)
    return ClassCounts(counts, None if names is None else tuple(names))
