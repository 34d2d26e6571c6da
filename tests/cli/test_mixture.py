"""`lopsided mixture` as a person meets it."""

import json

import pytest

import lopsided
from lopsided.cli.main import main

SPECIFICATION = """
[[group]]
fraction = 0.8
mean = 0
covariance = 1
[[group]]
fraction = 0.2
mean = 1
covariance = [4, 1, 1]
[teacher]
neurons = 2
seed = 1
"""
KEYS = ["average_excess_risk", "weight_error", "rho", "D6", "D12", "Gamma", "B", "q", "v", "Ew", "E", "El", "seconds"]


@pytest.fixture
def specification(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(SPECIFICATION)
    return str(path)


def test_json_has_the_keys_that_scripts_rely_on(specification, capsys):
    assert main(["mixture", specification, "--samples", "2000", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert set(KEYS) <= set(facts)
    assert len(facts["groups"]) == 2
    for group in facts["groups"]:
        assert {"fraction", "excess_risk", "label_entropy", "fraction_effect"} <= set(group)
        assert group["fraction_effect"] in ("helps", "hurts", "neutral")
    assert facts["average_excess_risk"] == pytest.approx(3 * 2 / 4000)
    again = lopsided.mixture(specification, 2000).facts()
    assert again["weight_error"] == facts["weight_error"]


def test_the_table_names_the_groups_and_the_plot_is_written(specification, tmp_path, capsys, monkeypatch):
    from lopsided.worlds import mixture_sweep

    monkeypatch.setattr(mixture_sweep, "REPEATS", 2)
    monkeypatch.setattr(mixture_sweep, "THEORY_POINTS", 3)
    target = tmp_path / "plot.html"
    assert main(["mixture", specification, "--samples", "2000", "--plot", str(target)]) == 0
    text = capsys.readouterr().out
    assert "excess risk" in text
    page = target.read_text()
    assert "Label entropy" in page
    assert "simulated" in page


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing.toml", "--samples", "10"],
        ["{spec}"],
        ["{spec}", "--samples", "0"],
        ["{spec}", "--samples", "ten"],
        ["{spec}", "extra", "--samples", "10"],
        ["{spec}", "--samples", "10", "--plot", "plot.gif"],
        ["{spec}", "--samples", "10", "--plot", "{spec}.html", "--group", "7"],
        ["fit"],
        ["fit", "nothing.csv"],
        ["fit", "{spec}"],
    ],
)
def test_bad_input_ends_in_one_sentence_and_exit_code_2(arguments, specification, capsys):
    assert main(["mixture", *[word.format(spec=specification) for word in arguments]]) == 2
    complaint = capsys.readouterr()
    assert complaint.out == ""
    assert complaint.err.count("\n") == 1
    assert "Traceback" not in complaint.err
