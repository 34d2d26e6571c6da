"""Trials whose folds keep rows together, follow time or come from a splitter; weights and recalibration on the way."""

import numpy as np
import pandas
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from lopsided.checkup.trial.trial import trial
from lopsided.core.errors import InputError

RANDOM = np.random.default_rng(0)
CUSTOMER = np.repeat(np.arange(40), 5)
LABELS = np.where(RANDOM.random(40) < 0.3, "bad", "good")[CUSTOMER]
DATA = pandas.DataFrame(
    {
        "a": RANDOM.normal(size=40)[CUSTOMER] + 0.001 * RANDOM.normal(size=200),
        "b": RANDOM.normal(size=40)[CUSTOMER] + 0.001 * RANDOM.normal(size=200),
        "customer": CUSTOMER,
        "day": RANDOM.permutation(200),
        "weight": RANDOM.integers(1, 3, 200).astype(float),
        "label": LABELS,
    }
)
QUICK = {"labels": "label", "folds": 4, "repeats": 1, "forecasts": False, "arms": ["class weights", "threshold moving"]}
PLAIN = "overall accuracy"


def plain_accuracy(outcome) -> float:
    return outcome["plain"].metrics[PLAIN].estimate.value


def test_copies_of_a_customer_leak_unless_they_stay_together(tmp_path) -> None:
    """Labels have nothing to do with the features, but rows of one customer are near copies with one label."""
    options = {
        **QUICK,
        "features": ["a", "b"],
        "learner": KNeighborsClassifier(1),
        "store": tmp_path,
        "arms": ["smote"],
    }
    leaky = trial(DATA, **options)
    assert plain_accuracy(leaky) == 1.0
    assert any("have a near copy" in note and "split_by" in note for note in leaky.notes)
    honest = trial(DATA, split_by="customer", **options)
    assert plain_accuracy(honest) < 0.85
    assert not any("near copy" in note for note in honest.notes)
    assert honest.reused == 0  # other folds are other results


@pytest.mark.parametrize("kind", ["splitter", "groups", "pairs"])
def test_a_splitter_as_in_scikit_learn(kind, tmp_path) -> None:
    features = np.column_stack([DATA["a"], DATA["b"]])
    splitter = GroupKFold(4) if kind == "groups" else StratifiedKFold(4, shuffle=True, random_state=1)
    splits = list(splitter.split(features, LABELS, CUSTOMER if kind == "groups" else None))
    expected = cross_val_predict(LogisticRegression(), features, LABELS, cv=splits) == LABELS
    options = {**QUICK, "features": ["a", "b"], "learner": LogisticRegression(), "store": tmp_path}
    outcome = trial(DATA, cv=splits if kind == "pairs" else splitter, split_by="customer", **options)
    assert plain_accuracy(outcome) == pytest.approx(expected.mean())
    assert (outcome.folds, outcome.repeats) == (4, 1)


def test_time_tests_the_next_block(tmp_path) -> None:
    """The first fifth is never tested; the others by logistic regression on all that was before."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    features, order = np.column_stack([DATA["a"], DATA["b"]]), np.argsort(DATA["day"])
    right = []
    for block in range(1, 5):
        past, now = order[: 40 * block], order[40 * block : 40 * (block + 1)]
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(features[past], LABELS[past])
        right.append(model.predict(features[now]) == LABELS[now])
    dates = (np.datetime64("2024-01-01") + DATA["day"].to_numpy()).astype(str)
    data = DATA.assign(day=dates)
    outcome = trial(data, time="day", store=tmp_path, **QUICK, features=["a", "b"])
    assert plain_accuracy(outcome) == pytest.approx(np.mean(right))
    assert outcome.repeats == 1
    assert outcome["threshold moving"].skipped is None
    assert any("the first 40 rows are not tested" in note for note in outcome.notes)


def test_weights_and_recalibration_reach_the_learner(tmp_path) -> None:
    options = {**QUICK, "features": ["a", "b"], "store": tmp_path}
    plain, weighted = trial(DATA, **options), trial(DATA, sample_weight="weight", **options)
    assert weighted.reused == 0
    again = trial(DATA, recalibrate=True, **options)
    assert again.reused == 0
    for arm in ("plain", "class weights", "threshold moving"):  # decisions stay
        assert again[arm].metrics[PLAIN].estimate.value == plain[arm].metrics[PLAIN].estimate.value


def test_weights_count_in_training_and_in_metrics(tmp_path) -> None:
    """As in scikit-learn's cross-validation and metrics with `sample_weight`, also through a scorer."""
    features, weights = np.column_stack([DATA["a"], DATA["b"]]), DATA["weight"].to_numpy()
    splits = list(StratifiedKFold(4, shuffle=True, random_state=1).split(features, LABELS))
    model = LogisticRegression()
    said = cross_val_predict(model, features, LABELS, cv=splits, params={"sample_weight": weights})
    options = {**QUICK, "features": ["a", "b"], "learner": model, "store": tmp_path, "arms": ["class weights"]}
    outcome = trial(DATA, cv=splits, sample_weight="weight", **options)
    found = outcome["plain"].metrics
    assert plain_accuracy(outcome) == pytest.approx(accuracy_score(LABELS, said, sample_weight=weights))
    expected = balanced_accuracy_score(LABELS, said, sample_weight=weights)
    assert found["balanced accuracy"].estimate.value == pytest.approx(expected)
    scored = outcome.judge(make_scorer(balanced_accuracy_score))
    assert scored["plain"].metrics[scored.metric].estimate.value == pytest.approx(expected)
    assert any("in every metric" in note for note in outcome.notes)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"time": "label"}, "dates such as 2024-01-31"),
        ({"split_by": "labels"}, "did you mean 'label'"),
        ({"split_by": np.zeros(200)}, "none to test in fold"),
        ({"time": np.zeros(3)}, "one entry of time"),
        ({"sample_weight": -np.ones(200)}, "weights of at least 0"),
        ({"cv": "five"}, "a scikit-learn splitter"),
        ({"cv": GroupKFold(4)}, "split_by where it needs groups"),
        ({"cv": [([0, 1], [500])]}, "row 500"),
        ({"sample_weight": "weight", "learner": KNeighborsClassifier()}, "sample_weight"),
        ({"recalibrate": True, "learner": "sklearn.svm:LinearSVC"}, "predict_proba to recalibrate"),
    ],
)
def test_what_cannot_be_done_is_said(options, sentence, tmp_path) -> None:
    with pytest.raises(InputError, match=sentence):
        trial(DATA, **{**QUICK, "features": ["a", "b"], "store": tmp_path, **options})


def test_other_processes_read_the_same_design(tmp_path) -> None:
    from lopsided.checkup.inputs.gather import gather
    from lopsided.checkup.inputs.training_set import training_set
    from lopsided.checkup.trial import task

    names = {"split_by": "customer", "time": "day", "sample_weight": "weight"}
    training = training_set(gather(DATA, labels="label", features=["a", "b"], **names))
    for name, array in task.arrays_of(training).items():
        np.save(tmp_path / f"{name}.npy", array)
    read = task._read(str(tmp_path)).design.arrays()
    assert read.keys() == {"together", "time", "weights"}
    for name, array in training.design.arrays().items():
        np.testing.assert_array_equal(read[name], array)
    keys = [training_set(gather(DATA, labels="label", features=["a", "b"], **{name: "day"})) for name in names]
    assert len({task.data_key(one) for one in keys}) == 3  # one column is another design under another name
