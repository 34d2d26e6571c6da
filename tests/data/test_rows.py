"""Taking rows keeps type, dtypes and repeats, whatever holds the rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array, csr_matrix

from lopsided.core.partition import Partition
from lopsided.data.labelled_set import LabelledSet
from lopsided.data.rows import take

INDEX = np.array([3, 0, 0, 2])
FRAME = pd.DataFrame(
    {
        "n": pd.array([1, None, 3, 4], dtype="Int64"),
        "word": pd.Categorical(["a", "b", None, "a"], categories=["b", "a", "z"], ordered=True),
        "day": pd.to_datetime(["2024-01-01", None, "2024-02-01", "2024-03-05"]),
        "x": [0.5, np.nan, 2.0, 3.0],
    },
    index=[10, 10, 7, 5],
)


def test_take_from_frames() -> None:
    pd.testing.assert_frame_equal(take(FRAME, INDEX), FRAME.iloc[[3, 0, 0, 2]])
    polars = pl.from_pandas(FRAME.reset_index(drop=True))
    assert take(polars, INDEX).equals(polars.select(pl.all().gather([3, 0, 0, 2])))
    arrow = pa.Table.from_pandas(FRAME, preserve_index=False)
    assert take(arrow, INDEX).to_pylist() == [arrow.to_pylist()[at] for at in INDEX]
    assert take(arrow, INDEX).schema == arrow.schema


@pytest.mark.parametrize("kind", [np.asarray, csr_array, csr_matrix])
def test_take_from_matrices(kind: type) -> None:
    dense = np.arange(12.0).reshape(4, 3)
    found = take(kind(dense), INDEX)
    assert type(found) is type(kind(dense))
    np.testing.assert_array_equal(found if kind is np.asarray else found.toarray(), dense[INDEX])


def test_a_labelled_set_takes_rows_of_a_frame() -> None:
    known = Partition("class", np.array([0, 1, 0, 1]), ("a", "b"))
    part = LabelledSet(np.arange(4), known, None, FRAME).subset(INDEX)
    pd.testing.assert_frame_equal(part.features, FRAME.iloc[INDEX])
    assert part.classes.codes.tolist() == [1, 0, 0, 0]
