"""Codes and names of labels are those of np.unique, by counting or by sorting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lopsided.core.errors import InputError
from lopsided.core.validation import check_labels


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float64])
@given(labels=st.lists(st.integers(0, 100), min_size=1, max_size=40))
def test_small_whole_numbers(labels, kind) -> None:
    codes, names = check_labels(np.array(labels, dtype=kind))
    distinct, expected = np.unique(labels, return_inverse=True)
    assert codes.tolist() == expected.tolist()
    assert names == [str(label) for label in distinct.tolist()]


@pytest.mark.parametrize("labels", [[-3, 5, -3], [10**12, 0, 10**12], [True, False, True], ["b", "a", "b"]])
def test_others_are_sorted(labels) -> None:
    codes, names = check_labels(labels)
    assert [names[code] for code in codes] == [str(label) for label in labels]
    assert names == [str(label) for label in np.unique(labels).tolist()]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "longdouble"])
def test_floats_of_any_width_are_labels_if_whole(kind) -> None:
    codes, names = check_labels(np.array([2, 1, 2], dtype=kind))
    assert codes.tolist() == [1, 0, 1]
    assert names == ["1", "2"]


@pytest.mark.filterwarnings("error")
def test_what_float64_cannot_hold_is_refused() -> None:
    huge = np.array([1, 2], dtype=np.longdouble) * np.longdouble("1e400")
    with pytest.raises(InputError, match="infinite"):
        check_labels(huge)
