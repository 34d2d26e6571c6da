"""A missing value is a finding and is filled for the checks; plan and trial take it, and a gate still closes."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lopsided
from lopsided.checkup.inputs.gather import gather
from lopsided.cli.main import main
from lopsided.core.errors import InputError


def frame(rows: int = 400) -> pd.DataFrame:
    random = np.random.default_rng(0)
    data = pd.DataFrame(random.normal(size=(rows, 3)), columns=list("abc"))
    return data.assign(label=np.arange(rows) % 2, site=np.array(["n", "s"])[random.integers(0, 2, rows)])


def written(data: pd.DataFrame, kind: str, folder: Path) -> object:
    path = folder / f"data.{kind}"
    if kind == "frame":
        return data
    if kind == "csv":
        data.to_csv(path, index=False)
    elif kind == "parquet":
        data.to_parquet(path)
    else:
        np.savez(path, features=data[list("abc")].to_numpy(), labels=data["label"].to_numpy())
    return path


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet", "npz"])
def test_missing_values_are_counted_and_filled(kind: str, tmp_path: Path) -> None:
    data = frame()
    data.loc[[3, 7], "b"] = np.nan
    data.loc[7, "c"] = np.nan
    found = lopsided.audit(written(data, kind, tmp_path))
    (alarm,) = [finding for finding in found.findings if finding.id == "missing_values"]
    assert alarm.level.value == "at risk"
    assert alarm.value == 2 / 400
    names = ["column 1", "column 2"] if kind == "npz" else ["b", "c"]
    assert found.measures["missing_values"]["missing_by_column"] == {names[0]: 2, names[1]: 1}
    assert not found.passed("at risk")
    assert {"counts", "separability"} <= set(found.checked)
    assert found.evidence.columns.used == (("features",) if kind == "npz" else ("a", "b", "c", "site"))
    filled = found.evidence.features
    places = [filled.feature_names.index(f"{name} (missing)") for name in names]
    np.testing.assert_array_equal(filled.features()[:, places].sum(axis=0), [2, 1])
    assert filled.features()[3, 1] == data["b"].median()  # b is the second column, and its gap in row 3
    assert found.plan().remedies


def test_a_part_that_lacks_values_more_often_is_named() -> None:
    """30 % against 2 % in 200 rows each: the lower end of the gap of 28 is above 15 points (four errors of 3.3)."""
    data, random = frame(), np.random.default_rng(1)
    lost = random.random(400) < np.where(data["site"] == "n", 0.30, 0.02)
    data.loc[lost, "a"] = np.nan
    found = lopsided.audit(data, groups="site", checks=["missing_values"])
    assert [finding.subject for finding in found.findings] == ["site: n", "features"]
    assert found.findings[0].level.value == "failing"
    share = lost[data["site"] == "n"].mean()
    assert found.findings[0].value == pytest.approx(share, abs=1e-12)  # the same division


def test_whole_features_are_healthy() -> None:
    found = lopsided.audit(frame(), checks=["missing_values"])
    assert found.findings[0].level.value == "healthy"


def test_infinities_are_refused_still() -> None:
    data = frame()
    data.loc[3, "b"] = np.inf
    with pytest.raises(InputError, match="inf"):
        lopsided.audit(data)
    with pytest.raises(InputError, match="inf"):
        lopsided.audit(np.array([[1.0, np.nan], [0.0, -np.inf]]))
    with pytest.raises(InputError, match="nothing but missing values"):
        lopsided.audit(np.full((9, 2), np.nan), labels=np.arange(9) % 2)


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
def test_examples_without_a_group_are_one(gap: object) -> None:
    data = frame()
    data["site"] = data["site"].astype(object)
    data.loc[:29, "site"] = gap
    part = gather(data, groups="site").groups["site"]
    assert part.names == ("n", "s", "(missing)")
    assert part.counts[-1] == 30
    assert (part.codes[:30] == 2).all()
    numbers = np.where(np.arange(400) < 30, np.nan, np.arange(400) % 3)
    assert gather(data, groups={"site": numbers}).groups["site"].names == ("0", "1", "2", "(missing)")


def test_an_audit_with_a_plan_keeps_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = frame()
    data.loc[3, "b"] = np.nan
    data.to_csv(tmp_path / "data.csv", index=False)
    report = tmp_path / "out.html"
    assert main(["audit", str(tmp_path / "data.csv"), "--plan", "--report", str(report)]) == 0
    assert "lack a feature value" in capsys.readouterr().out
    assert report.exists()


def test_the_order_of_classes_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = np.array(["zeta", "alpha"])
    codes = np.arange(60) % 2
    np.savez(tmp_path / "data.npz", labels=names[codes], probabilities=np.eye(2)[codes] * 0.8 + 0.1)
    given = ["audit", str(tmp_path / "data.npz"), "--no-report", "--json", "--checks", "class_accuracy"]
    for order, accuracy in (("zeta,alpha", 1.0), ("alpha,zeta", 0.0)):
        assert main([*given, "--classes", order]) == 0
        measures = json.loads(capsys.readouterr().out)["measures"]
        assert measures["class_accuracy"]["accuracy"]["value"] == accuracy
