"""Rows of any kind: a float matrix, a SciPy sparse matrix (CSR), or a pandas, Polars or Arrow frame, dtypes kept.

None of their packages is imported: a frame is recognised by its methods.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.validation import FloatArray, IntArray, check_finite, check_matrix

Rows = Any  # an array of shape (n, p), a CSR matrix, or a frame of n rows


def take(features: Rows, index: IntArray) -> Rows:
    """The rows at these positions (again and again where one comes again), in the type that they came in."""
    if hasattr(features, "iloc"):  # pandas
        return features.iloc[index]
    return features.take(index) if hasattr(features, "column_names") else features[index]  # Arrow; all others


def select(features: Rows, names: Sequence[str]) -> Rows:
    """Some columns of a frame, in its own type; names that are no words count as written."""
    wanted = set(names)
    if hasattr(features, "iloc"):
        return features.loc[:, [str(name) in wanted for name in features.columns]]
    own = features.column_names if hasattr(features, "column_names") else features.columns
    return features.select([name for name in own if name in wanted])


def as_rows(value: Any, name: str) -> Rows:
    """Rows of any kind as users give them: a frame (a lazy one is collected), a sparse matrix as CSR, else an array of
    floats in which NaN stands for a missing value."""
    if type(value).__name__ == "LazyFrame" and hasattr(value, "collect"):
        return value.collect()
    if hasattr(value, "__arrow_c_stream__") and hasattr(value, "columns"):
        return value
    if is_sparse(value):
        found = value.tocsr().astype(np.float64)
        check_finite(found.data, name)
        return found
    return check_matrix(value, name, gaps=True)


def width(features: Rows) -> int:
    """How many columns it has."""
    return int(features.shape[1])


def is_matrix(features: Rows) -> bool:
    """Is it a plain array, which arithmetic works on?"""
    return isinstance(features, np.ndarray)


def is_sparse(features: Rows) -> bool:
    """Is it one of SciPy's sparse matrices?"""
    return hasattr(features, "tocsr")


def stored(features: Rows) -> dict[str, NDArray[Any]]:
    """Plain arrays that hold it, equal for equal rows, each under a name that begins with `features`."""
    if is_matrix(features):
        return {"features": features}
    if is_sparse(features):
        shape = np.array(features.shape)
        return {f"features_{part}": getattr(features, part) for part in ("data", "indices", "indptr")} | {
            "features_shape": shape
        }
    import pyarrow as pa

    from lopsided.data.frames import arrow_of_frame

    table, sink = arrow_of_frame(features).combine_chunks(), pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    kind = np.array(type(features).__module__.partition(".")[0])
    return {"features_arrow": np.frombuffer(sink.getvalue(), dtype=np.uint8), "features_kind": kind}


def restored(arrays: Mapping[str, NDArray[Any]]) -> Rows:
    """The rows that `stored` made arrays of: a frame of the package that it came from, with its dtypes."""
    if "features" in arrays:
        return arrays["features"]
    if "features_data" in arrays:
        from scipy.sparse import csr_array

        parts = tuple(arrays[f"features_{part}"] for part in ("data", "indices", "indptr"))
        return csr_array(parts, shape=tuple(arrays["features_shape"].tolist()))
    import pyarrow as pa

    return _of_kind(pa.ipc.open_file(pa.py_buffer(arrays["features_arrow"])).read_all(), str(arrays["features_kind"]))


def numbers(features: Rows) -> FloatArray:
    """The columns of numbers (n x d, NaN where one is missing), which `with_numbers` puts back; a matrix as it is."""
    if is_matrix(features):
        return np.asarray(features)
    table, own = _numeric(features)
    found = [np.asarray(table.column(name).cast("float64").to_numpy(), dtype=np.float64) for name in own]
    return np.column_stack(found) if found else np.zeros((table.num_rows, 0))


def with_numbers(features: Rows, values: FloatArray) -> Rows:
    """The same rows with other numbers in those columns, rounded where they are whole ones."""
    if is_matrix(features):
        return values
    import pyarrow as pa

    table, own = _numeric(features)
    for name, column in zip(own, values.T, strict=True):
        place = table.column_names.index(name)
        kind = table.schema.field(place).type
        rounded = column if pa.types.is_floating(kind) else np.rint(column)
        table = table.set_column(place, table.schema.field(place), pa.array(rounded, from_pandas=True).cast(kind))
    return _of_kind(table, type(features).__module__.partition(".")[0])


def _numeric(frame: Rows) -> tuple[Any, list[str]]:
    """The frame in Arrow, and its columns of numbers by name."""
    import pyarrow as pa

    from lopsided.data.frames import arrow_of_frame

    table = arrow_of_frame(frame)
    return table, [one.name for one in table.schema if pa.types.is_floating(one.type) or pa.types.is_integer(one.type)]


def _of_kind(table: Any, kind: str) -> Rows:
    if kind == "polars":
        import polars

        return polars.from_arrow(table)
    return table.to_pandas() if kind == "pandas" else table
