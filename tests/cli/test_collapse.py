"""`lopsided collapse` as a person or a script meets it."""

import json
import math

import pytest

from lopsided.cli.main import main

KEYS = {
    *("classes", "tau", "multiplier", "count_needed", "objective", "relative_gap", "collapsed", "minority_cosine"),
    *("majority_cosine", "ratio", "ratio_threshold", "vanishing_ratio", "oversampling_rate", "seconds"),
}


def run(capsys, *arguments):
    code = main(["collapse", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def run_json(capsys, *arguments):
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_json(capsys) -> None:
    facts = run_json(capsys, "--counts", "5000*5,50*5", "--feature-energy", "5", "--weight-energy", "1")
    assert set(facts) >= KEYS
    assert facts["classes"] == 10
    assert facts["tau"] == pytest.approx(10 * math.sqrt(5))
    assert facts["ratio"] == 100
    assert facts["ratio_threshold"] == pytest.approx(12.19245, rel=1e-6)
    assert facts["vanishing_ratio"] is None
    assert facts["collapsed"] == [5, 6, 7, 8, 9]
    assert facts["minority_cosine"] == 1
    assert facts["oversampling_rate"] is None
    assert facts["relative_gap"] < 1e-9


def test_forms_agree(capsys) -> None:
    energies = run_json(capsys, "--counts", "90,30,8,8", "--feature-energy", "4", "--weight-energy", "1")
    tau = run_json(capsys, "--counts", "90,30,8,8", "--tau", "8")
    penalised = run_json(capsys, "--counts", "90,30,8,8", "--multiplier", str(energies["multiplier"]))
    decays = run_json(
        capsys,
        *("--counts", "90,30,8,8", "--weight-decay", str(energies["multiplier"] * 2)),
        *("--feature-decay", str(energies["multiplier"] / 2)),
    )
    for other in (tau, penalised, decays):
        # The multiplier is known to the square root of the gap, and so are the other forms.
        assert other["objective"] == pytest.approx(energies["objective"], rel=1e-5)


def test_many_sizes_have_no_ratio(capsys) -> None:
    facts = run_json(capsys, "--counts", "100,50,20,5", "--features", "relu", "--tau", "6")
    assert facts["ratio"] is facts["ratio_threshold"] is facts["vanishing_ratio"] is None
    assert facts["features"] == "relu"


def test_names_from_a_file(capsys, tmp_path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("class,count\ncat,900\ndog,800\n<b>emu</b>,4\n[red]fox,3\n")
    facts = run_json(capsys, "--counts-file", str(path), "--tau", "8")
    assert facts["collapsed_names"] == ["<b>emu</b>", "[red]fox"]
    code, out, _ = run(capsys, "--counts", str(path), "--tau", "8", "--plan", "--target-cosine", "0.5")
    assert code == 0
    assert "[red]fox" in out  # names are text, never markup
    assert "2 of 4 classes collapse" in out


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("html", b"<!doctype html>")])
@pytest.mark.parametrize("counts", ["500*7,100*3", "500*7,20*3", "500,90,20,20,3", "9,9,9", "5,3"])
def test_plots(capsys, tmp_path, ending, start, counts) -> None:
    path = tmp_path / f"plot.{ending}"
    facts = run_json(capsys, "--counts", counts, "--plot", str(path))
    assert facts["plot"] == str(path)
    content = path.read_bytes()
    assert content.startswith(start)
    assert len(content) < 2_000_000
    if ending == "html":
        text = content.decode()
        assert "http://" not in text.replace("http://www.w3.org", "")
        assert "src=" not in text.partition('id="plots"')[0]  # nothing is loaded from elsewhere


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--counts"),
        (["--counts", "5,3", "--counts-file", "x.csv"], "both"),
        (["--counts", "5,0"], "0 for class 1"),
        (["--counts", "5,-3"], "-3 for class 1"),
        (["--counts", "5"], "at least 2 classes"),
        (["--counts", "nowhere.csv"], "which does not exist"),
        (["--counts-file", "nowhere"], "which does not exist"),
        (["--counts", "many"], "'many'"),
        (["--counts", "5,3", "--feature-energy", "nan", "--weight-energy", "1"], "nan"),
        (["--counts", "5,3", "--feature-energy", "5"], "weight energy"),
        (["--counts", "5,3", "--feature-energy", "much", "--weight-energy", "1"], "'much'"),
        (["--counts", "5,3", "--multiplier", "-1"], "-1"),
        (["--counts", "5,3", "--tau", "2", "--multiplier", "1"], "and"),
        (["--counts", "5,3", "--features", "sigmoid"], "'sigmoid'"),
        (["--counts", "5,5,3,3", "--target-cosine", "2"], "target cosine"),
        (["--counts", "5,3", "--class-weights", "1,2,3"], "class weights"),
        (["--counts", "5,3", "--plot", "x.pdf"], ".html or .png"),
        (["--counts", "5,3", "--plot", "no/such/place.png"], "existing directory"),
        (["--counts", "5,3", "--nonsense"], "--nonsense"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(capsys, arguments, words) -> None:
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("lopsided: ")
    assert err.count("\n") == 1
    assert words in err
    assert "Traceback" not in err


def test_empty_file(capsys, tmp_path) -> None:
    (tmp_path / "empty.csv").write_text("")
    code, _, err = run(capsys, "--counts", str(tmp_path / "empty.csv"))
    assert code == 2
    assert "empty" in err


def test_full_disk_and_read_only_places(capsys, tmp_path, monkeypatch) -> None:
    import os

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    code, _, err = run(capsys, "--counts", "5,3", "--plot", str(tmp_path / "plot.png"))
    assert code == 2
    assert "No space left" in err
    assert list(tmp_path.iterdir()) == []  # nothing half written


def test_interrupt(capsys, monkeypatch) -> None:
    import lopsided.theory.collapse

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(lopsided.theory.collapse, "collapse", interrupted)
    code, _, err = run(capsys, "--counts", "5,3")
    assert code == 130
    assert "interrupted" in err
