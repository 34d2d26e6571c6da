"""Runs that are parallel, interrupted, killed, robbed of a worker or the disk: the numbers stay the same."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lopsided.core.errors import InputError
from lopsided.engine.store import Store
from lopsided.papers.reproduce import reproduce
from tests.engine.conftest import measured, stored

Start = Callable[..., "subprocess.Popen[str]"]


def _numbers(laboratory: Path) -> list[tuple[str, int, object]]:
    kept = Store(laboratory / "store").results()
    return sorted((json.dumps(result.settings), result.seed, result.numbers["value"]) for result in kept)


def _wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited a minute in vain"
        time.sleep(0.02)


def test_one_job_and_two_give_the_same_numbers(laboratory: Path) -> None:
    alone = reproduce(["toy-sum"], jobs=1, store=laboratory / "store")
    both = reproduce(["toy-sum"], jobs=2, store=laboratory / "two")
    assert alone.claims[0].numbers == both.claims[0].numbers == {"wrong": 0, "rows": 12}
    processes = {line.split()[2] for line in measured(laboratory)[12:]}
    assert str(os.getpid()) not in processes
    kept = list(Store(laboratory / "two").results())
    assert {result.numbers["threads"] for result in kept} == {"1"}


@pytest.mark.parametrize(
    ("what", "jobs"), [(signal.SIGINT, "1"), (signal.SIGINT, "2"), (signal.SIGTERM, "2"), (signal.SIGKILL, "2")]
)
def test_an_interrupted_run_resumes(laboratory: Path, start: Start, what: signal.Signals, jobs: str) -> None:
    run = start("reproduce", "toy-sum", "--scale", "paper", "--jobs", jobs)
    _wait_for(lambda: len(stored(laboratory)) >= 4)
    if what is signal.SIGINT:
        os.killpg(run.pid, what)  # as Ctrl-C does: to the whole group
    else:
        os.kill(run.pid, what)
    _, complaint = run.communicate(timeout=60)
    if what is not signal.SIGKILL:
        assert run.returncode == 130
        assert complaint == "lopsided: interrupted; stored results are kept.\n"
    done = len(stored(laboratory))
    begun = len(measured(laboratory))
    assert 4 <= done < 24
    assert begun - done <= int(jobs)  # at most the tasks at hand are lost
    run = start("reproduce", "toy-sum", "--scale", "paper", "--jobs", "2", "--json")
    answer, _ = run.communicate(timeout=60)
    assert run.returncode == 0
    (record,) = json.loads(answer)
    assert (record["verdict"], record["tasks"], record["reused"]) == ("holds", 24, done)
    assert len(measured(laboratory)) == begun + 24 - done
    assert len(_numbers(laboratory)) == 24


def test_a_lost_worker_is_replaced(laboratory: Path, start: Start) -> None:
    run = start("reproduce", "toy-sum", "--scale", "paper", "--jobs", "2", "--json")
    _wait_for(lambda: len(measured(laboratory)) >= 4)
    victim = int(measured(laboratory)[-1].split()[2])
    assert victim != run.pid
    os.kill(victim, signal.SIGKILL)
    answer, complaint = run.communicate(timeout=60)
    assert (run.returncode, complaint) == (0, "")
    (record,) = json.loads(answer)
    assert (record["verdict"], record["tasks"]) == ("holds", 24)


def test_a_claim_that_kills_its_workers_spoils_no_other(laboratory: Path) -> None:
    run = reproduce(["toy-sum", "toy-deadly"], jobs=2)
    verdicts = {record.id: (record.verdict, record.broken) for record in run.claims}
    assert verdicts == {"toy-sum": ("holds", False), "toy-deadly": ("not run", True)}
    assert "killed its worker" in next(record.found for record in run.claims if record.id == "toy-deadly")


def test_two_runs_at_once_do_no_harm(laboratory: Path, start: Start) -> None:
    runs = [start("reproduce", "toy-sum", "--scale", "paper", "--jobs", "1", "--json") for _ in range(2)]
    for run in runs:
        answer, complaint = run.communicate(timeout=60)
        assert (run.returncode, complaint) == (0, "")
        assert json.loads(answer)[0]["verdict"] == "holds"
    assert len(_numbers(laboratory)) == 24
    assert not (laboratory / "store" / "set-aside").exists()


def test_a_disk_without_room_stops_the_run_with_a_sentence(laboratory: Path, start: Start) -> None:
    """The system refuses to grow any file, as a full disk does; afterwards the run resumes."""

    def no_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))

    # a task's file is larger than 200 bytes; the toy's log must not be the one that fails
    environment = {key: value for key, value in os.environ.items() if key != "TOY_LOG"}
    command = [sys.executable, "-m", "lopsided", "reproduce", "toy-sum", "--jobs", "1"]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, preexec_fn=no_room, timeout=60)
    assert run.returncode == 2
    assert run.stderr.startswith("lopsided: Expected to write")
    assert run.stderr.count("\n") == 1
    assert stored(laboratory) == []
    assert list((laboratory / "store").glob("tasks/*/.*.tmp")) == []
    assert reproduce(["toy-sum"], jobs=1).claims[0].verdict == "holds"


def test_a_broken_claim_says_so_and_the_others_go_on(laboratory: Path, start: Start) -> None:
    names = ["toy-sum", "toy-broken", "toy-needy", "toy-syntax"]
    run = start("reproduce", *names, "--jobs", "1", "--json")
    answer, _ = run.communicate(timeout=120)
    assert run.returncode == 1
    records = {record["id"]: record for record in json.loads(answer)}
    assert records["toy-sum"]["verdict"] == "holds"
    assert records["toy-broken"]["broken"]
    assert "ZeroDivisionError: x was 2" in records["toy-broken"]["found"]
    assert "x was 2" in (laboratory / "store" / "broken" / "toy-broken.txt").read_text()
    assert len(stored(laboratory, "toy-broken")) == 3
    assert records["toy-needy"]["verdict"] == "not run"
    assert not records["toy-needy"]["broken"]
    assert "no-such-set" in records["toy-needy"]["found"]
    assert "this file cannot be loaded" in records["toy-syntax"]["found"]


def test_refusals(laboratory: Path) -> None:
    for arguments, words in (
        ({"ids": []}, "claims to run"),
        ({"ids": ["toy-sun"]}, "perhaps toy-sum"),
        ({"papers": ["xx"]}, "a paper among"),
        ({"ids": ["toy-sum"], "scale": "huge"}, "quick or paper"),
        ({"ids": ["toy-sum"], "jobs": 0}, "--jobs"),
        ({"ids": ["toy-sum"], "data": laboratory / "nowhere"}, "data sets"),
    ):
        with pytest.raises(InputError, match=words):
            reproduce(**arguments)  # type: ignore[arg-type]


def test_a_worker_whose_run_was_killed_before_the_first_task_ends() -> None:
    """Its parent is another process by then; 5 is the number of nobody's parent here."""
    program = "import time; from lopsided.engine.work import settle_in; settle_in(int(input())); time.sleep(60)"
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, input="5", text=True, capture_output=True, check=False, timeout=30)
    assert (ended.returncode, ended.stderr) == (1, "")
