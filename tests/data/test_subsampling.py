"""Class sizes and which examples are kept."""

import numpy as np
import pytest
from bench.mend import long_tail_counts
from hypothesis import given
from hypothesis import strategies as st

from lopsided.core.errors import InputError
from lopsided.data.subsampling import subsample, two_size_counts

LABELS = np.arange(1000) % 10


def test_profiles() -> None:
    assert two_size_counts(3, 7, 5000, 1000).tolist() == [5000] * 3 + [5] * 7
    assert two_size_counts(2, 1, 300, float("inf")).tolist() == [300, 300, 0]
    assert two_size_counts(1, 1, 30, 1e9).tolist() == [30, 1]
    counts = long_tail_counts(100, 500, 100)
    assert (int(counts[0]), int(counts[-1]), int(counts.sum())) == (500, 5, 10847)  # the published CIFAR-100-LT


@given(seed=st.integers(0, 10**6), counts=st.lists(st.integers(0, 100), min_size=10, max_size=10))
def test_samples_have_their_sizes_and_are_nested(seed, counts) -> None:
    chosen = subsample(LABELS, counts, seed)
    assert np.bincount(LABELS[chosen], minlength=10).tolist() == counts
    assert len(set(chosen.tolist())) == sum(counts)
    fewer = subsample(LABELS, [count // 3 for count in counts], seed)
    assert set(fewer.tolist()) <= set(chosen.tolist())


def test_seeds_choose_others() -> None:
    first, second = (set(subsample(LABELS, [50] * 10, seed).tolist()) for seed in (0, 1))
    assert 0.35 < len(first & second) / 500 < 0.65  # half of each class at random: 0.5, standard error 0.016


def test_mistakes() -> None:
    with pytest.raises(InputError, match="101 examples of class 2"):
        subsample(LABELS, [1, 1, 101], 0)
    with pytest.raises(InputError, match="coded"):
        subsample(["a", "b"], [1, 1], 0)
    with pytest.raises(InputError, match="imbalance ratio"):
        two_size_counts(1, 1, 10, -1.0)
