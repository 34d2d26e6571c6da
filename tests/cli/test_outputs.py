"""What commands write: never over what they read, and a failed write does not lose what was found."""

import errno
import inspect
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from lopsided.cli import app, options
from lopsided.cli.main import main
from lopsided.core import files
from lopsided.core.errors import InputError

COMMANDS = {module.__name__.rpartition(".")[2]: module for module in (*app._ON_DATA, *app._ON_THE_HOUSE)}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    labels, features = np.arange(90) % 3, random.normal(size=(90, 3))
    np.savez("oversample.npz", features=features, label=labels)
    rows = "".join(f"{a},{b},{c},{k}\n" for (a, b, c), k in zip(features, labels, strict=True))
    Path("d.csv").write_text("a,b,c,label\n" + rows)
    Path("counts.csv").write_text("100\n10\n")
    os.symlink("d.csv", "soft.csv")
    os.link("d.csv", "hard.csv")
    return tmp_path


@pytest.mark.parametrize("data", ["d.csv", "soft.csv", "hard.csv", "./d.csv"])
@pytest.mark.parametrize("out", ["d.csv", "./d.csv", "soft.csv", "hard.csv", "../{folder}/d.csv"])
def test_scores_do_not_replace_the_data(folder: Path, capsys, data: str, out: str) -> None:
    before = Path("d.csv").read_bytes()
    assert main(["score", data, "--out", out.format(folder=folder.name)]) == 2
    assert "for --out, but got" in capsys.readouterr().err
    assert Path("d.csv").read_bytes() == before
    assert Path("soft.csv").is_symlink()


@pytest.mark.parametrize(
    "arguments",
    [
        ["score", "oversample.npz", "--labels", "labels.csv", "--out", "labels.csv"],
        ["plan", "oversample.npz", "--export", "."],
        ["trial", "oversample.npz", "--export", "../{folder}"],
        ["collapse", "--counts-file", "counts.png", "--plot", "counts.png"],
        ["mixture", "spec.html", "--samples", "9", "--plot", "spec.html"],
        ["audit", "pictures", "--report", "pictures/a/1.htm", "--labels", "pictures/a/1.htm"],
        ["score", "pictures", "--plot", "pictures/a/1.png"],
        ["trial", "pictures", "--report", "./pictures/a/1.png"],
        ["skill", "--publish", "store/tasks/t/k.json", "--store", "store"],
        ["skill", "--publish", "new.json", "--details", "./new.json"],
    ],
    ids=lambda words: " ".join(words)[:30],
)
def test_no_command_writes_over_what_it_reads(folder: Path, capsys, arguments: list[str]) -> None:
    for name in (
        "labels.csv",
        "counts.png",
        "spec.html",
        "pictures/a/1.png",
        "pictures/a/1.htm",
        "store/tasks/t/k.json",
    ):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy("counts.csv", name)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert main([word.format(folder=folder.name) for word in arguments]) == 2
    told = capsys.readouterr().err
    assert "which this command reads" in told or "for both" in told
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_page_in_a_folder_that_is_read_may_be_written_again(folder: Path) -> None:
    Path("page.html").write_text("of an earlier run")
    files.check_apart({"--report": Path("page.html")}, [folder])
    with pytest.raises(InputError):
        files.check_apart({"--plot": Path("page.html")}, ["page.html"])


def test_every_path_is_known_to_be_written_or_read() -> None:
    """An option of a new command that takes a path belongs into one of these lists."""
    read = {"data", "baseline", "store", "data_dir", "cache", "token_file"}
    for module in COMMANDS.values():
        for name, parameter in inspect.signature(module.command).parameters.items():
            if "Path" in str(parameter.annotation):
                assert name in {*read, *options.OUTPUTS}, f"{module.__name__}: {name}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "d.csv", "--report", "r.html"],
        ["score", "d.csv", "--out", "s.csv"],
        ["score", "d.csv", "--out", "s.parquet", "--plot", "s.html"],
        ["plan", "d.csv", "--export", "e"],
        ["collapse", "--counts", "100,10", "--plot", "p.html"],
        ["skill", "--out", "p.html"],
    ],
    ids=" ".join,
)
def test_a_full_disk_does_not_lose_what_was_found(
    monkeypatch: pytest.MonkeyPatch, capsys, arguments: list[str]
) -> None:
    def full(*paths: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    assert main([*arguments, "--json"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out)
    assert err.startswith("lopsided: Expected to write")
    assert "No space left" in err


def test_labels_are_no_formulas_of_a_spreadsheet() -> None:
    rows = Path("d.csv").read_text().replace(",0\n", ",=cmd|'/C calc'!A0\n").replace(",1\n", ",-1\n")
    Path("d.csv").write_text(rows)
    assert main(["score", "d.csv", "--out", "s.csv"]) == 0
    text = Path("s.csv").read_text()
    assert "'=cmd|" in text
    assert ',"=cmd|' not in text
    assert ",=cmd|" not in text
    assert "'-1" not in text
    assert "-1" in text


def test_long_names_and_the_folder_reach_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(files.os, "fsync", lambda handle: synced.append(os.path.isdir(f"/proc/self/fd/{handle}")))
    name = "x" * 250 + ".html"
    files.write_atomically(name, "content")
    assert Path(name).read_text() == "content"
    if Path("/proc/self/fd").exists():
        assert synced == [False, True]


def test_data_of_a_long_name_have_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = Path("é" * 120 + "x.csv")
    data.write_text("a,label\n" + "".join(f"{row % 7},{row % 2}\n" for row in range(20)))
    assert main(["score", str(data)]) == 0
    assert main(["audit", str(data), "--checks", "counts"]) == 0
    assert [path.name[-15:] for path in sorted(tmp_path.glob("*s.parquet"))] == ["-scores.parquet"]
    assert len(list(tmp_path.glob("*-audit.html"))) == 1
