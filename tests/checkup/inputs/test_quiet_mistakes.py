"""Mistakes that would give a wrong answer without a word."""

import json

import numpy as np
import pandas as pd
import pytest

import lopsided
from lopsided.checkup.inputs.gather import gather
from lopsided.core.errors import InputError
from lopsided.report.plotly import figure_json


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
    with pytest.raises(InputError, match="3 finite biases"):
        lopsided.audit(features, labels=np.arange(60) % 3, classifier=np.eye(3, 4), bias=np.array(["u", "v", "w"]))


def test_sample_weights_are_no_classifier(tmp_path) -> None:
    random = np.random.default_rng(0)
    np.savez(tmp_path / "w.npz", X=random.normal(size=(60, 4)), y=np.arange(60) % 3, w=random.random(60))
    assert gather(tmp_path / "w.npz").classifier is None


@pytest.mark.parametrize("checks", ["counts", ["counts"]])
def test_one_check_by_name(checks) -> None:
    assert set(lopsided.audit(labels=np.arange(60) % 3, checks=checks).measures) == {"counts"}


def test_a_useless_model_of_many_small_classes_fails() -> None:
    labels = np.repeat(np.arange(300), 5)
    found = lopsided.audit(labels=labels, predictions=(labels + 1) % 300, checks=["class_accuracy"])
    assert found.findings[0].level.value == "failing"
    assert found.measures["class_accuracy"]["balanced_accuracy"]["interval"][0] == 0.0


def test_overconfidence_of_many_small_classes_is_seen_over_all_rows() -> None:
    random = np.random.default_rng(0)
    found = lopsided.audit(
        labels=np.repeat(np.arange(300), 5), probabilities=random.dirichlet(np.full(300, 0.02), 1500)
    )
    (alarm,) = [finding for finding in found.findings if finding.id == "calibration"]
    assert alarm.level.value == "failing"
    assert alarm.subject == "the model"


@pytest.mark.parametrize("digits", [8, 1])
def test_rows_copied_before_the_split_are_a_leak(digits: int) -> None:
    random = np.random.default_rng(0)
    rows = np.r_[:960, np.repeat(np.arange(960, 1000), 15)]
    features = random.normal(size=(1000, 8)).round(digits)[rows]
    found = lopsided.audit(
        features, labels=(rows >= 960).astype(int), split=random.random(len(rows)) < 0.3, checks=["duplicates"]
    )
    assert found.findings[0].level.value == "failing"
    assert "copied before the split" in found.findings[0].message


def test_rows_of_few_values_repeat_without_a_leak() -> None:
    random = np.random.default_rng(0)
    for width, values in [(2, 10), (6, 3), (12, 2)]:
        found = lopsided.audit(
            random.integers(0, values, (2000, width)),
            labels=random.integers(0, 2, 2000),
            split=random.random(2000) < 0.3,
            checks=["duplicates"],
        )
        assert found.passed("at risk")


def test_features_that_tell_nothing_are_no_reason_to_collect() -> None:
    random = np.random.default_rng(0)
    found = lopsided.audit(random.normal(size=(400, 5)), labels=np.arange(400) % 2, checks=["noise_ratios"])
    (alarm,) = found.findings
    assert alarm.subject == "all 2 classes"
    assert "Collect" not in alarm.remedy


def test_a_class_without_training_rows_is_not_to_be_oversampled() -> None:
    labels = np.repeat([0, 1, 2], 100)
    found = lopsided.audit(labels=labels, split=np.where(labels == 2, "test", "train"), checks=["counts"])
    assert "no training example" in found.findings[0].message
    assert "oversample" not in found.findings[0].remedy


def test_names_are_words_in_plots_too() -> None:
    labels = np.array(["<i>x</i>", "b"])[np.arange(60) % 2]
    found = lopsided.audit(labels=labels, predictions=labels, groups={"<b>g</b>": labels})
    drawn = json.dumps([figure_json(figure) for checked in found.checked.values() for figure in checked.figures])
    assert "&lt;i&gt;" in drawn
    assert "<i>" not in drawn
    assert "<b>g" not in drawn


@pytest.mark.parametrize("ask", [lopsided.plan, lopsided.trial])
def test_a_label_of_its_own_for_every_row_is_no_label(ask) -> None:
    """Times or names of rows taken for labels."""
    with pytest.raises(InputError, match="20 classes of one example each; check which column holds the labels"):
        ask(np.arange(40.0).reshape(20, 2), labels=[f"row {place}" for place in range(20)])
