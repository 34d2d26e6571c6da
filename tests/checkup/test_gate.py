"""An audit as a gate: it stays shut where nothing could be checked, and one broken check leaves the others standing."""

import json

import numpy as np
import pytest

import lopsided
from lopsided.checkup.checks import counts, duplicates
from lopsided.cli.main import main

SOURCE = np.random.default_rng(0)
HALVES = np.arange(60) % 2
ROWS = SOURCE.standard_normal((60, 3)) + 4 * HALVES[:, None]
GATE = ["--no-report", "--fail-on", "failing", "--checks", "counts,duplicates,class_accuracy"]


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def save(**parts):
        np.savez("d.npz", **parts)
        return "d.npz"

    return save


def test_a_file_that_was_not_understood_does_not_pass(tmp_path, capsys) -> None:
    path = tmp_path / "tilde.csv"
    path.write_text("a~b~label\n1~2~x\n3~4~y\n5~6~x\n")
    assert main(["audit", str(path), "--no-report", "--fail-on", "at-risk"]) == 2
    said = capsys.readouterr()
    assert "labels" in said.err
    assert said.err.count("\n") == 1
    assert not said.out
    assert main(["audit", str(path), "--no-report"]) == 0
    assert "No label column was given; 1 of " in capsys.readouterr().out


def test_without_labels_the_first_words_say_so() -> None:
    found = lopsided.audit(ROWS)
    assert str(found).startswith("No label column was given; ")
    assert not found.passed()
    assert lopsided.audit(ROWS, checks=["duplicates"]).passed()
    assert not lopsided.audit(ROWS, checks=["counts"]).passed()


@pytest.mark.parametrize(
    "part", [{"classifier": np.full((2, 3), np.nan)}, {"prediction": np.full(60, "who")}, {"probabilities": ROWS}]
)
def test_a_part_that_was_set_aside_shuts_the_gate(data, capsys, part) -> None:
    path = data(features=ROWS, labels=HALVES, **part)
    assert main(["audit", path, "--no-report", "--checks", "counts"]) == 0
    capsys.readouterr()
    assert main(["audit", path, *GATE]) == 2
    assert "ignored" in capsys.readouterr().err
    assert main(["audit", data(features=ROWS, labels=HALVES), *GATE]) == 0


def test_a_broken_check_leaves_the_others(data, capsys, monkeypatch) -> None:
    def breaks(evidence, random):
        raise ZeroDivisionError("nobody thought of it")

    monkeypatch.setattr(counts, "CHECK", counts.CHECK.__class__(**{**vars(counts.CHECK), "run": breaks}))
    path = data(features=ROWS, labels=HALVES)
    assert main(["audit", path, *GATE, "--json"]) == 3
    said = capsys.readouterr()
    facts = json.loads(said.out)
    assert [one["id"] for one in facts["findings"]] == [duplicates.CHECK.id]
    assert next(one for one in facts["skipped"] if one["broken"])["check"] == "counts"
    assert "nobody thought of it" in said.out
    assert "counts" in said.err
    found = lopsided.audit(ROWS, labels=HALVES, checks=["counts", "duplicates"])
    assert found.broken == ("counts",)
    assert not found.passed()
    assert "broke counts" in str(found)
    assert "bug in lopsided" in str(found.to_html())


@pytest.mark.parametrize("rows", ["0", "-5", "99"])
def test_a_sample_of_no_rows_is_refused_for_every_kind_of_data(data, capsys, rows) -> None:
    path = data(features=ROWS, labels=HALVES)
    assert main(["audit", path, "--no-report", "--sample-rows", rows]) == 2
    assert "Expected a whole number >= 100 for the rows of the sample" in capsys.readouterr().err
