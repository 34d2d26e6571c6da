"""A log gets one line a minute with the time left, and nothing when the work is short."""

import pytest

from lopsided.cli import progress
from lopsided.cli.progress import LogLines, progress_steps, progress_tasks, status_line


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_log_gets_one_line_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    say = LogLines("claims", clock)
    for done in range(1, 13):
        clock.now += 30
        say(done, 24)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6  # six minutes
    assert lines[0] == "lopsided: claims 2 of 24, about 11 min left"  # 22 tasks of 30 s
    assert lines[-1] == "lopsided: claims 12 of 24, about 6 min left"


def test_nothing_done_promises_nothing_and_the_end_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    say = LogLines("claims", clock)
    clock.now = 61
    say(0, 5)
    clock.now = 200
    say(5, 5)
    assert capsys.readouterr().err == "lopsided: claims 0 of 5\n"


def test_short_work_leaves_a_log_clean(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_tasks("claims") as start:
        count = start(3)
        count(1)
        count(2)
    with progress_steps("auditing") as told:
        told(1, 2)
        told(2, 2, "writing")
    captured = capsys.readouterr()
    assert captured.err + captured.out == ""


def test_work_of_unknown_length_says_in_a_log_what_is_known_once_a_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(progress.time, "monotonic", clock)
    with status_line("measuring") as say:
        for rows in range(1, 6):
            clock.now += 30
            say(f"{rows} measured")
    assert capsys.readouterr().err.splitlines() == ["lopsided: 2 measured", "lopsided: 4 measured"]
    with status_line("measuring", quiet=True) as say:
        clock.now += 100
        say("6 measured")
    assert capsys.readouterr().err == ""
