"""`lopsided skill --publish`: a score that lacks a family does not replace one that has it."""

from lopsided.cli.main import main


def test_a_score_that_lacks_families_is_not_published(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.delenv("LOPSIDED_DATA", raising=False)
    target = tmp_path / "published.json"
    arguments = ["--family", "collapse-tail", "--data-dir", str(tmp_path), "--store", str(tmp_path / "store")]
    assert main(["skill", "--run", *arguments, "--publish", str(target)]) == 2
    complaint = capsys.readouterr().err
    assert "none of collapse-tail; needs mnist" in complaint
    assert ".." not in complaint
    assert not target.exists()
