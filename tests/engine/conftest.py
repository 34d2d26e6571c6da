"""Toy claims, a fresh store for each test, and the command as a subprocess."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TOYS = Path(__file__).parent / "toys"


@pytest.fixture
def laboratory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `store` and `log`; the toy claims are registered."""
    monkeypatch.setenv("LOPSIDED_CLAIMS", str(TOYS))
    monkeypatch.setenv("LOPSIDED_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    return tmp_path


@pytest.fixture
def start(laboratory: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `lopsided ...` in its own process group; what a failed test leaves running is ended."""
    begun: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "lopsided", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ.copy(),
        )
        begun.append(process)
        return process

    yield begin
    for process in begun:
        process.kill()
        process.communicate()


def stored(laboratory: Path, claim: str = "toy-sum") -> list[Path]:
    return list((laboratory / "store" / "tasks" / claim).glob("*.json"))


def measured(laboratory: Path) -> list[str]:
    """One line per measurement that began."""
    log = laboratory / "log"
    return log.read_text().splitlines() if log.exists() else []
