"""`lopsided trial` and `lopsided plan` end to end."""

import json
import re

import numpy as np
import pytest

from lopsided.cli.main import main


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    random = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("data") / "some.npz"
    labels = np.repeat([0, 1], [120, 30])
    group = random.integers(0, 2, 150)
    np.savez(path, features=random.standard_normal((150, 2)) + labels[:, None], labels=labels, group=group)
    return path


def test_trial(capsys, tmp_path, data, monkeypatch) -> None:
    report, export = tmp_path / "trial.html", tmp_path / "export"
    arguments = ["trial", str(data), "--store", str(tmp_path / "s"), "--repeats", "1", "--jobs", "1", "--json"]
    assert main([*arguments, "--report", str(report), "--export", str(export)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {"arms", "winner", "seconds"} <= facts.keys()
    assert report.read_text().startswith("<!doctype html>")
    assert (export / "plan.json").exists()
    with np.load(export / "oversample.npz") as arrays:
        assert {"indices", "weights"} <= set(arrays.files)
    monkeypatch.setenv("COLUMNS", "80")
    assert main([name for name in arguments if name != "--json"]) == 0
    printed = capsys.readouterr().out.splitlines()
    for arm in facts["arms"]:  # one line a row, whole: no row is broken and no number cut
        if arm["skipped"] is None and arm["kind"] != "collect":
            # two tables of metrics, and one of gains, which plain training is not in
            assert sum(line.startswith(f" {arm['name']}  ") for line in printed) == (2 if arm["kind"] == "plain" else 3)
    tables = [line for line in printed if re.search(r"\d  +|\d$|unclear$", line)]
    assert max(map(len, tables)) <= 80
    assert "…" not in "".join(tables)


def test_plan_of_chosen_arms(capsys, data) -> None:
    assert main(["plan", str(data), "--arms", "class weights,logit adjustment", "--json"]) == 0
    assert {one["name"] for one in json.loads(capsys.readouterr().out)["remedies"]} == {
        "class weights",
        "logit adjustment",
    }
    assert main(["plan", str(data), "--arms", "smoot"]) == 2
    assert "smoot" in capsys.readouterr().err


def test_exported_arrays_say_which_rows_and_classes_they_are_for(capsys, tmp_path) -> None:
    """With a split only training rows get weights; the file's other rows are not counted."""
    random = np.random.default_rng(1)
    labels = np.where(np.arange(120) % 4 == 0, "rare", "common")
    split = np.where(np.arange(120) % 3 == 0, "test", "train")
    lines = [f"{x:.3f},{label},{part}" for x, label, part in zip(random.normal(size=120), labels, split, strict=True)]
    (tmp_path / "some.csv").write_text("\n".join(["x,label,split", *lines]) + "\n")
    folder = tmp_path / "export"
    assert main(["plan", str(tmp_path / "some.csv"), "--export", str(folder), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["classes"] == ["common", "rare"]
    assert facts["training_rows"] == 80
    assert json.loads((folder / "plan.json").read_text())["classes"] == ["common", "rare"]
    trained = np.flatnonzero(split == "train")
    for name in ("oversample", "reweight"):
        with np.load(folder / f"{name}.npz") as arrays:
            np.testing.assert_array_equal(arrays["rows"], trained)
            assert arrays["weights"].shape == arrays["rows"].shape
            rare = labels[arrays["rows"]] == "rare"
            assert arrays["weights"][rare].min() > arrays["weights"][~rare].max()
            assert set(arrays["indices"].tolist()) <= set(trained.tolist())
    for name in ("logit-adjustment", "threshold"):
        with np.load(folder / f"{name}.npz") as arrays:  # without pickle: names are text
            assert arrays["classes"].tolist() == ["common", "rare"]
            assert arrays["offsets"].shape == (2,)
    with np.load(folder / "logit-adjustment.npz") as arrays:
        offsets = dict(zip(arrays["classes"].tolist(), arrays["offsets"].tolist(), strict=True))
    assert offsets["rare"] > offsets["common"]


def test_plan(capsys, data, monkeypatch) -> None:
    assert main(["plan", str(data), "--json"]) == 0
    remedies = json.loads(capsys.readouterr().out)["remedies"]
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["plan", str(data)]) == 0
    printed = capsys.readouterr().out.splitlines()
    for remedy in remedies:  # one line each
        (line,) = (line for line in printed if re.match(rf" {re.escape(remedy['name'])}( \*)?  ", line))
        assert len(line) <= 80
        gain = remedy["forecast"]
        assert (
            f"{gain['gain']:+.3f} [{gain['low']:+.3f}, {gain['high']:+.3f}]" in line if gain else "no forecast" in line
        )
    assert main(["plan", str(data), "--weight-decay", "0.01", "--why"]) == 0
    explained = capsys.readouterr().out
    assert all(explained.count(f" {remedy['name']} ") >= 2 for remedy in remedies)
    assert "Basis: " in explained


def test_tables_of_one_line_cut_names_and_move_columns(capsys, monkeypatch) -> None:
    """Whatever the widths, every row has one line in each table and every number is printed whole once."""
    from lopsided.cli.console import print_lines

    for width in (40, 60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        heads = ["arm", *(f"measure of kind {k}" for k in range(9))]
        rows = [[name, *(f"{k + 0.123:.3f}" for k in range(9))] for name in ("plain", "n" * 70, "語" * 40)]
        print_lines("Some", heads, rows)
        printed = capsys.readouterr().out
        assert max(map(len, printed.splitlines())) <= width
        assert all(printed.count(f"{k}.123") == 3 for k in range(9))
        tables = printed.count("plain")
        assert printed.count("nnn…") == tables or width == 200


@pytest.mark.parametrize(
    "arguments",
    [
        ["nowhere.npz"],
        ["DATA", "--learner", "forest"],
        ["DATA", "--metric", "best"],
        ["DATA", "--group", "sex"],
        ["DATA", "--folds", "1"],
        ["DATA", "--report", "x.pdf"],
        ["DATA", "--labels", "nothing"],
    ],
)
def test_refusals(capsys, tmp_path, data, arguments) -> None:
    given = [str(data) if word == "DATA" else word for word in arguments]
    assert main(["trial", *given, "--store", str(tmp_path), "--jobs", "1"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_rates_by_the_survival_law(tmp_path, capsys) -> None:
    """The option's rates are those of the remedies room; a part of the recipe alone is refused in a sentence."""
    from lopsided.remedies.rates import oversampling_rates

    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), [200] * 5 + [8] * 5)
    np.savez(tmp_path / "data.npz", features=random.standard_normal((labels.size, 3)) + labels[:, None], labels=labels)
    place = str(tmp_path / "data.npz")
    recipe = {"weight_decay": 0.03, "step": 0.2, "batch_size": 64, "momentum": 0.9}
    options = ["--weight-decay", "0.03", "--learning-rate", "0.2", "--batch-size", "64", "--momentum", "0.9"]
    assert main(["plan", place, *options, "--json"]) == 0
    (remedy,) = [one for one in json.loads(capsys.readouterr().out)["remedies"] if one["kind"] == "oversample"]
    expected = oversampling_rates(np.bincount(labels).tolist(), "forecast", recipe=recipe)
    assert expected.added > 0
    assert remedy["parameters"]["rule"] == "forecast"
    assert list(remedy["parameters"]["rates"].values()) == pytest.approx(expected.rates.tolist())
    assert main(["plan", place, "--learning-rate", "0.2"]) == 2
    assert "give all three" in capsys.readouterr().err


def test_costs(capsys, data) -> None:
    arguments = ["plan", str(data), "--metric", "cost", "--json"]
    assert main([*arguments, "--costs", "1:0=20"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["metric"] == "cost:[[0.0, 1.0], [20.0, 0.0]]"
    assert facts["metric_name"] == "expected cost"
    assert main(arguments) == 2
    assert "costs for the metric cost" in capsys.readouterr().err
    assert main([*arguments, "--costs", "1:2=20"]) == 2
    assert "costs of pairs" in capsys.readouterr().err
