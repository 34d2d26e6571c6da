"""Wheel and sdist: built without a network, whole, and working where only they are installed."""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import lopsided
from tests.docs.pages import ROOT


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    finished = subprocess.run([*command], cwd=cwd, env=environment or None, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """sdist from the checkout, wheel from the sdist: what a package index would do."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    source = folder / f"lopsided-{lopsided.__version__}"
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=source)
    return folder


def test_the_wheel_holds_what_the_package_needs(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        inside = set(wheel.namelist())
        metadata = wheel.read(f"lopsided-{lopsided.__version__}.dist-info/METADATA").decode()
    own = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src/lopsided").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert own <= inside
    assert "lopsided/py.typed" in inside
    assert any(name.endswith("licenses/LICENSE") for name in inside)
    assert not [name for name in inside if name.startswith(("tests/", "docs/"))]
    for line in ("Requires-Python: >=3.11", "License-Expression: BSD-3-Clause", "Provides-Extra: docs"):
        assert line in metadata
    for minor in (11, 12, 13):
        assert f"Programming Language :: Python :: 3.{minor}" in metadata


def test_the_sdist_holds_what_a_developer_needs(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("README.md", "CITATION.cff", "LICENSE", "docs/conf.py", "tests/conftest.py", "test", "lopsided"):
        assert name in inside, name
    assert not [name for name in inside if "_cache" in name or "__pycache__" in name]


def test_it_works_where_only_the_wheel_is(built: Path, tmp_path: Path) -> None:
    target = tmp_path / "there"
    pip = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check")
    run(sys.executable, *pip, "--target", target, next(built.glob("*.whl")), cwd=tmp_path)
    environment = {"PYTHONPATH": str(target), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    where = run(sys.executable, "-c", "import lopsided; print(lopsided.__file__)", cwd=tmp_path, **environment)
    assert where.startswith(str(target))
    arguments = ("--counts", "5000*5,50*5", "--json", "--plot", "forecast.html")
    printed = run(sys.executable, "-m", "lopsided", "collapse", *arguments, cwd=tmp_path, **environment)
    assert '"collapsed"' in printed
    assert (tmp_path / "forecast.html").stat().st_size > 100_000  # with the drawing library inside
    assert (target / "bin/lopsided").exists()
    assert "lp-etf" in run(sys.executable, "-m", "lopsided", "claims", cwd=tmp_path, **environment)


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {lopsided.__version__}\n" in citation
    assert f"## {lopsided.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    wanted = next(name for name in project["build-system"]["requires"] if name.startswith("hatchling"))
    assert wanted in (ROOT / "requirements/dev.in").read_text().split()
