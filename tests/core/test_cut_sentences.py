"""Names of any length do not make sentences of any length."""

import numpy as np
import pytest

import lopsided
from lopsided.cli.main import main
from lopsided.core.errors import MOST_LETTERS, InputError, cut

LONG = "L" * 37_000
MOST = 4 * MOST_LETTERS  # an error has three parts, each of which is cut, and some words between them


def test_the_middle_goes() -> None:
    assert cut("short") == "short"
    assert cut("a" * MOST_LETTERS) == "a" * MOST_LETTERS
    short = cut("b" + LONG + "e")
    assert len(short) <= MOST_LETTERS
    assert short[0] + short[-1] == "be"


def test_errors_are_cut() -> None:
    error = InputError(LONG, LONG, LONG)
    assert len(str(error)) < MOST
    assert str(error).endswith("L.")
    again = type(error)(*error.__reduce__()[1])
    assert str(again) == str(error)
    with pytest.raises(InputError) as caught:
        lopsided.audit(np.ones((4, 2)) * np.arange(4)[:, None], labels=[LONG, "a", "b", None])
    assert len(str(caught.value)) < MOST


def test_findings_notes_and_commands_are_cut(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    labels = np.where(random.random(300) < 0.03, LONG, "b")
    groups = np.where(random.random(300) < 0.02, LONG + "g", "k")
    features = random.normal(size=(300, 3)) + 3 * (groups != "k")[:, None]
    chances = random.dirichlet([1.0, 1.0], 300)
    found = lopsided.audit(features, labels=labels, groups={"G" * 9000: groups}, probabilities=chances)
    assert any("L" * 50 in one.message for one in found.findings)
    for one in found.findings:
        assert max(map(len, (one.subject, one.message, one.remedy))) <= MOST_LETTERS
    assert all(len(note) <= MOST_LETTERS for note in found.evidence.notes)
    rows = [
        ",".join([*map(str, row), label, group]) for row, label, group in zip(features, labels, groups, strict=True)
    ]
    (tmp_path / "d.csv").write_text("\n".join(["u,v,w,label," + "G" * 9000, *rows]) + "\n")
    for command in ("audit", "plan"):
        main([command, "d.csv", "--groups", "G" * 9000, *(["--no-report"] if command == "audit" else [])])
        assert max(map(len, capsys.readouterr().out.splitlines())) < MOST
