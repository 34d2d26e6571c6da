"""The house itself: light imports, the import contract, the launcher, lazily exported names."""

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest

import lopsided
from tests.time_left import TimeLeft

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

    path = tmp_path / "src/lopsided/theory/collapse.py"
    path.write_text(path.read_text() + "\nfrom lopsided.measure import angles\n")
    run = subprocess.run([checker, "--no-cache"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 1
    # For this import alone: ./test runs the contract on the tree as it is.
    assert re.findall(r"^- +(lopsided[\w.]*) -> (lopsided[\w.]*)", run.stdout, re.MULTILINE) == [
        ("lopsided.theory.collapse", "lopsided.measure.angles")
    ], run.stdout


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


@pytest.mark.parametrize("name", ["run", "dev", "fuzz"])
def test_every_pin_has_its_hashes(name) -> None:
    """`pip install --require-hashes` refuses a file in which one pin has none."""
    text = (ROOT / f"requirements/{name}.txt").read_text().replace("\\\n", "")
    pins = [line for line in text.splitlines() if line and not line.startswith(("#", "-r "))]
    assert pins
    for pin in pins:
        assert re.fullmatch(r"[\w.-]+==[\w.]+(\s+--hash=sha256:[0-9a-f]{64})+", pin), pin[:80]


def test_hashes_are_those_of_the_version_alone(tmp_path) -> None:
    """Against an index with another version, another package of similar name, and names written in three ways."""
    page = tmp_path / "some-name" / "index.html"
    page.parent.mkdir()
    files = [
        "some_name-1.0-py3-none-any.whl",
        "Some.Name-1.0.tar.gz",
        "some_name-1.0.1.tar.gz",
        "some_name_more-1.0.zip",
    ]
    page.write_text("".join(f'<a href="../x/{file}#sha256={n:064x}">f</a>' for n, file in enumerate(files)))
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        environment = {**os.environ, "PIP_INDEX_URL": f"http://127.0.0.1:{server.server_port}"}
        command = [sys.executable, ROOT / "requirements/hashes.py"]
        pins = "# Pins.\nsome-name==1.0\n"
        run = subprocess.run(command, env=environment, input=pins, capture_output=True, text=True, check=True)
        unknown = subprocess.run(command, env=environment, input="some-name==3.0\n", capture_output=True, text=True)
        server.shutdown()
    assert run.stdout == f"{pins.rstrip()} \\\n    --hash=sha256:{0:064x} \\\n    --hash=sha256:{1:064x}\n"
    assert unknown.returncode == 1
    assert "no file of some-name==3.0" in unknown.stderr


def test_the_time_left_follows_the_last_run_and_the_pace_of_this_one() -> None:
    kept = SimpleNamespace(get=lambda key, default: {"a": 1.0, "b": 3.0, "c": 6.0})
    left = TimeLeft(SimpleNamespace(cache=kept))
    left.start(["a", "b", "c", "new"])
    left.finished, left.left = {"a", "b"}, {"c", "new"}
    # 4 s of known work took 8 s; 6 s and a new test of the mean, 2 s, are left.
    assert left.remaining(8.0) == pytest.approx(16.0)
    assert left.line(8.0) == "2 of 4 tests after 8 s; about 16 s left"
