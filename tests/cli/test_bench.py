"""Benchmarks: an interrupted run still shows what it measured, and says that it is not whole."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lopsided.cli import bench
from lopsided.cli.main import INTERRUPTED, main

ROW = {
    "what": "a sum of squares",
    "seconds": 0.5,
    "peer": "a loop",
    "peer_seconds": 2.0,
    "note": "same sum" + 40 * " and more" + " to the end",
}


def _loads(*, interrupted: bool) -> Callable[[Path], Callable[[bool], Iterator[dict[str, Any]]]]:
    def rows(quick: bool) -> Iterator[dict[str, Any]]:
        yield {"doing": "0 of 1 sums"}  # how far it is, no row
        yield ROW
        if interrupted:
            raise KeyboardInterrupt

    return lambda path: rows


@pytest.mark.parametrize("interrupted", [False, True])
def test_json_holds_the_rows_measured(
    interrupted: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "_load", _loads(interrupted=interrupted))
    code = main(["bench", "wide", "trial", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert code == (INTERRUPTED if interrupted else 0)
    assert printed["complete"] is not interrupted
    assert printed["benchmarks"] == ({"wide": [ROW]} if interrupted else {"wide": [ROW], "trial": [ROW]})


@pytest.mark.parametrize("interrupted", [False, True])
def test_the_table_shows_the_rows_measured(
    interrupted: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "_load", _loads(interrupted=interrupted))
    assert main(["bench", "wide"]) == (INTERRUPTED if interrupted else 0)
    out = capsys.readouterr().out
    assert "a sum of squares" in out
    assert "4.0x" in out
    assert "to the end" in " ".join(out.split())  # a note holds figures and is not cut
