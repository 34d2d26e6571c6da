"""Frames with words, gaps and dates through audit, plan, trial and score: all columns count, dtypes are kept."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import lopsided
from lopsided.checkup.inputs.gather import gather
from lopsided.checkup.inputs.training_set import training_set
from lopsided.checkup.mended import MendedClassifier
from lopsided.checkup.trial.task import _read, arrays_of, data_key
from lopsided.cli.main import main
from lopsided.core.errors import InputError
from lopsided.data.rows import restored, stored
from lopsided.engine.store import Store
from lopsided.remedies.plain import Plain

ROWS = 400


def credit(rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Of German credit's shape: 13 columns of words or categories, 7 of numbers; words carry most of the signal."""
    random = np.random.default_rng(seed)
    data, score = {}, np.zeros(rows)
    for place in range(13):
        codes = random.integers(0, 2 + place % 4, rows)
        score += 0.7 * (codes == 0)
        data[f"word{place}"] = np.array([f"A{place}{letter}" for letter in "uvwxyz"])[codes]
    for place in range(7):
        data[f"number{place}"] = random.normal(size=rows).round(2)
        score += 0.2 * data[f"number{place}"]
    frame = pd.DataFrame(data)
    frame["word3"] = frame["word3"].astype("category")
    bad = score + random.logistic(size=rows) > np.quantile(score, 0.75)
    return frame.assign(credit=np.where(bad, "bad", "good"))


def run(data, **settings):
    usual = {"labels": "credit", "arms": ["class weights"], "forecasts": False, "repeats": 1}
    return lopsided.trial(data, **{**usual, **settings})


def plain(trial) -> float:
    return trial.arms[0].metrics["balanced accuracy"].estimate.value


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LOPSIDED_STORE", str(tmp_path / "store"))


def test_all_columns_count_as_in_scikit_learn() -> None:
    """On the same folds. 0.02: what standardised one-hot columns and pooled rare categories may change."""
    data = credit()
    words = make_column_selector(dtype_exclude="number")
    by_hand = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), words), (StandardScaler(), make_column_selector("number"))
        ),
        LogisticRegression(max_iter=1000),
    )
    features, labels = data.drop(columns="credit"), data["credit"].to_numpy()
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    said = cross_val_predict(by_hand, features, labels, cv=folds)
    found = run(data, cv=folds)
    assert plain(found) == pytest.approx(balanced_accuracy_score(labels, said), abs=0.02)
    numbers = run(data[[name for name in data if name.startswith("number")] + ["credit"]], cv=folds)
    assert plain(found) > plain(numbers) + 0.05  # what was lost while words were dropped
    assert found.columns.sentence() == "20 of 20 columns; label `credit`."
    assert str(found).startswith("20 of 20 columns; label `credit`.")
    assert found.notes[0] == "20 of 20 columns; label `credit`."
    assert found.to_dict()["columns"] == {"used": list(features.columns), "ignored": []}


def test_frames_of_all_packages_give_one_answer() -> None:
    data = credit(150)
    expected = plain(run(data, folds=3))
    for other in (pl.from_pandas(data).lazy(), pa.Table.from_pandas(data)):
        assert plain(run(other, folds=3)) == expected


@pytest.mark.parametrize("learner", ["boosting", "network", "sklearn.tree:DecisionTreeClassifier"])
def test_learners_by_name_take_words_and_gaps(learner) -> None:
    data = credit(150).assign(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(150) % 40, unit="D"))
    data.loc[::9, ["word1", "number2"]] = None
    found = run(data, learner=learner, folds=3)
    assert found.columns.sentence() == "21 of 21 columns; label `credit`."
    assert 0.3 < plain(found) < 1.0


def test_the_users_own_pipeline_gets_the_users_own_frame() -> None:
    seen = []

    class Watched(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X, y, sample_weight)

    class Rows(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            seen.append(X.dtypes.to_dict())
            return super().fit(X, y, sample_weight)

    data = credit(150).assign(key=[f"k{place}" for place in range(150)])
    words = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((words, ["word0", "word3"]), (Rows(), ["number0", "number1"]), ("drop", ["key"]))
    found = run(data, learner=make_pipeline(columns, Watched()), folds=3)
    assert found.arms[0].skipped is None
    assert seen
    assert all(dtypes == {"number0": np.dtype(float), "number1": np.dtype(float)} for dtypes in seen)
    assert found.columns.used[-1] == "key"  # a learner of the user's own may have its reasons
    assert run(data, folds=3).columns.ignored == (
        ("key", "it looks like an identifier: nearly every row has a different value"),
    )


def test_own_boosting_takes_categories_and_gaps() -> None:
    data = credit(200)
    data = data.astype({name: "category" for name in data if name.startswith("word")})
    data.loc[::7, "number0"] = np.nan
    learner = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=10, early_stopping=False)
    assert run(data, learner=learner, folds=3).arms[0].skipped is None


def test_a_learner_that_takes_no_words_says_so() -> None:
    with pytest.raises(InputError, match=r"(?s)LogisticRegression.*string") as caught:
        run(credit(100), learner=LogisticRegression(), folds=3)
    assert "\n" not in str(caught.value)


