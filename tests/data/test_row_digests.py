"""Equal rows share a digest and others do not; repeats among digests are those among the rows."""

import numpy as np
import pytest
from numpy.typing import NDArray

from lopsided.data.row_digests import DigestFile, Digests, digest_numbers, empty_digests, repeats


def digests(rows: NDArray[np.floating] | NDArray[np.integer]) -> Digests:
    found = empty_digests(len(rows))
    digest_numbers(found, rows)
    return found


def grid(values: NDArray[np.floating], columns: int) -> NDArray[np.floating]:
    return np.stack(np.meshgrid(*[values] * columns, indexing="ij"), axis=-1).reshape(-1, columns)


@pytest.mark.parametrize(
    "rows",
    [
        grid(np.array([0.0, 1.0]), 16),
        grid(np.array([-1.0, 1.0]), 16),
        grid(np.arange(40.0), 3),
        grid(np.arange(40.0) / 10, 3),
        grid(np.arange(40.0), 3).astype(np.int64),
        np.arange(1e5)[:, None] * 1e-300,
    ],
    ids=["binary", "signs", "whole", "tenths", "integers", "tiny"],
)
def test_different_rows_differ_in_each_half_of_the_digest(rows: NDArray[np.floating]) -> None:
    found = digests(rows)
    # 65,536 rows share 64 random bits with a chance of 1e-10; a poor mixture of such regular rows shares them at once
    assert np.unique(found[:, 0]).size == np.unique(found[:, 1]).size == len(rows)


def test_equal_rows_share_a_digest_however_they_are_written() -> None:
    one = np.array([[0.0, np.nan, 2.0], [1.0, 2.0, 3.0]])
    other_nan = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
    other = np.array([[-0.0, other_nan, 2.0], [1.0, 2.0, 3.0]], order="F")
    np.testing.assert_array_equal(digests(one), digests(other))
    swapped = one[:, [1, 0, 2]]
    assert (digests(one) != digests(swapped)).all()


@pytest.mark.parametrize("values", [2, 6, 1000], ids=["all repeat", "some repeat", "none repeats"])
def test_repeats_are_those_of_a_plain_count(values: int) -> None:
    random = np.random.default_rng(values)
    rows = random.integers(0, values, (400, 4)).astype(float)
    training, codes = random.random(400) < 0.7, random.integers(0, 3, 400)
    alike: dict[bytes, list[int]] = {}
    for place, row in enumerate(rows):
        alike.setdefault(row.tobytes(), []).append(place)
    leaked = [row for own in alike.values() if training[own].any() for row in own if not training[row]]
    torn = [row for own in alike.values() if np.unique(codes[own]).size > 1 for row in own]
    kept = DigestFile(10_000_000)  # several buckets
    kept.add(digests(rows[:150]), 0, training[:150], codes[:150])
    kept.add(digests(rows[150:]), 150, training[150:], codes[150:])
    for found in (repeats(digests(rows), np.arange(400), training, codes), kept.repeats(labelled=True)):
        assert found.distinct == len(alike)
        assert found.distinct_training == sum(training[own].any() for own in alike.values())
        for listed, rows_of in ((found.leaked, leaked), (found.torn, torn)):
            assert (listed.count, listed.rows.tolist()) == (len(rows_of), sorted(rows_of)[:20])
    kept.close()
