"""Mistakes that would give a wrong answer without a word."""

import numpy as np
import pandas as pd
import pytest

import lopsided
from lopsided.checkup.gather import gather
from lopsided.core.errors import InputError


@pytest.fixture
def noise() -> pd.DataFrame:
    """Features that say nothing about sorted labels, so that a row number would say all."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(300, 3)), columns=list("abc"))
    frame["label"] = np.repeat([0, 1, 2], [200, 70, 30])
    return frame


def test_the_index_of_pandas_is_no_feature(noise, tmp_path) -> None:
    noise.to_csv(tmp_path / "index.csv")
    found = gather(tmp_path / "index.csv")
    assert found.table is not None
    assert found.table.feature_names == ("a", "b", "c")


def test_predictions_split_and_domain_are_no_features(noise, tmp_path) -> None:
    noise["pred"], noise["is_test"] = noise["label"], (np.arange(300) % 3 == 0).astype(int)
    noise["domain"] = np.arange(300) % 2
    noise.to_csv(tmp_path / "beside.csv", index=False)
    found = gather(tmp_path / "beside.csv")
    assert found.table is not None
    assert found.table.feature_names == ("a", "b", "c")
    assert {"predictions", "split", "groups"} <= found.has


def test_whole_numbers_among_objects_keep_their_order() -> None:
    labels = np.repeat(np.arange(12), 30)
    probabilities = np.full((360, 12), 0.01)
    probabilities[np.arange(360), labels] = 0.89
    found = lopsided.audit(labels=labels.astype(object), probabilities=probabilities, checks=["class_accuracy"])
    assert found.measures["class_accuracy"]["accuracy"]["value"] == 1.0


def test_guessing_is_failing() -> None:
    random = np.random.default_rng(0)
    found = lopsided.audit(labels=np.repeat([0, 1, 2], 200), predictions=random.integers(0, 3, 600))
    assert not found.passed()
    assert "guessing" in str(found)


def test_a_class_between_others_is_not_taken_for_a_weak_one() -> None:
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 200)
    features = random.normal(size=(600, 5))
    features[:, 0] += 3 * labels
    assert lopsided.audit(features, labels=labels, checks=["noise_ratios"]).passed("at-risk")


@pytest.mark.parametrize("size", [1e200, np.inf])
def test_sizes_that_cannot_be_squared_are_refused(size) -> None:
    features = np.random.default_rng(0).normal(size=(60, 4))
    features[0, 0], features[1, 0] = size, -size
    with pytest.raises(InputError, match="features"):
        lopsided.audit(features, labels=np.repeat([0, 1], 30))


def test_biases_of_words_are_refused() -> None:
    features = np.random.default_rng(0).normal(size=(60, 4))
    with pytest.raises(InputError, match="numbers as the bias"):
        lopsided.audit(features, labels=np.arange(60) % 3, classifier=np.eye(3, 4), bias=np.array(["u", "v", "w"]))


def test_sample_weights_are_no_classifier(tmp_path) -> None:
    random = np.random.default_rng(0)
    np.savez(tmp_path / "w.npz", X=random.normal(size=(60, 4)), y=np.arange(60) % 3, w=random.random(60))
    assert gather(tmp_path / "w.npz").classifier is None


@pytest.mark.parametrize("checks", ["counts", ["counts"]])
def test_one_check_by_name(checks) -> None:
    assert set(lopsided.audit(labels=np.arange(60) % 3, checks=checks).measures) == {"counts"}
