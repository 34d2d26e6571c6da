"""Codes and names of labels are those of np.unique, by counting or by sorting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
