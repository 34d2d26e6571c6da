"""Columns of a table: what each holds, which are used, and why the others are not."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lopsided.core.errors import cut
from lopsided.core.validation import BoolArray

DISTINCT = 0.95  # words of which this share are different in every row name the rows
FEWEST_ROWS = 20  # with fewer, all may differ by chance
MOST_CATEGORIES = 40  # different words that get a column each
FREE_TEXT = 3.0  # words in an entry: sentences differ in every row too, and say something
_MOST_NAMED = 12
_LONG_BYTES = 1000  # of an entry on average
_NUMBER = r"^[+-]?(0|[1-9][0-9]*)?([.][0-9]+)?([eE][+-]?[0-9]+)?$"  # no leading zeros: those are codes
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?P<zone>Z|[+-]\d\d:?\d\d)?)?")


@dataclass(frozen=True)
class Columns:
    """Which columns a result used. `used` are names (of an unnamed matrix the name of the array, `width` columns wide),
    `ignored` names with the reason, `roles` what other columns are used for, such as {"label": ["income"]}."""

    used: tuple[str, ...] = ()
    ignored: tuple[tuple[str, str], ...] = ()
    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    width: int | None = None

    def sentence(self) -> str:
        """`18 of 20 columns; label `credit`; not used: `id` (it looks like a row number).`"""
        if self.width is not None:
            used = f"{self.width:,} of {self.width:,} columns of `{cut(self.used[0])}`"
        elif not self.used and not self.ignored:
            used = "No columns of features"
        else:
            used = f"{len(self.used):,} of {len(self.used) + len(self.ignored):,} columns"
        roles = [
            f"{role} {cut(', '.join(f'`{name}`' for name in names))}" for role, names in self.roles.items() if names
        ]
        reasons: dict[str, list[str]] = {}
        for name, why in self.ignored:
            reasons.setdefault(why, []).append(f"`{name}`")
        left = [f"{cut(some_of(names, _MOST_NAMED))} ({why})" for why, names in reasons.items()]
        return "; ".join([used, *roles, *([f"not used: {', '.join(left)}"] if left else [])]) + "."

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names that scripts rely on."""
        return {"used": list(self.used), "ignored": [{"name": name, "why": why} for name, why in self.ignored]}


def some_of(names: Sequence[str], most: int = 6) -> str:
    """The names, or the first of many and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def is_words(kind: Any) -> bool:
    """Is it an Arrow type of words, or of categories of any kind?"""
    from pyarrow import types

    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_dictionary(kind)
    )


def is_number(kind: Any) -> bool:
    """Is it an Arrow type of numbers or booleans?"""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def is_list(kind: Any) -> bool:
    """Is it an Arrow type of lists?"""
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def gaps(column: Any) -> BoolArray:
    """Which entries of an Arrow column are missing: empty cells and NaN."""
    from pyarrow import types

    if column.null_count == 0:
        whole = not types.is_floating(column.type)
        return np.zeros(len(column), dtype=bool) if whole else np.isnan(np.asarray(column))
    return np.asarray(column.is_null(nan_is_null=True), dtype=bool)


def decoded(column: Any) -> Any:
    """An Arrow column of categories as one of the values themselves, and of bytes as words; others as they are."""
    import pyarrow as pa
    from pyarrow import types

    if not types.is_dictionary(column.type):
        return readable(column.cast(pa.string()) if types.is_string_view(column.type) else column)
    kind = column.type.value_type
    kind = pa.string() if kind == pa.string_view() else kind  # Polars' words, which Arrow cannot take from
    return pa.chunked_array([chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks], type=kind)


def readable(column: Any) -> Any:
    """An Arrow column of bytes as one of strings, with `\\xe9` for what is not UTF-8. Parquet files of some systems
    and csv files in other encodings have words as bytes. Other columns, and long bytes (pictures), stay as they are."""
    import pyarrow as pa
    from pyarrow import types

    if not (types.is_binary(column.type) or types.is_large_binary(column.type)):
        return column
    if column.nbytes > _LONG_BYTES * max(len(column), 1):
        return column
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        words = [None if cell is None else cell.decode("utf-8", "backslashreplace") for cell in column.to_pylist()]
        return pa.chunked_array([words], type=pa.string())


def typed(column: Any) -> Any:
    """Converts an Arrow column of text that is all numbers, or all dates or times in ISO 8601, to numbers or times;
    other columns do not change. Frames from csv or JSON often contain such columns. Codes such as 007 stay text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not is_words(column.type):
        return column
    filled = text(column).drop_null()
    if len(filled) == 0:
        return column
    shape = _ISO.fullmatch(filled[0].as_py())
    try:
        if shape is not None:
            return text(column).cast(pa.timestamp("us", "UTC" if shape["zone"] else None))
        if pc.all(pc.match_substring_regex(filled, _NUMBER)).as_py():
            return text(column).cast(pa.float64())
    except pa.ArrowInvalid:
        return column
    return column


def text(column: Any) -> Any:
    """An Arrow column of words or categories as one of strings."""
    import pyarrow as pa

    return decoded(column).cast(pa.string())


def unusable(column: Any) -> str | None:
    """Why an Arrow column cannot be a feature; None if it can."""
    from pyarrow import types

    if types.is_null(column.type) or gaps(column).all():
        return "it is empty"
    if types.is_nested(column.type):
        return "it contains lists or records"
    if is_words(column.type) or is_number(column.type) or types.is_temporal(column.type):
        return None
    return f"it contains values of type {column.type}"


def useless(column: Any) -> str | None:
    """Why an Arrow column is useless to a learner: it cannot be used, is constant, or identifies rows."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    why = unusable(column)
    if why is not None:
        return why
    rows, missing = len(column), int(gaps(column).sum())
    if is_words(column.type):
        filled = decoded(column).drop_null()
        distinct = pc.count_distinct(filled).as_py()
        own = rows - missing >= FEWEST_ROWS and distinct >= DISTINCT * (rows - missing)
        if own and np.mean([len(entry.split()) for entry in text(filled.slice(0, 1000)).to_pylist()]) < FREE_TEXT:
            return "it looks like an identifier: nearly every row has a different value"
        constant = distinct == 1
    elif types.is_temporal(column.type):
        constant = pc.count_distinct(column).as_py() == 1
    else:
        ends = pc.min_max(column.cast(pa.float32()) if types.is_float16(column.type) else column)
        constant = ends["min"].equals(ends["max"])
        span = ends["max"].as_py() - ends["min"].as_py() if types.is_integer(column.type) and not missing else 0
        if rows >= FEWEST_ROWS and span == rows - 1 and pc.count_distinct(column).as_py() == rows:
            return "it looks like a row number"
    return "it has the same value in every row" if constant and missing == 0 else None
