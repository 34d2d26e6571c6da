"""Tables over data frames in memory: pandas, Polars, Arrow, or anything else that exports an Arrow stream.

Arrow reads frames, so their own packages are never imported. `frame_of` turns results into a frame.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lopsided.core.errors import InputError
from lopsided.data.arrow_tables import table_over_arrow
from lopsided.data.csv_file import check_distinct
from lopsided.data.tables import ColumnChoice, Table

UNNAMED = "the frame"  # a data set that came without a name


def is_frame(value: Any) -> bool:
    """Does it have named columns that Arrow can read? (A series has not; a lazy frame has, once collected.)"""
    return _is_lazy(value) or (hasattr(value, "__arrow_c_stream__") and hasattr(value, "columns"))


def _is_lazy(value: Any) -> bool:
    return type(value).__name__ == "LazyFrame" and hasattr(value, "collect")


def frame_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A pandas frame if pandas is installed, otherwise the rows unchanged."""
    try:
        import pandas
    except ImportError:
        return list(rows)
    return pandas.DataFrame(rows)


def frame_columns(frame: Any) -> list[str]:
    """The names of its columns; those of a lazy frame without computing it."""
    names = frame.collect_schema().names() if _is_lazy(frame) else frame.columns
    return [str(name) for name in names]


def frame_table(frame: Any, choice: ColumnChoice) -> Table:
    """A table over a frame, as over a csv file."""
    frame = frame.collect() if _is_lazy(frame) else frame
    return table_over_arrow(arrow_of_frame(frame), UNNAMED, choice, frame)


def arrow_of_frame(frame: Any) -> Any:
    """The frame as an Arrow table; a pandas index is not a column."""
    import pyarrow as pa

    if _is_lazy(frame):
        frame = frame.collect()
    names = [str(name) for name in (frame.column_names if isinstance(frame, pa.Table) else frame.columns)]
    check_distinct(names, UNNAMED)
    try:
        if type(frame).__module__.partition(".")[0] == "pandas":
            frame = frame.rename(columns=str) if not all(isinstance(name, str) for name in frame.columns) else frame
            table = pa.Table.from_pandas(_spans_as_words(frame), preserve_index=False)
        else:
            table = frame if isinstance(frame, pa.Table) else pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        got = f"one that Arrow cannot convert: {first}"
        raise InputError("a frame whose columns hold one type each", got, "convert the column to one type") from None
    return table


def _spans_as_words(frame: Any) -> Any:
    """A pandas frame whose intervals (as of `pandas.cut`) and periods are words, because Arrow casts neither."""
    spans = [
        place
        for place, dtype in enumerate(frame.dtypes)
        if str(getattr(getattr(dtype, "categories", dtype), "dtype", dtype)).startswith(("interval", "period"))
    ]
    if not spans:
        return frame
    words = {frame.columns[place]: frame.iloc[:, place].astype(object).map(str, na_action="ignore") for place in spans}
    return frame.assign(**words)
