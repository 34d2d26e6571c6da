"""A real Dask scheduler with two workers on loopback, plain and encrypted; one worker is killed during the run."""

import asyncio
import concurrent.futures
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lopsided.core.errors import InputError
from lopsided.engine import cluster
from lopsided.engine.cluster import Cluster, ClusterError
from lopsided.papers.reproduce import reproduce
from tests.engine.conftest import measured, stored
from tests.engine.local_cluster import free_port, local_cluster

Start = Callable[..., "subprocess.Popen[str]"]


def test_a_killed_worker_costs_nothing_but_time(laboratory: Path, start: Start) -> None:
    with local_cluster(laboratory, "tcp", []) as (address, (_, *workers)):
        run = start("reproduce", "toy-sum", "--scale", "paper", "--cluster", address, "--json")
        end = time.monotonic() + 60
        while len({line.split()[2] for line in measured(laboratory)}) < 2:
            assert time.monotonic() < end, "the two workers did not both begin within a minute"
            time.sleep(0.02)
        os.kill(workers[0].pid, signal.SIGKILL)
        answer, complaint = run.communicate(timeout=90)
    assert run.returncode == 0, complaint + answer
    (record,) = json.loads(answer)
    assert (record["verdict"], record["tasks"]) == ("holds", 24)
    assert len(stored(laboratory)) == 24
    assert {line.split()[2] for line in measured(laboratory)} == {str(worker.pid) for worker in workers}


def test_a_lost_scheduler_is_one_sentence_and_the_run_resumes(laboratory: Path, start: Start) -> None:
    with local_cluster(laboratory, "tcp", []) as (address, (scheduler, *_)):
        run = start("reproduce", "toy-sum", "--scale", "paper", "--cluster", address)
        end = time.monotonic() + 60
        while len(stored(laboratory)) < 3:
            assert time.monotonic() < end, "nothing was finished within a minute"
            time.sleep(0.02)
        scheduler.kill()
        _, complaint = run.communicate(timeout=90)
    assert run.returncode == 2, complaint
    assert complaint.startswith("lopsided: The connection to the Dask scheduler was lost")
    assert complaint.count("\n") == 1
    done = len(stored(laboratory))
    assert reproduce(["toy-sum"], scale="paper", jobs=1).claims[0].reused == done >= 3


class _Lost:
    """A Dask client, and a future of its, whose scheduler goes while it is asked: `when` fails, with `error`."""

    key, status, loop = "key", "running", None

    def __init__(self, when: str, error: BaseException, status: str = "running") -> None:
        self.when, self.error, self.status = when, error, status

    def _asked(self, what: str) -> None:
        if what == self.when:
            raise self.error

    def submit(self, *_: object, **__: object) -> "_Lost":
        self._asked("submit")
        return self

    def nthreads(self) -> dict[str, int]:
        self._asked("nthreads")
        return {"worker": 1}

    def exception(self) -> None:
        self._asked("exception")

    def result(self) -> None:
        self._asked("result")


@pytest.mark.parametrize(
    "client",
    [
        _Lost("result", concurrent.futures.CancelledError()),
        _Lost("exception", asyncio.CancelledError()),
        _Lost("exception", OSError("stream closed")),
        _Lost("submit", RuntimeError("Client is closed"), status="closed"),
    ],
)
def test_a_scheduler_lost_between_two_questions(client: _Lost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distributed.as_completed", lambda futures, loop: futures)
    with pytest.raises(ClusterError, match="scheduler was lost"):
        cluster._run(client, [None], None, None, lambda count: None)
    with pytest.raises(ClusterError, match="scheduler was lost"):
        list(cluster._mapped(client, len, ["part"]))


def test_an_error_of_a_running_client_is_its_own() -> None:
    with pytest.raises(RuntimeError, match="a bug"), cluster._talking(_Lost("", ValueError())):
        raise RuntimeError("a bug")


def test_certificates_are_passed_through(laboratory: Path, start: Start) -> None:
    key, certificate = str(laboratory / "key.pem"), str(laboratory / "certificate.pem")
    request = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", key, "-out", certificate]
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", "req", *request, *subject], check=True, capture_output=True)
    options = ["--tls-ca-file", certificate, "--tls-cert", certificate, "--tls-key", key]
    with local_cluster(laboratory, "tls", options) as (address, _):
        ours = ["--tls-ca", certificate, "--tls-cert", certificate, "--tls-key", key]
        run = start("reproduce", "toy-sum", "--cluster", address, *ours, "--json")
        answer, complaint = run.communicate(timeout=90)
        assert run.returncode == 0, complaint + answer
        assert json.loads(answer)[0]["verdict"] == "holds"
        # without the certificates the door stays shut
        with pytest.raises(InputError, match="--tls-ca"):
            Cluster(address)


def test_a_scheduler_that_does_not_answer_is_one_sentence(laboratory: Path, start: Start) -> None:
    run = start("reproduce", "toy-sum", "--cluster", f"tcp://127.0.0.1:{free_port()}")
    _, complaint = run.communicate(timeout=60)
    assert run.returncode == 2
    assert "Expected a Dask scheduler" in complaint
    assert complaint.count("\n") == 1
    with pytest.raises(InputError, match="scheduler address"):
        Cluster("somewhere")
