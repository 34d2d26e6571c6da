"""Folds that keep rows together, follow time or are given, against scikit-learn and by their definition."""

import numpy as np
import pytest
from sklearn.model_selection import (
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    TimeSeriesSplit,
)

from lopsided.core.errors import InputError
from lopsided.core.folds import Design, deal, dealt, folds_of, given_folds


def customers(seed=0):
    """Customers of one to nine rows; a third of the rows are of class 1, which some customers have more of."""
    random = np.random.default_rng(seed)
    together = np.repeat(np.arange(120), random.integers(1, 10, 120))
    taste = random.beta(0.5, 1.0, 120)[together]
    return together, (random.random(together.size) < taste).astype(np.int64)


def test_without_a_design_the_examples_are_dealt() -> None:
    _, codes = customers()
    found = folds_of(codes, None, Design(), 5, 3, 1)
    np.testing.assert_array_equal(found.fold, deal(codes, None, 5, 3, 1))
    np.testing.assert_array_equal(found.inside(2), found.fold != 2)


def test_a_deal_holds_every_class_and_group_evenly() -> None:
    codes, groups = np.repeat([0, 1, 2], [10, 7, 4]), np.tile([0, 1, 1], 7)
    for fold in (dealt(np.random.default_rng(0), 3, codes), dealt(np.random.default_rng(0), 3, codes, groups)):
        for k in range(3):
            sizes = np.bincount(fold[codes == k], minlength=3)
            assert sizes.max() - sizes.min() <= 1
    cells = [np.bincount(fold[(codes == k) & (groups == g)], minlength=3) for k in range(3) for g in range(2)]
    assert all(sizes.max() - sizes.min() <= 1 for sizes in cells)


def imbalance(fold, codes) -> float:
    """The largest share by which a fold misses a fifth of a class."""
    return max(abs(np.mean(fold[codes == code] == number) - 0.2) for code in (0, 1) for number in range(5))


@pytest.mark.parametrize("seed", range(3))
def test_customers_stay_whole_and_folds_as_even_as_those_of_scikit_learn(seed) -> None:
    together, codes = customers(seed)
    fold = folds_of(codes, None, Design(together=together), 5, seed).fold
    for customer in np.unique(together):
        assert np.unique(fold[together == customer]).size == 1
    theirs = np.empty_like(fold)
    splitter = StratifiedGroupKFold(5, shuffle=True, random_state=seed)
    for number, (_, test) in enumerate(splitter.split(codes, codes, together)):
        theirs[test] = number
    assert imbalance(fold, codes) <= max(imbalance(theirs, codes), 0.02)  # a customer of 9 rows is 0.04 of a class
    other = folds_of(codes, None, Design(together=together), 5, seed, 1).fold
    assert (fold != other).any()


def test_names_of_customers_do_not_matter() -> None:
    together, codes = customers()
    again = folds_of(codes, None, Design(together=together * 7 + 3), 5, 0).fold
    np.testing.assert_array_equal(folds_of(codes, None, Design(together=together), 5, 0).fold, again)


def test_time_is_the_expanding_window_of_scikit_learn() -> None:
    time = np.random.default_rng(0).permutation(60)
    order = np.argsort(time)
    dealt = folds_of(np.zeros(60, dtype=np.int64), None, Design(time=time), 5, 0)
    for number, (train, test) in enumerate(TimeSeriesSplit(5).split(np.zeros(60))):
        assert set(np.flatnonzero(dealt.fold == number)) == set(order[test])
        assert set(np.flatnonzero(dealt.inside(number))) == set(order[train])
    assert (dealt.fold == -1).sum() == 10


def test_one_time_is_in_one_block_and_the_tested_are_not_trained_on() -> None:
    time, together = np.repeat(np.arange(12), 10), np.tile(np.arange(10), 12)
    dealt = folds_of(np.zeros(120, dtype=np.int64), None, Design(time=time), 3, 0)
    for number in range(3):
        assert time[dealt.inside(number)].max() < time[dealt.fold == number].min()
    both = folds_of(np.zeros(120, dtype=np.int64), None, Design(together=together // 9 * 9 + time % 2, time=time), 3, 0)
    for number in range(3):
        codes = together // 9 * 9 + time % 2
        assert not set(codes[both.inside(number)]) & set(codes[both.fold == number])
    same = Design(time=np.zeros(30, dtype=np.int64))
    assert (folds_of(np.zeros(30, dtype=np.int64), None, same, 3, 0).fold >= 0).all()


def test_splits_of_a_splitter_are_repeats_and_folds() -> None:
    codes = np.arange(40) % 2
    splits = list(RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=0).split(codes, codes))
    given = given_folds(splits, 40)
    assert given.shape == (3, 4, 40)
    for place, (train, test) in enumerate(splits):
        dealt = folds_of(codes, None, Design(given=given), 4, 0, place // 4)
        assert set(np.flatnonzero(dealt.inside(place % 4))) == set(train)
        assert set(np.flatnonzero(dealt.fold == place % 4)) == set(test)
    masks = [(~(np.arange(40) % 4 == number), np.arange(40) % 4 == number) for number in range(4)]
    assert given_folds(masks, 40).shape == (1, 4, 40)


@pytest.mark.parametrize(
    ("splits", "sentence"),
    [
        (ShuffleSplit(5, random_state=0).split(np.zeros(40)), "RepeatedStratifiedKFold"),
        ([([0, 1], [1, 2])], "1 rows on both sides"),
        ([([0, 1], [])], "an empty split 1"),
        ([([0, 1], [99])], "positions among 40 rows"),
        ([3], "pairs"),
        ([], "splits that test"),
        ([*KFold(2).split(np.zeros(40)), *KFold(4).split(np.zeros(40))], "same rows in every repeat"),
    ],
)
def test_splits_that_cannot_be_used_are_refused(splits, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        given_folds(splits, 40)


def test_a_part_keeps_its_design() -> None:
    design = Design(np.arange(4), np.arange(4) * 2, np.arange(4.0), np.zeros((1, 2, 4), dtype=np.int8))
    part = design.at(np.array([3, 1, 1]))
    assert {name: array.tolist() for name, array in part.arrays().items()} == {
        "together": [3, 1, 1],
        "time": [6, 2, 2],
        "weights": [3.0, 1.0, 1.0],
    }
