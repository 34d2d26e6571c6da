"""Columns of probabilities and logits belong to the classes that they are named for."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lopsided
from lopsided.checkup.inputs.class_scores import class_of_column, order_of_columns
from lopsided.checkup.inputs.gather import gather
from lopsided.cli.main import main
from lopsided.core.errors import InputError

NAMES = np.array(["zeta", "alpha", "mid"])
Y = np.random.default_rng(0).choice(3, 900)
CHANCES = np.eye(3)[Y] * 0.7 + 0.1
LOGITS = np.log(CHANCES)


def right(evidence) -> float:
    return float((evidence.predictions == evidence.classes.codes).mean())


@pytest.mark.parametrize("name", ["{}", "p_{}", "prob_{}", "proba_{}", "logit_{}", "{}_prob", "net says {}", "P_{}"])
@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame])
def test_columns_named_for_classes_are_matched_by_name(name, form) -> None:
    columns = [name.format(entry) for entry in NAMES]
    for what, values in (("probabilities", CHANCES), ("logits", LOGITS)):
        scores = form({column: values[:, place] for place, column in enumerate(columns)})
        assert right(gather(labels=NAMES[Y], **{what: scores})) == 1.0


def test_the_audit_of_class_named_columns() -> None:
    found = lopsided.audit(labels=NAMES[Y], probabilities=pd.DataFrame(CHANCES, columns=NAMES))
    assert found.measures["class_accuracy"]["balanced_accuracy"]["value"] == 1.0


@pytest.mark.parametrize("what", ["probabilities", "logits"])
def test_columns_of_a_csv_by_name(tmp_path, capsys, what) -> None:
    values = CHANCES if what == "probabilities" else LOGITS
    frame = pd.DataFrame(values, columns=[f"p_{name}" for name in NAMES]).assign(label=NAMES[Y])
    frame.to_csv(tmp_path / "d.csv", index=False)
    named = ",".join(f"p_{name}" for name in NAMES)
    assert main(["audit", str(tmp_path / "d.csv"), f"--{what}", named, "--no-report", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["measures"]["class_accuracy"]["balanced_accuracy"]["value"] == 1.0


@pytest.mark.parametrize("columns", [["0", "1", "2"], ["p0", "p1", "p2"], [0, 1, 2], ["first", "second", "third"]])
def test_names_that_fit_no_class_follow_the_order_of_classes(columns) -> None:
    ordered = CHANCES[:, np.argsort(NAMES)]
    found = gather(labels=NAMES[Y], probabilities=pd.DataFrame(ordered, columns=columns))
    assert right(found) == 1.0
    assert any("in the order of the classes: alpha, mid, zeta" in note for note in found.notes)


def test_names_that_fit_in_part_are_refused_unless_the_order_is_stated() -> None:
    scores = pd.DataFrame(CHANCES, columns=["p_zeta", "p_alpha", "p_other"])
    with pytest.raises(InputError, match=r"order alpha, mid, zeta, but got p_zeta, p_alpha, p_other; name each"):
        gather(labels=NAMES[Y], probabilities=scores)
    assert right(gather(labels=NAMES[Y], probabilities=scores, classes=NAMES)) == 1.0


def test_numbers_that_pandas_gave_are_no_names() -> None:
    """`DataFrame(model.predict_proba(x))` numbers its columns from 0, also where the classes begin at 1."""
    assert right(gather(labels=Y + 1, probabilities=pd.DataFrame(CHANCES))) == 1.0
    floats = pd.DataFrame(CHANCES[:, ::-1], columns=[2.0, 1.0, 0.0])
    assert right(gather(labels=Y.astype(float), probabilities=floats)) == 1.0
    with pytest.raises(InputError, match="order 1, 2, 3"):
        gather(labels=Y + 1, probabilities=pd.DataFrame(CHANCES, columns=["p0", "p1", "p2"]))


@pytest.mark.parametrize(("first", "column"), [(0, 0), (0, 1), (1, 1)])
def test_the_number_of_a_series_is_a_place(first, column) -> None:
    """`DataFrame(model.predict_proba(x))[1]` is of the second class, which may be called 2."""
    scores = pd.DataFrame({0: [0.9, 0.2] * 30, 1: [0.1, 0.8] * 30})
    assert right(gather(labels=np.arange(60) % 2 + first, probabilities=scores[column])) == 1.0


@pytest.mark.parametrize("name", ["p_bad", "prob_bad", "bad", "Bad_prob"])
@pytest.mark.parametrize("form", ["name", "names", "series", "frame"])
def test_one_column_is_of_the_class_it_is_named_for(name, form) -> None:
    bad = np.arange(60) % 3 == 0
    frame = pd.DataFrame({"x": np.arange(60.0), name: np.where(bad, 0.9, 0.2), "label": np.where(bad, "bad", "good")})
    given = {"name": name, "names": [name], "series": frame[name], "frame": frame[[name]]}[form]
    found = gather(frame, probabilities=given)
    assert right(found) == 1.0
    np.testing.assert_array_equal(found.probabilities[:, 0], frame[name])
    assert f"The one column of probabilities is taken as that of class bad, by its name, {name}." in found.notes


def test_one_column_without_a_class_in_its_name_is_of_the_second_and_the_notes_say_so() -> None:
    bad = np.arange(60) % 3 == 0
    labels = np.where(bad, "bad", "good")
    for scores in (np.where(bad, 0.2, 0.9), pd.Series(np.where(bad, 0.2, 0.9), name="score")):
        found = gather(labels=labels, probabilities=scores)
        assert right(found) == 1.0
        assert any("class good, the second in order" in note and "p_bad" in note for note in found.notes)
    found = gather(labels=labels, logits=np.where(bad, -2.0, 1.0))
    assert right(found) == 1.0
    assert any("one column of logits is taken as that of class good" in note for note in found.notes)
    assert right(gather(labels=labels, logits=pd.Series(np.where(bad, 2.0, -1.0), name="logit_bad"))) == 1.0


def test_logits_that_were_named_come_before_probabilities_that_were_not() -> None:
    frame = pd.DataFrame(LOGITS, columns=NAMES).assign(label=NAMES[Y], probs=0.5)
    assert right(gather(frame, logits=list(NAMES))) == 1.0


def test_words_within_words_are_no_names() -> None:
    assert order_of_columns(["alpha", "beta", "gamma"], ["a", "b", "c"], "scores", stated=False) is None
    assert class_of_column("pad", ["ad", "other"]) is None
    assert class_of_column("p0", ["0", "1"]) == 0
    assert order_of_columns(["p_a", "p_A"], ["A", "a"], "scores", stated=False) == [1, 0]
