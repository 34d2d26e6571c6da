"""No column is left out without a word, no values are taken for names, and what nobody asked for blocks nothing."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lopsided
from lopsided.checkup.inputs.gather import gather
from lopsided.core.errors import InputError

N = 120


@pytest.fixture
def frame() -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame({name: random.normal(size=N) for name in "xyz"}).assign(label=np.arange(N) % 3)


def noted(evidence, *words: str) -> bool:
    return any(all(word in note for word in words) for note in (*evidence.notes, evidence.columns.sentence()))


@pytest.mark.parametrize("form", ["pandas", "polars", "csv", "parquet"])
@pytest.mark.parametrize("name", ["y", "target", "class", "group", "Domain"])
def test_a_column_of_a_usual_name_is_a_feature_once_the_part_is_named(frame, form, name, tmp_path) -> None:
    frame = frame.rename(columns={"y": name}).assign(sex=np.array(["f", "m"])[np.arange(N) % 2])
    path = tmp_path / f"d.{form}"
    data = {"pandas": frame, "polars": pl.from_pandas(frame)}.get(form, path)
    if form == "csv":
        frame.to_csv(path, index=False)
    elif form == "parquet":
        frame.to_parquet(path)
    found = gather(data, labels="label", groups="sex")
    assert found.table.feature_names == ("x", name, "z")
    assert not found.notes
    assert found.columns.ignored == ()
    assert found.columns.sentence() == "3 of 3 columns; label `label`; groups `sex`."


def test_what_may_be_the_labels_is_left_out_with_a_note(frame) -> None:
    found = gather(frame)
    assert found.table.feature_names == ("x", "z")
    assert noted(found, "2 of 3 columns; label `label`", "`y` (its name suggests labels", "features")
    assert found.columns.to_dict()["ignored"][0]["name"] == "y"
    beside = gather(frame.drop(columns="label"), labels=frame["label"])  # an array, which may well be the column
    assert noted(beside, "`y` (its name suggests labels")
    assert gather(frame, features=["x", "y", "z"]).columns.ignored == ()


def test_names_of_rows_and_outcomes_stay_out_with_a_note(frame) -> None:
    frame = frame.assign(id=np.arange(N), index=np.arange(N), pred=frame["label"], is_test=np.arange(N) % 2)
    found = gather(frame, labels="label", predictions=frame["label"].to_numpy())
    assert found.table.feature_names == ("x", "y", "z")
    assert noted(found, "`id`, `index` (its name suggests names of rows", "`pred` (its name suggests pred")
    assert noted(found, "split `is_test`")
    assert noted(gather(frame.assign(group=np.arange(N) % 2), labels="label"), "groups `group`")


@pytest.mark.parametrize("features", ["embedding", "vector"])
def test_lists_that_are_left_out_are_named(frame, features) -> None:
    lists = [[float(i), 1.0] for i in range(N)]
    table = pa.Table.from_pandas(frame).append_column(features, pa.array(lists))
    found = gather(table, labels="label")
    if features == "embedding":  # a usual name: the lists are the features, and the numbers are left out
        assert found.table.width == 2
        assert noted(found, "2 of 2 columns of `embedding`", "`x`, `y`, `z` (the features are the lists in `embedding`")
    else:
        assert found.table.feature_names == ("x", "y", "z")
        assert noted(found, "3 of 4 columns", "`vector` (it contains lists or records)")
    assert gather(table, labels="label", features=features).table.width == 2


def test_a_list_of_labels_is_no_list_of_names() -> None:
    random = np.random.default_rng(0)
    data = pd.DataFrame(random.normal(size=(90, 3)), columns=list("abc"))
    found = gather(data, labels=list("abc") * 30)
    assert found.table.feature_names == ("a", "b", "c")
    assert found.classes.names == ("a", "b", "c")
    assert gather(data, labels=["a", "b", "c"] * 30, predictions=["a"] * 90).table.width == 3


def test_a_list_of_one_word_is_a_name() -> None:
    data = pd.DataFrame({"a": np.arange(4.0), "kind": list("uvuv")})
    assert gather(data, labels=["kind"]).classes.names == ("u", "v")
    assert gather(data[:1], labels=["kind"]).classes.names == ("u",)
    assert gather(data[:1], labels=["w"]).classes.names == ("w",)


@pytest.mark.parametrize("form", ["frame", "csv", "array", "none"])
def test_a_list_of_groups_with_one_entry_per_row(frame, form, tmp_path) -> None:
    sex = ["x", "m"] * (N // 2)  # one group has the name of a column
    frame.to_csv(tmp_path / "d.csv", index=False)
    data = {"frame": frame, "csv": tmp_path / "d.csv", "array": frame[["x", "z"]].to_numpy(), "none": None}[form]
    found = gather(data, labels="label" if form in ("frame", "csv") else frame["label"].to_numpy(), groups=sex)
    assert found.groups["group"].names == ("m", "x")
    assert form in ("array", "none") or found.table.feature_names == ("x", "y", "z")


def test_lists_of_names_of_groups_still_work(frame) -> None:
    frame = frame.assign(sex=["f", "m"] * (N // 2), race=["p", "q", "r"] * (N // 3))
    assert list(gather(frame, groups=["sex", "race"]).groups) == ["sex", "race", "sex × race"]
    assert list(gather(frame, groups=("sex",)).groups) == ["sex"]


@pytest.mark.parametrize(
    ("name", "values", "argument"),
    [
        ("subset", np.arange(N) % 4, "split"),
        ("split", ["train"] * N, "split"),
        ("pred", np.linspace(0, 1, N), "predictions"),
        ("group", np.linspace(0, 1, N), "groups"),
    ],
)
def test_what_nobody_asked_for_is_left_aside_and_what_was_asked_for_is_refused(frame, name, values, argument) -> None:
    frame = frame.assign(**{name: values})
    found = lopsided.audit(frame, checks=["counts"])
    assert noted(found.evidence, f"{name} is ignored", argument, "Expected")
    with pytest.raises(InputError):
        gather(frame, **{argument: name})


def test_a_domain_of_many_values_is_left_aside() -> None:
    data = pd.DataFrame({"x": np.arange(1600.0), "label": np.arange(1600) % 2, "domain": np.arange(1600) % 800})
    assert noted(gather(data), "domain is ignored", "800 different values")
    with pytest.raises(InputError, match="at most 500 groups"):
        gather(data, groups="domain")


def test_the_next_usual_name_is_asked_where_the_first_does_not_fit(frame) -> None:
    found = gather(frame.assign(target=frame["label"]).drop(columns="label"))
    assert found.classes.names == ("0", "1", "2")
    assert noted(found, "`y` (its name suggests labels")
    with pytest.raises(InputError, match="fractions"):
        gather(frame.drop(columns="label"))


def test_arrays_that_only_look_like_scores_or_a_classifier_are_left_aside(frame) -> None:
    parts = {"x": frame[["x", "z"]].to_numpy(), "y": frame["label"].to_numpy(), "probs": np.ones((N, 5)), "wd": -1.0}
    found = gather(parts | {"w": np.ones((7, 2))})
    assert found.has == {"features", "labels"}
    assert noted(found, "Probabilities or logits", "ignored")
    assert noted(found, "w is ignored", "3 rows in the classifier")
    assert noted(found, "wd is ignored")


def test_a_series_of_the_frame_is_no_feature_beside_itself(frame) -> None:
    frame = frame.rename(columns={"label": "income"}).assign(said=frame["label"])
    found = gather(frame, labels=frame["income"], predictions=frame["said"])
    assert found.table is not None
    assert found.table.feature_names is not None
    assert not {"income", "said"} & set(found.table.feature_names)
    polars = pl.from_pandas(frame)
    again = gather(polars, labels=polars["income"])
    assert again.table is not None
    assert "income" not in (again.table.feature_names or ())
