"""The short form of every part of the campaign: nothing may be lost. `./test --faults` runs the long one."""

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest

import lopsided
from lopsided.core.errors import LopsidedError
from tests.faults import bad_input, clients, crashes, crowds, disk, fuzz, numbers, rearranged
from tests.faults.call_outcomes import outcome
from tests.faults.console import Said, fault
from tests.faults.hostile_objects import SCORERS, SOUND_METRICS, each_once, sound, without_weights
from tests.faults.tally import Row, record, total


@pytest.mark.parametrize(
    "part", [bad_input, crashes, disk, crowds, clients, fuzz, rearranged], ids=lambda part: part.__name__
)
def test_nothing_is_lost(part) -> None:
    rows = part.run("short")
    assert total(rows).tried > 0
    assert total(rows).lost == []


@pytest.mark.parametrize("kind", [numbers.units, numbers.conditions, numbers.containers, numbers.solvers])
def test_extreme_numbers(kind) -> None:
    row = Row("numbers", kind.__name__)
    kind(row, "short")
    assert row.tried > 5
    assert row.lost == []
    assert row.answered > row.refused


@pytest.mark.parametrize(("name", "arguments"), list(each_once()))
def test_every_hostile_object_gets_an_answer_or_a_sentence(name, arguments, tmp_path: Path) -> None:
    _, ended, words = outcome(name, arguments, tmp_path)
    assert ended != "lost", words


def test_every_metric_of_a_weighted_trial_gets_an_answer_or_a_sentence(tmp_path: Path) -> None:
    X, y = sound()
    options = {"labels": y, "sample_weight": np.arange(30) % 4 / 2.0, "folds": 3, "repeats": 1, "store": tmp_path}
    tried = lopsided.trial(X, arms=["class weights"], forecasts=False, **options)
    refused = {}
    for metric in SOUND_METRICS:
        try:
            assert tried.judge(metric).recommendation is not None
        except LopsidedError as error:
            refused[metric] = str(error)
    assert without_weights in refused
    assert set(refused) <= {*SCORERS, "worst-group"}
    assert all(sentence.startswith("Expected ") and "\n" not in sentence for sentence in refused.values()), refused


def said(code: int = 2, out: str = "", err: str = "lopsided: Expected a, but got b; do c.\n", **more) -> Said:
    return Said(code, out, err, **more)


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (said(broke="ValueError: x"), "traceback"),
        (said(warned=("overflow",)), "warning"),
        (said(code=3), "exit code 3"),
        (said(code=1, err=""), "exit code 1"),
        (said(err="Traceback (most recent call last)\n"), "traceback"),
        (said(err="lopsided: one.\nlopsided: two.\n"), "not one sentence"),
        (said(err="Error\n"), "not one sentence"),
        (said(err="lopsided: \x1b[31m.\n"), "control characters"),
        (said(out="{}"), "printed"),
        (said(code=0, err="warning\n"), "complained"),
        (said(code=0, err="", out="{"), "no JSON"),
        (said(code=0, err="", out='{"a": NaN}'), "no JSON"),
        (said(err="lopsided: " + "x" * 2000 + ".\n"), "characters"),
    ],
)
def test_the_judge_sees_faults(tmp_path: Path, ended: Said, words: str) -> None:
    assert words in (fault(ended, ["score", "--json"], tmp_path, tmp_path) or "")


def test_the_judge_sees_files(tmp_path: Path) -> None:
    assert fault(said(), ["score"], tmp_path, tmp_path) is None
    (tmp_path / ".x.html.1.tmp").write_text("")
    assert "temporary" in (fault(said(), ["score"], tmp_path, tmp_path) or "")
    (tmp_path / ".x.html.1.tmp").unlink()
    (tmp_path / "x.html").write_text("<html>")
    assert "wrote a file" in (fault(said(), ["score"], tmp_path, tmp_path) or "")
    fine = said(code=0, err="")
    assert "half a page" in (fault(fine, ["score"], tmp_path, tmp_path) or "")
    (tmp_path / "x.html").write_text("<html><script>alert(1)</script></html>")
    assert "markup" in (fault(fine, ["score"], tmp_path, tmp_path) or "")


def test_a_hang_and_a_broken_interpreter_are_losses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The parent of the workers sees what a worker cannot say."""
    worker = tmp_path / "worker.py"
    worker.write_text(
        "import json, os, sys\n"
        "for case in range(int(sys.argv[5]), int(sys.argv[6])):\n"
        "    print(json.dumps({'begins': case}), flush=True)\n"
        "    os.abort() if case == 1 else None\n"
        "    print(json.dumps({'case': case, 'what': 'a', 'ended': 'answered', 'words': ''}), flush=True)\n"
    )
    popen = bad_input.subprocess.Popen
    monkeypatch.setattr(
        bad_input.subprocess, "Popen", lambda command, **about: popen([command[0], str(worker), *command[1:]], **about)
    )
    found = bad_input.Shared()
    bad_input._piece("commands", 0, 3, found)
    rows = list(found.rows.values())
    assert sum(row.answered for row in rows) == 2
    assert len(total(rows).lost) == 1


def test_every_command_and_public_name_is_tried(tmp_path: Path) -> None:
    from tests.docs.test_examples import COMMANDS
    from tests.faults.call_cases import _MAKERS
    from tests.faults.command_cases import CASES, _others

    assert set(_MAKERS) == {name for name in lopsided.__all__ if not name.startswith("__")}
    called = {_others(Random(number), tmp_path, tmp_path, None)[1][0] for number in range(300)}
    for number, (_, maker) in enumerate(CASES):
        (tmp_path / str(number)).mkdir()
        called.add(maker(Random(number), tmp_path / str(number), tmp_path, None)[1][0])
    assert set(COMMANDS) <= called


def test_the_campaign_is_as_large_as_promised() -> None:
    assert sum(bad_input.FULL.values()) >= 10_000
    assert sum(crashes.KILLS["full"].values()) >= 100


def test_the_published_record_lost_nothing() -> None:
    """What the page shows is a record of this form in which nothing was lost; without a record the page says so."""
    kept = Path(__file__).parents[2] / "docs/measured/faults.json"
    rows = json.loads(kept.read_text())["rows"] if kept.exists() else record([Row("numbers", "none")])
    for row in rows:
        assert row["lost"] == 0, row["losses"]
        assert row.keys() == record([Row("a", "b")])[0].keys()
