"""Over- and undersampling and SMOTE beside imbalanced-learn's, and SMOTE's points by the definition."""

import importlib.util

import numpy as np
import pyarrow
import pytest
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.under_sampling import RandomUnderSampler
from scipy.sparse import csr_array

from lopsided.core.errors import MissingPackage
from lopsided.core.partition import Partition
from lopsided.data.frames import arrow_of_frame
from lopsided.data.labelled_set import LabelledSet
from lopsided.data.rows import numbers, take
from lopsided.remedies.contract import Occasion
from lopsided.remedies.half_way_oversampling import HalfWayOversampling
from lopsided.remedies.noisy_oversampling import NoisyOversampling
from lopsided.remedies.oversampling import Oversampling
from lopsided.remedies.pilot import run_pilot
from lopsided.remedies.smote import Smote
from lopsided.remedies.undersampling import Undersampling


def drawn_set(sizes=(120, 37, 9), seed=0) -> LabelledSet:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    features = np.random.default_rng(seed).normal(size=(codes.size, 3)) + codes[:, None]
    names = tuple("abcdef"[: len(sizes)])
    return LabelledSet(np.arange(codes.size), Partition("class", codes, names), None, features)


def proposed(kind, training):
    occasion = Occasion(training, run_pilot(training, 0), "balanced", {})
    return kind.propose(occasion)


@pytest.mark.parametrize(
    ("kind", "peer"), [(Oversampling, RandomOverSampler), (Undersampling, RandomUnderSampler), (Smote, SMOTE)]
)
def test_as_many_examples_as_with_imbalanced_learn(kind, peer) -> None:
    training = drawn_set()
    found = proposed(kind, training)[0][0].remedy.draw(training, 3)
    _, codes = peer(random_state=0).fit_resample(training.features, training.classes.codes)
    np.testing.assert_array_equal(found.classes.counts, np.bincount(codes))


def test_undersampling_takes_no_row_twice_and_other_rows_for_other_seeds() -> None:
    training = drawn_set()
    remedy = proposed(Undersampling, training)[0][0].remedy
    first, second = remedy.draw(training, 0).rows, remedy.draw(training, 1).rows
    assert np.unique(first).size == first.size == 27
    assert set(first[-9:]) == set(range(157, 166))  # all of the smallest class
    assert set(first) != set(second)


def test_half_way_is_the_geometric_mean_of_size_and_largest() -> None:
    training = drawn_set()
    found = proposed(HalfWayOversampling, training)[0][0].remedy.draw(training, 0).classes.counts
    np.testing.assert_array_equal(found, np.rint(np.sqrt(120.0 * training.classes.counts)))


def test_smote_points_lie_between_neighbours_of_their_class() -> None:
    training = drawn_set()
    found = proposed(Smote, training)[0][0].remedy.draw(training, 5)
    np.testing.assert_array_equal(found.features[: training.size], training.features)
    for code in (1, 2):
        own = training.features[training.classes.codes == code]
        gaps = np.linalg.norm(own[:, None] - own[None], axis=2)
        near = np.argsort(gaps, axis=1)[:, 1:6]
        starts, ends = np.repeat(own, 5, axis=0), own[near.ravel()]
        for point in found.features[training.size :][found.classes.codes[training.size :] == code]:
            way = ends - starts
            share = np.clip(((point - starts) * way).sum(axis=1) / (way**2).sum(axis=1), 0, 1)
            off = np.linalg.norm(starts + share[:, None] * way - point, axis=1).min()
            assert off < 1e-12  # rounding of sums of numbers around 1


