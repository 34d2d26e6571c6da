"""Over- and undersampling and SMOTE beside imbalanced-learn's, and SMOTE's points by the definition."""

import importlib.util

import numpy as np
import pytest
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.under_sampling import RandomUnderSampler

from lopsided.core.errors import MissingPackage
from lopsided.core.partition import Partition
from lopsided.data.labelled_set import LabelledSet
from lopsided.remedies.contract import Occasion
from lopsided.remedies.oversampling import HalfWayOversampling, Oversampling
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
    assert "one example stay as they are: c" in proposal.why
    assert proposal.remedy.draw(single, 0).classes.counts.tolist() == [30, 30, 1]
    proposals, notes = proposed(Smote, drawn_set((30, 1)))
    assert proposals == []
    assert notes == ["SMOTE is left out: b has one example, which has no neighbour."]
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
