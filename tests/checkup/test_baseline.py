"""`audit --baseline`: only what is new or worse shuts the gate."""

import json
from dataclasses import replace

import numpy as np
import pytest

import lopsided
from lopsided.checkup.baseline import changes
from lopsided.checkup.checks.finding import Finding, Level
from lopsided.cli.main import main
from lopsided.core.errors import MOST_LETTERS

ROWS = np.random.default_rng(0).standard_normal((260, 3))
COUNTS = ["--no-report", "--checks", "counts"]


def labels(rare: int) -> np.ndarray:
    return np.array(["common"] * (260 - rare) + ["rare"] * rare)


@pytest.fixture
def audits(tmp_path, monkeypatch, capsys):
    """Writes a table with a number of rare labels, audits it and keeps the JSON."""
    monkeypatch.chdir(tmp_path)

    def audit(rare: int, *arguments: str) -> tuple[int, dict]:
        np.savez("d.npz", features=ROWS, labels=labels(rare))
        code = main(["audit", "d.npz", *COUNTS, "--json", *arguments])
        return code, json.loads(capsys.readouterr().out)

    return audit


def keep(facts: dict, name: str = "old.json") -> str:
    with open(name, "w") as target:
        json.dump(facts, target)
    return name


def test_what_is_known_passes_and_what_is_new_does_not(audits) -> None:
    code, healthy = audits(130)
    assert (code, healthy["level"]) == (0, "healthy")
    code, poor = audits(4)
    assert (code, poor["level"]) == (0, "failing")
    assert audits(4, "--fail-on", "at-risk")[0] == 1
    code, facts = audits(4, "--baseline", keep(poor), "--fail-on", "at-risk")
    assert (code, facts["since_baseline"]["new"]) == (0, [])
    code, facts = audits(4, "--baseline", keep(healthy))
    assert code == 1
    assert facts["since_baseline"]["new"] == [{"id": "counts", "subject": "class rare"}]
    code, facts = audits(130, "--baseline", keep(poor))
    assert (code, facts["since_baseline"]["gone"]) == (0, ["counts: class rare"])


def test_a_check_that_no_longer_runs_shuts_the_gate(audits) -> None:
    _, old = audits(130)
    old["findings"].append({"id": "duplicates", "subject": "rows", "level": "healthy", "value": None})
    code, facts = audits(130, "--baseline", keep(old))
    assert (code, facts["since_baseline"]["lost"]) == (1, ["duplicates"])


def finding(level: Level, subject: str, value: float | None = 1.0) -> Finding:
    return Finding(level, subject, value, None, "words", id="counts")


def earlier(*findings: tuple[str, str, float]) -> dict:
    names = ("level", "subject", "value")
    return {"findings": [{"id": "counts", **dict(zip(names, one, strict=True))} for one in findings]}


def test_levels_and_pooled_findings() -> None:
    old = earlier(("at risk", "class a", 3.0), ("failing", "class b", 1.0), ("at risk", "3 more classes", 3.0))
    now = [
        finding(Level.FAILING, "class a"),
        finding(Level.AT_RISK, "class b", 0.0),  # better, and known
        finding(Level.AT_RISK, "2 more classes", 2.0),
    ]
    found = changes(now, {"counts"}, old)
    assert [one.subject for one in found.worse] == ["class a"]
    assert not found.new
    assert not found.passed(Level.AT_RISK)
    assert found.sentence() == "Compared with the baseline: 1 worse (class a)."
    more = changes([finding(Level.AT_RISK, "4 more classes", 4.0)], {"counts"}, old)
    assert [one.subject for one in more.worse] == ["4 more classes"]
    assert more.passed(Level.FAILING)
    assert not more.passed(Level.AT_RISK)
    assert more.gone == ("counts: class a", "counts: class b")


def test_from_python_and_in_words(capsys, tmp_path) -> None:
    first = lopsided.audit(ROWS, labels=labels(130), checks=["counts"])
    second = lopsided.audit(ROWS, labels=labels(4), checks=["counts"])
    assert first.since(first.to_dict()).sentence().startswith("Nothing is new or worse")
    assert [one.subject for one in second.since(first.to_json(tmp_path / "old.json")).new] == ["class rare"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"findings": [{}]}', '{"findings": 3}', "[" * 100_000, "\x00"])
def test_other_files_are_refused(audits, capsys, content: str) -> None:
    with open("old.json", "w") as target:
        target.write(content)
    np.savez("d.npz", features=ROWS, labels=labels(9))
    assert main(["audit", "d.npz", *COUNTS, "--baseline", "old.json"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "earlier audit" in said


def test_long_names_that_differ_in_the_middle_are_different_subjects() -> None:
    """Subjects are cut; of two that look the same afterwards, one would hide the other from a gate."""
    names = ["L" * 500 + middle + "R" * 200 for middle in "xy"]
    one, two = (Finding(Level.FAILING, f"class {name}", 0.1, None, "m") for name in names)
    assert one.subject != two.subject
    assert max(len(one.subject), len(two.subject)) <= MOST_LETTERS
    assert replace(one, id="counts").subject == one.subject  # is set later on
    earlier = {"findings": [{"id": "", "level": "failing", "subject": one.subject, "value": 0.1}]}
    assert [found.subject for found in changes([two], {""}, earlier).new] == [two.subject]
