"""Influence scores against the leave-one-out loop; streaming, merging and adding against the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.measure.class_moments import empty_moments, moments_of_blocks, split_by_class
from lopsided.measure.influence import class_scores, influence_scores, influence_scores_of_blocks

# The loop subtracts two numbers of the size of |cov|_F^2, so that is the scale of its own rounding; 1e-10 is the
# issue's.
RELATIVE = 1e-10


def by_the_loop(rows, convention):
    """Eq (10) as written: two covariance matrices for every example."""
    z = 1 if convention == "n-1" else 0

    def energy(points):
        centred = points - points.mean(axis=0)
        return np.square(centred.T @ centred / (len(points) - z)).sum()

    rows = np.asarray(rows, dtype=np.float64)
    whole = energy(rows)
    return np.array([whole - energy(np.delete(rows, i, axis=0)) for i in range(len(rows))]), whole


SHAPES = [(2, 3), (3, 1), (3, 5), (5, 5), (20, 40), (40, 20), (61, 20), (60, 20), (200, 3), (30, 1)]


# Two examples are declined under 1/(n-1), see below.
CASES = [(shape, convention) for shape in SHAPES for convention in ("n", "n-1") if (shape[0], convention) != (2, "n-1")]


@pytest.mark.parametrize(("shape", "convention"), CASES)
@pytest.mark.parametrize(
    "kind", ["normal", "far from zero", "duplicates", "constant columns", "all equal", "one outlier"]
)
def test_closed_form_is_the_loop(shape, convention, kind) -> None:
    random = generator(0, "influence", *shape, kind)
    rows = random.standard_normal(shape)
    if kind == "far from zero":
        rows += 1000.0
    elif kind == "duplicates":
        rows[1::2] = rows[0]
    elif kind == "constant columns":
        rows[:, ::2] = 7.0
    elif kind == "all equal":
        rows[:] = rows[0]
    elif kind == "one outlier":
        rows[-1] *= 1e4
    wanted, whole = by_the_loop(rows, convention)
    # Where leaving out an outlier removes nearly everything, the difference still has the scale of `whole`.
    np.testing.assert_allclose(
        class_scores(rows, convention), wanted, rtol=0, atol=RELATIVE * max(whole, 1e-20) + 1e-24
    )


@given(st.integers(0, 10**6), st.integers(3, 40), st.integers(1, 40))
def test_any_shape(seed, n, d) -> None:
    rows = generator(seed, "any").standard_normal((n, d)) * 3 + 1
    for convention in ("n", "n-1"):
        wanted, whole = by_the_loop(rows, convention)
        np.testing.assert_allclose(class_scores(rows, convention), wanted, rtol=0, atol=RELATIVE * whole)


def test_gram_and_covariance_agree_where_they_meet() -> None:
    rows = generator(0, "meet").standard_normal((31, 10))
    by_covariance, by_gram = class_scores(rows), class_scores(rows[:30])
    np.testing.assert_allclose(by_covariance, by_the_loop(rows, "n-1")[0], atol=1e-10 * 100)
    np.testing.assert_allclose(by_gram, by_the_loop(rows[:30], "n-1")[0], atol=1e-10 * 100)


def several_classes():
    random = generator(1, "classes")
    labels = np.array(["cat", "dog", "emu"])[random.choice(3, 300, p=[0.6, 0.35, 0.05])]
    return random.standard_normal((300, 7)).astype(np.float32) * 5 + 3, labels


def test_classes_are_scored_on_their_own() -> None:
    rows, labels = several_classes()
    found = influence_scores(rows, labels)
    assert found.names == ("cat", "dog", "emu")
    for name in found.names:
        wanted, whole = by_the_loop(rows[labels == name], "n-1")
        np.testing.assert_allclose(found.scores[labels == name], wanted, atol=RELATIVE * whole)
    ranks = found.rank_in_class()
    for name in found.names:
        own = labels == name
        assert sorted(ranks[own]) == list(range(1, own.sum() + 1))
        assert np.all(np.diff(found.scores[own][np.argsort(ranks[own])]) <= 0)
    high, low = found.extremes(1, 3)
    assert ranks[high].tolist() == [1, 2, 3]
    assert (labels[low] == "dog").all()
    assert ranks[low[0]] == (labels == "dog").sum()


def test_images_and_integers() -> None:
    images = generator(2, "images").integers(0, 256, (30, 4, 4)).astype(np.uint8)
    labels = np.arange(30) % 3
    np.testing.assert_allclose(
        influence_scores(images, labels).scores, influence_scores(images.reshape(30, 16).astype(float), labels).scores
    )


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_blocks_are_the_whole(size) -> None:
    rows, labels = several_classes()
    whole = influence_scores(rows, labels)

    def blocks():
        for start in range(0, len(rows), size):
            yield rows[start : start + size], whole.codes[start : start + size]

    found = influence_scores_of_blocks(blocks, whole.codes, whole.names, 7)
    # Scores of float32 data, all sums in float64: the scale is the largest squared covariance norm, about 5^4 * 7.
    np.testing.assert_allclose(found.scores, whole.scores, rtol=1e-9, atol=1e-9)


def test_adding_and_merging_examples() -> None:
    rows, labels = several_classes()
    whole = influence_scores(rows, labels)
    moments = empty_moments(3, 7)
    moments.add(rows[:100], whole.codes[:100])
    moments.add(rows[100:120], whole.codes[100:120])
    other = moments_of_blocks([(rows[120:], whole.codes[120:])], 3, 7)
    moments.merge(other)
    np.testing.assert_array_equal(moments.counts, np.bincount(whole.codes))
    for k in range(3):
        own = rows[whole.codes == k].astype(np.float64)
        np.testing.assert_allclose(moments.means[k], own.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(
            moments.scatters[k], (own - own.mean(0)).T @ (own - own.mean(0)), rtol=1e-10, atol=1e-9
        )
    found = influence_scores_of_blocks(lambda: [(rows, whole.codes)], whole.codes, whole.names, 7, moments=moments)
    np.testing.assert_allclose(found.scores, whole.scores, rtol=1e-9, atol=1e-9)


def test_float32_far_from_zero_is_accumulated_in_float64() -> None:
    random = generator(5, "float32")
    rows = (random.standard_normal((5000, 3)) + 4096.0).astype(np.float32)
    exact = rows.astype(np.float64)
    codes = np.zeros(5000, dtype=np.int64)
    moments = moments_of_blocks([(rows[i : i + 100], codes[i : i + 100]) for i in range(0, 5000, 100)], 1, 3)
    wanted = (exact - exact.mean(0)).T @ (exact - exact.mean(0))
    # float32 sums of squares near 1.7e7 would err by about 1 in 16; float64 with centred blocks keeps 10 digits.
    np.testing.assert_allclose(moments.scatters[0], wanted, rtol=1e-9, atol=1e-6)


def test_small_classes_are_declined_with_a_reason() -> None:
    rows = np.arange(12.0).reshape(6, 2) ** 2
    labels = np.array(["a", "a", "a", "b", "c", "c"])
    found = influence_scores(rows, labels)
    assert set(found.declined) == {"b", "c"}
    assert "one example" in found.declined["b"]
    assert "at least 3" in found.declined["c"]
    assert np.isnan(found.scores[3:]).all()
    assert np.isfinite(found.scores[:3]).all()
    assert found.rank_in_class()[3:].tolist() == [0, 0, 0]
    assert found.extremes(1, 2)[0].size == 0
    biased = influence_scores(rows, labels, convention="n")
    assert set(biased.declined) == {"b"}
    streamed = influence_scores_of_blocks(lambda: [(rows, found.codes)], found.codes, found.names, 2)
    assert streamed.declined == found.declined
    with pytest.raises(InputError, match="one example"):
        class_scores(rows[:1])


@pytest.mark.parametrize(
    ("features", "labels", "words"),
    [
        ([[1.0, np.nan], [2.0, 3.0]], [0, 0], "NaN"),
        ([[1.0, np.inf], [2.0, 3.0]], [0, 0], "infinite"),
        ([[1.0, 2.0]], [0, 1], "labels"),
        ([1.0, 2.0], [0, 1], "n x d"),
        ([["a", "b"], ["c", "d"]], [0, 1], "n x d"),
        (np.zeros((0, 3)), [], "non-empty"),
        ([[1.0, 2.0], [2.0, 3.0]], [0.5, 1.5], "class labels"),
    ],
)
def test_bad_input_is_one_sentence(features, labels, words) -> None:
    with pytest.raises(InputError, match=words):
        influence_scores(features, labels)


def test_blocks_must_belong_to_the_labels() -> None:
    rows, codes = np.zeros((4, 2)), np.array([0, 0, 1, 1])
    with pytest.raises(InputError, match="rows in the blocks"):
        influence_scores_of_blocks(lambda: [(rows[:2], codes[:2])], codes, ("a", "b"), 2)
    with pytest.raises(InputError, match="2 columns"):
        moments_of_blocks([(np.zeros((4, 3)), codes)], 2, 2)
    with pytest.raises(InputError, match="class codes"):
        moments_of_blocks([(rows, codes + 7)], 2, 2)
    with pytest.raises(InputError, match="GB"):
        empty_moments(1000, 100_000)
    with pytest.raises(InputError, match="convention"):
        class_scores(rows, "n-2")
    with pytest.raises(InputError, match="moments of shape"):
        empty_moments(2, 2).merge(empty_moments(2, 3))


@given(st.integers(0, 10**6), st.integers(4, 25), st.integers(1, 12))
def test_invariances(seed, n, d) -> None:
    """Shifts and rotations change nothing, scaling by s multiplies by s^4, reordering reorders."""
    random = generator(seed, "invariance")
    rows = random.standard_normal((n, d))
    scores = class_scores(rows)
    rotation = np.linalg.qr(random.standard_normal((d, d)))[0]
    order = random.permutation(n)
    scale = np.abs(scores).max() + np.square(np.cov(rows.T)).sum()
    # Each is the same sum of products of order 1 in another arrangement.
    np.testing.assert_allclose(class_scores(rows + 5.0), scores, atol=1e-10 * scale)
    np.testing.assert_allclose(class_scores(rows @ rotation), scores, atol=1e-10 * scale)
    np.testing.assert_allclose(class_scores(3.0 * rows), 81.0 * scores, atol=1e-8 * scale)
    np.testing.assert_allclose(class_scores(rows[order]), scores[order], atol=1e-10 * scale)


def test_a_block_of_no_rows_has_no_classes() -> None:
    assert list(split_by_class(np.zeros(0, dtype=np.int64))) == []


@pytest.mark.parametrize("most", [3, 70_000], ids=["sixteen bits", "more"])
def test_members_of_a_class_are_in_order(most: int) -> None:
    codes = generator(0, "codes", most).choice([0, most // 2, most - 1], 200)
    found = dict(split_by_class(codes))
    assert sorted(found) == np.unique(codes).tolist()
    for code, members in found.items():
        np.testing.assert_array_equal(members, np.flatnonzero(codes == code))


def test_moments_do_not_depend_on_the_order_in_memory() -> None:
    rows, codes = generator(0, "order").normal(size=(50, 4)), np.arange(50) % 3
    one, other = (moments_of_blocks([(block, codes)], 3, 4) for block in (rows, np.asfortranarray(rows)))
    np.testing.assert_allclose(one.scatters, other.scatters, rtol=1e-12, atol=1e-12)  # other orders of one sum
    np.testing.assert_allclose(one.means, other.means, rtol=1e-12)