def test_smote_with_few_neighbours_or_none() -> None:
    pair = drawn_set((30, 2))
    assert proposed(Smote, pair)[0][0].remedy.draw(pair, 0).classes.counts.tolist() == [30, 30]
    single = drawn_set((30, 10, 1))
    (proposal,), _ = proposed(Smote, single)
    assert "one example do not change: c" in proposal.why
    assert proposal.remedy.draw(single, 0).classes.counts.tolist() == [30, 30, 1]
    proposals, notes = proposed(Smote, drawn_set((30, 1)))
    assert proposals == []
    assert notes == ["SMOTE is left out: b has only one example, so it has no neighbours."]
    # a fold in which the class has one example left
    assert Smote({"b": 15.0}).draw(drawn_set((30, 1)), 0).classes.counts.tolist() == [30, 1]


def test_without_imbalanced_learn_smote_is_left_out_with_a_note(monkeypatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr("lopsided.remedies.smote.find_spec", lambda name: None if name == "imblearn" else found(name))
    proposals, notes = proposed(Smote, drawn_set())
    assert proposals == []
    assert notes == ["SMOTE needs imbalanced-learn: pip install 'lopsided[sampling]'."]
    monkeypatch.setitem(__import__("sys").modules, "imblearn.over_sampling", None)
    with pytest.raises(MissingPackage, match=r"lopsided\[sampling\]"):
        Smote({"b": 2.0}).draw(drawn_set(), 0)


def mixed(kind: str):
    """The numbers of `drawn_set` beside words, whole numbers and holes, as a frame."""
    import pandas
    import polars

    training = drawn_set()
    x, y, _ = training.features.T
    x = np.where(np.arange(x.size) % 10 == 3, np.nan, x)
    whole = np.rint(10 * y).astype(np.int64)
    columns = {"x": x, "whole": whole, "word": np.array(["p", "q", "r"])[training.rows % 3]}
    frame = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}[kind](columns)
    return training.with_features(frame)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("remedy", [Smote({"b": 2.0, "c": 6.0}), NoisyOversampling({"b": 2.0, "c": 6.0})])
def test_tables_keep_their_kind_and_their_words(remedy, kind) -> None:
    training = mixed(kind)
    found = remedy.draw(training, 0)
    assert found.classes.counts.tolist() == [120, 74, 54]
    assert type(found.features) is type(training.features)
    before, after = arrow_of_frame(training.features), arrow_of_frame(found.features)
    assert after.schema.types == before.schema.types
    assert set(after["word"].to_pylist()) == {"p", "q", "r"}
    for code in range(3):
        for name in ("x", "whole"):
            own = [row for row, one in enumerate(found.classes.codes) if one == code]
            values = np.array(after[name].to_pandas(), dtype=float)[own]
            old = np.array(before[name].to_pandas(), dtype=float)[training.classes.codes == code]
            slack = 0.5 if isinstance(remedy, Smote) else 5 * np.nanstd(old)  # rounding; 10 deviations of the noise
            assert np.nanmin(values) >= np.nanmin(old) - slack
            assert np.nanmax(values) <= np.nanmax(old) + slack
    if isinstance(remedy, Smote):
        first = take(found.features, np.arange(training.size))
        np.testing.assert_array_equal(numbers(first), numbers(training.features))  # NaN in place of NaN too


def test_holes_and_sparse_matrices() -> None:
    training = drawn_set()
    holes = training.features.copy()
    holes[::7, 1] = np.nan
    sparse = csr_array(np.maximum(training.features, 0.0))
    for remedy in (Smote({"c": 2.0}), NoisyOversampling({"c": 2.0})):
        for features in (holes, sparse):
            found = remedy.draw(training.with_features(features), 0)
            assert found.features.shape == (175, 3)
            assert type(found.features) is type(features)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("remedy", [Smote({"c": 6.0}), NoisyOversampling({"c": 6.0})])
def test_learners_that_take_tables_are_trained_on_made_rows(remedy, kind) -> None:
    """Boosting gets codes of categories, between which there is nothing: rows are made before."""
    training = mixed(kind)
    model = remedy.wrap("boosting", seed=0).fit_set(training)
    assert model.predict(training.features).shape == (training.size,)
    assert (model.predict(training.features) == 2).sum() >= 9