def test_arrays_with_nan_and_sparse_matrices() -> None:
    random = np.random.default_rng(0)
    labels = np.arange(200) % 4 == 0
    features = random.normal(size=(200, 6)) + labels[:, None]
    gappy = np.where(random.random(features.shape) < 0.05, np.nan, features)
    boosting = HistGradientBoostingClassifier(max_iter=10, early_stopping=False)
    for learner in ("logistic", make_pipeline(SimpleImputer(), LogisticRegression()), boosting):
        assert plain(run(gappy, labels=labels, learner=learner, folds=3)) > 0.6
    with pytest.raises(InputError, match="NaN"):
        run(gappy, labels=labels, learner=LogisticRegression(), folds=3)
    words = [f"{'good' if label else 'bad'} w{place % 9}" for place, label in enumerate(labels)]
    sparse = csr_matrix(CountVectorizer().fit_transform(words))
    for learner in ("logistic", "boosting"):
        found = run(sparse, labels=labels, learner=learner, folds=3)
        assert plain(found) == 1.0
    assert found.columns.sentence() == f"{sparse.shape[1]} of {sparse.shape[1]} columns of `features`."
    assert lopsided.plan(sparse, labels=labels).remedies
    assert lopsided.audit(sparse, labels=labels, checks=["separability", "duplicates"]).findings


@pytest.mark.parametrize("learner", ["logistic", "boosting"])
def test_remedies_that_make_rows_work_on_tables_of_words(learner) -> None:
    found = run(credit(200), learner=learner, folds=3, arms=["oversampling with noise", "smote"])
    for name in ("oversampling with noise", "SMOTE"):
        assert found[name].skipped is None
        assert found[name].metrics["balanced accuracy"].estimate.value > 0.5


@pytest.mark.parametrize("form", ["words", "nan", "sparse"])
def test_other_processes_read_the_same_rows(form, tmp_path) -> None:
    data = credit(150)
    data.loc[::9, ["word1", "number2"]] = None
    numbers = data[[name for name in data if name.startswith("number")]].to_numpy()
    given = {"words": data, "nan": numbers, "sparse": csr_matrix(np.nan_to_num(numbers))}[form]
    training = training_set(gather(given, labels="credit" if form == "words" else data["credit"].to_numpy()))
    key = data_key(training)
    with Store(tmp_path).shared(key, arrays_of(training)) as place:
        again = _read(str(place))
        assert type(again.features) in (type(training.features), csr_array, np.memmap)
        assert data_key(again) == key  # a hash of features, classes and groups


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow"])
def test_stored_frames_come_back_with_their_dtypes(form) -> None:
    data = credit(60).assign(day=pd.Timestamp("2024-01-01"), count=pd.array([1, None] * 30, dtype="Int64"))
    frame = {"pandas": data, "polars": pl.from_pandas(data), "arrow": pa.Table.from_pandas(data)}[form]
    again = restored(stored(frame))
    assert type(again) is type(frame)
    if form == "pandas":
        pd.testing.assert_frame_equal(again, frame)
    else:
        assert again.equals(frame)
    sparse = csr_matrix(np.eye(4))
    np.testing.assert_array_equal(restored(stored(sparse)).toarray(), np.eye(4))


def test_the_key_of_the_data_knows_frames() -> None:
    def key(frame):
        return data_key(training_set(gather(frame, labels="credit")))

    data = credit(60)
    assert key(data) == key(data.copy()) == key(data.set_axis(np.arange(60)[::-1]))
    others = [
        data[[*data.columns[1::-1], *data.columns[2:]]],
        data.rename(columns={"word0": "other"}),
        data.assign(word0=data["word0"].iloc[::-1].to_numpy()),
        data.assign(word0=data["word0"].astype("category")),
        data.assign(number0=data["number0"].where(np.arange(60) > 3)),
    ]
    assert len({key(data), *map(key, others)}) == len(others) + 1
    assert "features" not in arrays_of(training_set(gather(data, labels="credit")))


def test_plan_audit_and_score_take_the_frame(tmp_path, capsys) -> None:
    data = credit(300).assign(row=np.arange(300), same=1)
    told = (
        "20 of 22 columns; label `credit`; not used: `row` (it looks like a row number), `same` (it has the same value"
    )
    assert str(lopsided.plan(data, labels="credit")).startswith(told)
    audit = lopsided.audit(data, labels="credit", name="German credit")
    assert str(audit).startswith(told)
    assert audit.to_dict()["columns"]["ignored"][0] == {"name": "row", "why": "it looks like a row number"}
    assert "German credit" in audit.to_html()
    leak = lopsided.audit(data.assign(leak=data["credit"]), labels="credit", checks=["label_leaks"])
    assert [one.subject for one in leak.findings] == ["column leak"]
    scored = lopsided.score(data, "credit")
    assert scored.read.sentence().startswith(told)
    path = tmp_path / "credit.csv"
    data.to_csv(path, index=False)
    for command in (["audit", "--no-report"], ["plan"], ["score", "--out", str(tmp_path / "s.csv")]):
        assert main([command[0], str(path), "--labels", "credit", *command[1:]]) == 0
        assert " ".join(capsys.readouterr().out.split()).startswith(told)
    assert main(["plan", str(path), "--labels", "credit", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["columns"]["used"]) == 20


def test_mended_classifiers_take_frames() -> None:
    data = credit(200)
    features, labels = data.drop(columns="credit"), data["credit"]
    model = MendedClassifier("logistic", Plain()).fit(features, labels)
    assert (model.predict(features) == labels).mean() > 0.7
    with pytest.raises(ValueError, match="same order"):  # as all of scikit-learn's estimators say it
        model.predict(features[features.columns[::-1]])
    strange = features.assign(word0="never seen", number0=np.nan)
    assert np.isfinite(model.predict_proba(strange)).all()
    with pytest.raises(ValueError, match="word0"):
        model.predict(features.drop(columns="word0"))
