"""`lopsided trial` and `lopsided plan` end to end."""

import json

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


def test_trial(capsys, tmp_path, data) -> None:
    report, export = tmp_path / "trial.html", tmp_path / "export"
    arguments = ["trial", str(data), "--store", str(tmp_path / "s"), "--repeats", "1", "--jobs", "1", "--json"]
    assert main([*arguments, "--report", str(report), "--export", str(export)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {"arms", "winner", "seconds"} <= facts.keys()
    assert report.read_text().startswith("<!doctype html>")
    assert (export / "plan.json").exists()
    with np.load(export / "oversample.npz") as arrays:
        assert {"indices", "weights"} <= set(arrays.files)
    assert main([name for name in arguments if name != "--json"]) == 0
    assert "plain" in capsys.readouterr().out


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


def test_plan(capsys, data) -> None:
    assert main(["plan", str(data), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["remedies"]
    assert main(["plan", str(data), "--weight-decay", "0.01"]) == 0
    assert "forecast gain" in capsys.readouterr().out


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
