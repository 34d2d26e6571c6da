"""The house itself: light imports, the import contract, the launcher, lazily exported names."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lopsided

ROOT = Path(__file__).parents[1]


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_is_light() -> None:
    loaded = python("import lopsided, sys; print(*sys.modules)").split()
    assert not {"numpy", "scipy", "torch", "numba", "matplotlib", "sklearn", "dask", "rich", "typer"} & set(loaded)


def test_help_is_light() -> None:
    code = (
        "import sys\nfrom lopsided.cli.main import main\ncode = main(['--help'])\nprint(*sys.modules)\nsys.exit(code)"
    )
    loaded = python(code).splitlines()[-1].split()
    assert not {"numpy", "scipy", "torch", "numba", "matplotlib", "sklearn", "dask"} & set(loaded)


@pytest.mark.parametrize("name", lopsided.__all__)
def test_public_names_resolve(name) -> None:
    assert getattr(lopsided, name) is not None
    assert name in dir(lopsided)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'collaps'"):
        _ = lopsided.collaps


def test_import_contract_fails_when_a_lower_room_imports_a_higher_one(tmp_path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    checker = Path(sys.executable).with_name("lint-imports")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}

    def kept() -> bool:
        run = subprocess.run([checker, "--no-cache"], cwd=tmp_path, env=environment, capture_output=True, text=True)
        return run.returncode == 0

    assert kept()
    path = tmp_path / "src/lopsided/theory/collapse.py"
    path.write_text(path.read_text() + "\nfrom lopsided.measure import angles\n")
    assert not kept()


def fake_python(folder: Path, script: str) -> dict[str, str]:
    """An environment in which every Python the launcher can find is this shell script."""
    folder.mkdir()
    for tool in ("sh", "dirname", "cmp", "rm", "cp", "tail", "flock", "env", "mkdir"):
        found = shutil.which(tool)
        if found:
            (folder / tool).symlink_to(found)
    for name in ("python3", "python3.13", "python3.12", "python3.11", "python"):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return {"PATH": str(folder), "HOME": str(folder)}


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('case "$1" in -V) echo "Python 3.9.1" ;; *) exit 1 ;; esac', "Python 3.9.1 was found"),
        ('case "$1" in -V) echo "Python 3.12.1" ;; -c) case "$2" in *venv*) exit 1 ;; esac ;; esac', "venv"),
    ],
)
def test_launcher_says_what_is_missing(tmp_path, script, words) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("lopsided", "pyproject.toml"):
        shutil.copy(ROOT / name, checkout)
    shutil.copytree(ROOT / "requirements", checkout / "requirements")
    environment = fake_python(tmp_path / "bin", script)
    run = subprocess.run(["sh", checkout / "lopsided", "demo"], env=environment, capture_output=True, text=True)
    assert run.returncode == 2
    assert words in run.stderr
    assert "lopsided:" in run.stderr
