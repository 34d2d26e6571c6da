"""Estimating mixtures, the classifier, and reading data files."""

import warnings

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from lopsided import mixture_fit
from lopsided.core.errors import InputError
from lopsided.core.mixture_spec import mixture_of, problem_of
from lopsided.core.seeds import generator
from lopsided.data.mixture import draw_features
from lopsided.data.mixture_estimate import (
    balanced_location,
    bits_per_dimension,
    estimate_by_em,
    estimate_by_moments,
)
from lopsided.data.mixture_table import labelled_table
from lopsided.learners.mixture_classifier import TeacherStudentClassifier
from lopsided.learners.teacher_student import loss, training_set
from lopsided.measure.mixture_errors import group_risk, mixture_distance
from tests.mixture_problems import plain_problem, random_problem, sample

TRUTH = mixture_of([0.7, 0.3], [2, -2], [1, [2, 0.5, 1]])


def test_moments_and_em_find_the_mixture_and_bic_its_groups():
    features, groups = draw_features(TRUTH, 4000, generator(0, "x"))
    by_groups = estimate_by_moments(features, groups)
    by_em = estimate_by_em(features, (1, 2, 3), seed=0)
    # 12 free means and covariances per group, each with a standard error of about 1/sqrt(1200).
    for estimate in (by_groups, by_em):
        gap = mixture_distance(estimate.mixture, TRUTH)
        assert gap.means < 0.2
        assert gap.covariances < 0.4
        assert gap.fractions < 0.05
    assert by_em.mixture.groups == 2
    assert min(by_em.criterion, key=by_em.criterion.get) == 2
    assert by_em.bits_per_dimension == pytest.approx(by_groups.bits_per_dimension, abs=0.01)


def test_bits_per_dimension_of_a_standard_normal():
    features, _ = draw_features(mixture_of([1.0], [0], [1], 4), 50_000, generator(1, "x"))
    # Minus the entropy, log2(2 pi e)/2 bits; standard error 1/sqrt(2 * 4 * 50000) in nats.
    expected = -0.5 * np.log2(2 * np.pi * np.e)
    assert bits_per_dimension(features, mixture_of([1.0], [0], [1], 4)) == pytest.approx(expected, abs=5 / 632)


def test_the_location_of_two_groups_is_found():
    truth = mixture_of([0.5, 0.5], [1.5, -1.5], [1, 1], 2)
    features, _ = draw_features(truth, 20_000, generator(2, "x"))
    theta = balanced_location(features, np.array([0.5, 0.4]))
    assert np.allclose(np.abs(theta), 1.5, atol=5 / np.sqrt(20_000) * 1.5)


def test_too_small_groups_and_constant_features_are_refused():
    with pytest.raises(InputError, match="members"):
        estimate_by_moments(np.zeros((5, 3)) + np.arange(5)[:, None], [0, 0, 0, 0, 1])
    with pytest.raises(InputError, match="constant"):
        estimate_by_moments(np.ones((20, 2)), [0] * 20)
    with pytest.raises(InputError, match="rows"):
        estimate_by_em(np.zeros((3, 2)), 2)


def test_excess_and_entropy_add_up_to_the_test_loss():
    problem = random_problem(0, groups=1)
    drawn = sample(problem, 200_000)
    weights = problem.weights + 0.3
    risk = group_risk(weights, problem.weights, drawn.features)
    found = loss(weights, training_set(drawn.features, drawn.labels))
    # The labels' own noise: standard deviation of the loss about 0.5.
    assert found == pytest.approx(risk.entropy + risk.excess, abs=5 * 0.5 / np.sqrt(200_000))
    assert group_risk(problem.weights, problem.weights, drawn.features).excess == 0.0


@pytest.mark.parametrize(
    "model",
    [
        TeacherStudentClassifier(neurons=2),
        TeacherStudentClassifier(neurons=2, optimiser="descent", steps=200),
        TeacherStudentClassifier(neurons=1, initialisation="tensor"),
    ],
    ids=["newton", "descent", "tensor"],
)
def test_the_classifier_keeps_scikit_learns_contract(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, on_fail=None)
    failed = [result["check_name"] for result in results if result["status"] == "failed"]
    assert failed == []
    assert len(results) > 40


def test_the_classifier_recovers_a_teacher():
    problem = plain_problem(dimension=4, neurons=2)
    drawn = sample(problem, 20_000)
    for model in (
        TeacherStudentClassifier(2, initialisation="given", start=problem.weights, intercept=False),
        TeacherStudentClassifier(2, initialisation="random", intercept=False, random_state=0),
    ):
        chances = model.fit(drawn.features, drawn.labels).predict_proba(drawn.features)
        true = 1 / (1 + np.exp(-drawn.features @ problem.weights))
        # Root mean square error of probabilities: about sqrt(2 * excess) = sqrt(d K / n) = 0.02.
        assert np.sqrt(np.mean((chances[:, 1] - true.mean(axis=1)) ** 2)) < 0.03
    with pytest.raises(InputError, match="start"):
        TeacherStudentClassifier(2, initialisation="given").fit(drawn.features, drawn.labels)
    with pytest.raises(InputError, match="optimiser"):
        TeacherStudentClassifier(2, optimiser="magic").fit(drawn.features, drawn.labels)


def write_csv(path, rows):
    path.write_text("\n".join(",".join(str(cell) for cell in row) for row in rows))
    return path


def test_data_files_are_read_in_three_forms(tmp_path):
    problem = problem_of(TRUTH, generator(0, "w").standard_normal((3, 2)))
    drawn = sample(problem, 1500)
    words = np.where(drawn.labels > 0, "yes", "no")
    np.savez(tmp_path / "a.npz", X=drawn.features, y=words, groups=drawn.groups)
    rows = [["a", "b", "c", "label", "group", "note"]]
    rows += [[*x, y, g, "text"] for x, y, g in zip(drawn.features, words, drawn.groups, strict=True)]
    write_csv(tmp_path / "a.csv", rows)
    from pyarrow import csv, parquet

    parquet.write_table(csv.read_csv(tmp_path / "a.csv"), tmp_path / "a.parquet")
    tables = [labelled_table(tmp_path / f"a.{ending}") for ending in ("npz", "csv", "parquet")]
    for table in tables:
        assert np.allclose(table.features, drawn.features)
        assert table.label_names == ("no", "yes")
        assert np.array_equal(table.labels, drawn.labels)
        assert np.array_equal(table.groups, drawn.groups)
    fit = mixture_fit(tmp_path / "a.csv", neurons=2)
    assert fit.estimate.method == "moments"
    assert fit.forecast.samples == 1500
    assert fit.forecast.law.average_excess_risk == pytest.approx(3 * 2 / 3000)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("a,b\n1,2\n", "label"),
        ("a,label\nx,0\ny,1\n", "numbers"),
        ("a,label\n1,0\n2,1\n3,2\n", "two classes"),
        ("a,label\n1,0\nnan,1\n", "finite"),
        ("a,label\n1,0\n1,1\n", "vary"),
        ("a,label\n1,0\n2,\n", "label"),
        ("", "csv"),
    ],
)
def test_data_that_cannot_be_used_is_refused_in_one_sentence(tmp_path, content, word):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=word):
        mixture_fit(path, neurons=1, groups=1)


def test_a_broken_npz_is_refused(tmp_path):
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(InputError, match="npz"):
        labelled_table(tmp_path / "bad.npz")
    np.savez(tmp_path / "pickle.npz", X=np.array([{}], dtype=object), y=[0])
    with pytest.raises(InputError, match="npz"):
        labelled_table(tmp_path / "pickle.npz")
