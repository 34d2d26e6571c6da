"""Hypothesis strategies for what people pass to functions: right things, nearly right things, anything."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.faults.hostile_arrays import WICKED_NAMES

NUMBERS = st.one_of(
    st.floats(),
    st.integers(-3, 12),
    st.sampled_from([0.5, 1.0, 5.0, 1e-5, 5e-4, 1e150, 1e-150, 1e308, float("nan"), float("inf"), 10**400, True]),
)
TEXT = st.one_of(st.text(max_size=8), st.sampled_from(WICKED_NAMES))
ARRAYS = hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))


@st.composite
def object_arrays(draw: st.DrawFn) -> np.ndarray:
    entries = draw(st.lists(st.one_of(NUMBERS, TEXT, st.none(), st.lists(st.integers(), max_size=2)), max_size=8))
    array = np.empty(len(entries), dtype=object)
    for place, entry in enumerate(entries):
        array[place] = entry
    return array


class Odd:
    """An object that fits nowhere, with a repr of its own for the record."""

    def __repr__(self) -> str:
        return "Odd()"


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    NUMBERS,
    TEXT,
    st.binary(max_size=6),
    ARRAYS,
    object_arrays(),
    st.complex_numbers(),
    st.dates(),
    st.lists(st.one_of(NUMBERS, TEXT, st.none()), max_size=6),
    st.lists(st.lists(NUMBERS, max_size=3), max_size=4),
    st.dictionaries(st.one_of(TEXT, st.integers()), st.one_of(NUMBERS, ARRAYS), max_size=3),
    st.sets(st.integers(), max_size=3),
    st.builds(Odd),
    st.builds(lambda n: range(n), st.integers(0, 6)),
    st.builds(lambda n: iter([n]), st.integers(0, 6)),
    st.builds(lambda rows: np.ma.masked_array(np.arange(rows), mask=np.arange(rows) == 1), st.integers(0, 5)),
)


def mostly(usual: st.SearchStrategy[Any], share: int = 6) -> st.SearchStrategy[Any]:
    """The usual value, and one time in `share` anything at all."""
    return st.integers(0, share - 1).flatmap(lambda place: ANYTHING if place == 0 else usual)


def matrices(rows: int, columns: st.SearchStrategy[int]) -> st.SearchStrategy[Any]:
    """Features: numbers of some scale with ties, as array, list, frame or tensor."""
    return st.builds(
        _matrix, st.just(rows), columns, st.integers(0, 9), st.sampled_from(_SCALES), st.sampled_from(_KINDS)
    )


_SCALES = (1.0, 1.0, 1.0, 0.0, 1e-160, 1e160, 1e40, 1e-40)
_KINDS = (
    "array",
    "array",
    "float32",
    "list",
    "pandas",
    "polars",
    "tensor",
    "strided",
    "readonly",
    "int",
    "bool",
    "float16",
    "sparse",
    "sparse with NaN",
    "twice",
    "words",
    "gaps",
)


def _matrix(rows: int, columns: int, seed: int, scale: float, kind: str) -> Any:
    random = np.random.default_rng(seed)
    values = np.round(random.normal(size=(rows, columns)), 1) * scale
    if kind == "float32":
        with np.errstate(over="ignore"):
            return values.astype(np.float32)
    if kind == "float16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16)
    if kind == "list":
        return values.tolist()
    if kind == "strided":
        return np.repeat(values, 2, axis=0)[::2]
    if kind == "readonly":
        values.flags.writeable = False
        return values
    if kind == "int":
        return np.clip(values, -1e9, 1e9).astype(np.int32)
    if kind == "bool":
        return values > 0
    if kind.startswith("sparse"):
        from scipy.sparse import csr_array

        values[:1, :1] = np.nan if kind == "sparse with NaN" else 0.0
        return csr_array(values)
    if kind == "gaps":
        values[::3, :1] = np.nan
        return values
    if kind in ("twice", "words"):
        import pandas

        named = pandas.DataFrame(values, columns=["x" if kind == "twice" else f"x{place}" for place in range(columns)])
        return named if kind == "twice" else named.assign(kind=["a", None, "ccc"] * (rows // 3) + ["d"] * (rows % 3))
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(values, columns=[f"x{place}" for place in range(columns)])
    if kind == "polars":
        import polars

        return polars.DataFrame(values, schema=[f"x{place}" for place in range(columns)])
    if kind == "tensor":
        import torch

        return torch.from_numpy(values)
    return values


def labels(rows: int) -> st.SearchStrategy[Any]:
    """One per row: numbers, words, few or many classes, in some container."""
    return st.builds(
        _labels, st.just(rows), st.integers(1, 5), st.sampled_from(("int", "word", "list", "float", "object"))
    )


def _labels(rows: int, classes: int, kind: str) -> Any:
    codes = (np.arange(rows) ** 2) % 7 % classes  # unequal sizes
    if kind == "word":
        return np.array(WICKED_NAMES[:5])[codes]
    if kind == "list":
        return codes.tolist()
    if kind == "float":
        return codes.astype(float)
    if kind == "object":
        return np.array([f"class {code}" for code in codes], dtype=object)
    return codes
