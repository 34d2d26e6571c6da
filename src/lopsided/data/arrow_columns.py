"""One Arrow column as a NumPy array of numbers or words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.data.time_words import time_words


def column_values(chunked: Any) -> NDArray[Any]:
    """Numbers as they are, words as fixed-width strings, times as words; missing values stay None or NaN."""
    import pyarrow as pa
    from pyarrow import compute, types

    if types.is_dictionary(chunked.type):  # categories
        kind = chunked.type.value_type
        kind = pa.string() if kind == pa.string_view() else kind  # Polars' words, which Arrow cannot take from
        chunks = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in chunked.chunks]
        chunked = pa.chunked_array(chunks, type=kind)
    if types.is_timestamp(chunked.type) and chunked.type.tz is not None:
        chunked = compute.local_timestamp(chunked)  # the day that the user's clock shows
    if types.is_timestamp(chunked.type) or types.is_date(chunked.type):
        return time_words(chunked.to_numpy().astype("M8"))
    if types.is_temporal(chunked.type):
        return np.array([None if cell is None else str(cell) for cell in chunked.to_pylist()])
    whole = chunked.null_count == 0
    values: NDArray[Any] = chunked.to_numpy() if whole else np.array(chunked.to_pylist(), dtype=object)
    if values.dtype == object and whole and all(isinstance(value, str) for value in values):
        return values.astype(np.str_)
    return values
