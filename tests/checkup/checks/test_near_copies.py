"""Near copies: found where planted, compared with all pairs by brute force, and silent where rows are crowded."""

import numpy as np
import pytest

import lopsided
from lopsided.checkup.checks.near_duplicates import FRACTION, NEAR, near_pairs
from lopsided.checkup.inputs.gather import gather

CHECK = ["near_duplicates"]


def planted(random, rows, width, copies, noise):
    """Gaussian rows in half as many directions as columns; the first test rows are noisy copies of training rows."""
    features = random.standard_normal((rows, max(width // 2, 1))) @ random.standard_normal((max(width // 2, 1), width))
    features = features / features.std(axis=0) + 0.3 * random.standard_normal((rows, width))
    test = np.arange(rows) >= 0.7 * rows
    first = int(np.flatnonzero(test)[0])
    features[first : first + copies] = features[:copies] + noise * features.std() * random.standard_normal(
        (copies, width)
    )
    return features, test, first


@pytest.mark.parametrize("width", [4, 12, 100])
def test_pairs_are_those_of_brute_force(width) -> None:
    """Every pair named is near by definition; of the near ones at most one in a hundred is missed (see near_copies)."""
    random = np.random.default_rng(width)
    features, test, _ = planted(random, 900, width, 200, 0.01)
    evidence = gather(features, split=test)
    found = near_pairs(evidence, np.arange(900), np.random.default_rng(1))
    scale = np.sqrt(np.mean(features[~test].std(axis=0) ** 2))
    gaps = (features[:, None] - features[None]) / scale
    distance = np.sqrt(np.square(gaps).mean(axis=2))
    expected = {(i, j) for i, j in np.argwhere(distance <= found.threshold) if i < j}
    named = {(int(i), int(j)) for i, j in found.pairs}
    assert named <= expected
    assert len(expected - named) <= 0.01 * len(expected)
    assert len(expected) >= 150
    assert found.threshold <= NEAR
    assert found.threshold <= FRACTION * found.usual
    assert not found.crowded


def test_noisy_copies_across_the_split_are_named() -> None:
    random = np.random.default_rng(2)
    features, test, first = planted(random, 600, 10, 5, 0.005)
    labels = np.arange(600) % 3
    labels[first : first + 5] = labels[:5]
    labels[first] = (labels[0] + 1) % 3
    found = lopsided.audit(features, labels=labels, split=test, checks=CHECK)
    by_subject = {one.subject: one for one in found.findings}
    assert by_subject["test rows"].level.value == "failing"  # 5 of 180
    assert set(by_subject["test rows"].examples) == set(range(first, first + 5))
    assert set(by_subject["labels of near rows"].examples) == {0, first}
    exact = lopsided.audit(features, labels=labels, split=test, checks=["duplicates"])
    assert exact.measures["duplicates"]["test_rows_in_training"] == 0


def test_equal_rows_are_left_to_the_exact_check() -> None:
    random = np.random.default_rng(3)
    features, test, first = planted(random, 600, 10, 5, 0.0)
    features[first + 1] += 0.001
    found = lopsided.audit(features, split=test, checks=CHECK)
    assert found.findings[0].examples == (first + 1,)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_crowded_rows_raise_no_alarm(width) -> None:
    for seed in range(5):
        random = np.random.default_rng([width, seed])
        features, labels = random.standard_normal((3000, width)), random.integers(0, 2, 3000)
        found = lopsided.audit(features, labels=labels, split=random.random(3000) < 0.3, checks=CHECK)
        assert found.passed("at risk")


def test_rows_that_differ_in_words_are_no_copies() -> None:
    import pandas as pd

    random = np.random.default_rng(4)
    features, test, first = planted(random, 400, 8, 4, 0.005)
    frame = pd.DataFrame(features, columns=[f"x{place}" for place in range(8)])
    frame["job"] = "a"
    frame.loc[first, "job"] = "b"
    found = lopsided.audit(frame, split=test, checks=CHECK)
    assert set(found.findings[0].examples) == {first + 1, first + 2, first + 3}
