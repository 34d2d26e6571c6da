"""Jobs: a queue of limited length, progress, pause, cancel, limits that hold, and an end with the server."""

import json
import re
import time
from itertools import pairwise

import pytest
from fastapi.testclient import TestClient

from lopsided.web.app import ServerSettings, create_app
from lopsided.web.jobs.job import State
from lopsided.web.jobs.runner import Jobs
from lopsided.web.limits import Limits
from lopsided.web.problems import Refused

LONG = {"width": 3000, "dimension": 900, "steps": 2000, "train": 2000, "test": 2000}
SHORT = {"width": 40, "dimension": 20, "steps": 16, "classes": 2, "train": 50, "test": 50}


def wait(jobs, job_id, *states, seconds=90):
    end = time.monotonic() + seconds
    while jobs.status(job_id).state not in states:
        assert time.monotonic() < end, jobs.status(job_id)
        time.sleep(0.05)
    return jobs.status(job_id)


@pytest.fixture
def jobs():
    runner = Jobs(Limits(jobs_running=1, jobs_waiting=2, job_niceness=0))
    runner.prepare()
    yield runner
    runner.close()
    assert all(not worker.process.is_alive() for worker in runner._workers.values())


def test_queue_cancel_pause_and_end(jobs) -> None:
    first = jobs.submit("width", "first", LONG)
    second, third = jobs.submit("width", "second", SHORT), jobs.submit("width", "third", SHORT)
    assert (second.state, second.position, third.position) == (State.WAITING, 0, 1)
    with pytest.raises(Refused, match="at most 2 waiting"):
        jobs.submit("width", "fourth", SHORT)
    with pytest.raises(Refused, match="it is waiting"):
        jobs.pause(second.id)
    while not jobs.job(first.id).events:
        time.sleep(0.05)
    assert jobs.pause(first.id).state is State.PAUSED
    time.sleep(0.3)
    seen = len(jobs.job(first.id).events)
    time.sleep(0.5)
    assert len(jobs.job(first.id).events) == seen
    jobs.pause(first.id, resume=True)
    while len(jobs.job(first.id).events) == seen:
        time.sleep(0.05)
    assert jobs.cancel(second.id).state is State.CANCELLED
    process = jobs._workers[first.id].process
    assert jobs.cancel(first.id).state is State.CANCELLED
    done = wait(jobs, third.id, State.DONE, State.FAILED)
    assert done.state is State.DONE, done.error
    assert not process.is_alive()
    assert json.loads(jobs.job(third.id).result)["steps"] == [0, 8, 16]
    assert jobs.cancel(third.id).state is State.DONE  # what has ended stays
    assert jobs.status(first.id).state is State.CANCELLED


def test_what_breaks_says_so_and_does_not_stop_the_next(jobs) -> None:
    broken = jobs.submit("inspect", "broken", {"path": "nothing.csv", "name": "mine.csv", "most_rows": 9})
    fine = jobs.submit("width", "fine", SHORT)
    assert "mine.csv" in wait(jobs, broken.id, State.FAILED).error
    assert wait(jobs, fine.id, State.DONE, State.FAILED).state is State.DONE


@pytest.mark.parametrize(
    ("limits", "words"),
    [({"job_seconds": 0.5}, "Stopped after"), ({"job_memory_bytes": 250_000_000}, r"0\.25 GB|system killed")],
)
def test_time_and_memory_are_limited(limits, words) -> None:
    runner = Jobs(Limits(**limits), spare=False)
    try:
        job = runner.submit("width", "large", LONG)
        status = wait(runner, job.id, State.FAILED, State.DONE)
        assert status.state is State.FAILED
        assert re.search(words, status.error)
    finally:
        runner.close()


def test_events_over_http_and_old_jobs_are_forgotten() -> None:
    settings = ServerSettings(limits=Limits(jobs_kept=2, job_niceness=0), spare_worker=False)
    with TestClient(create_app(settings), base_url="http://localhost") as local:
        job = local.post("/api/width/run", json=SHORT).json()
        lines = local.get(f"/api/jobs/{job['id']}/events").text.splitlines()
        records = [json.loads(line[6:]) for before, line in pairwise(lines) if before == "event: data"]
        assert [record["steps"] for record in records] == [0, 8, 16]
        last = [line for before, line in pairwise(lines) if before == "event: status"][-1]
        assert json.loads(last[6:])["state"] == "done"
        again = local.get(f"/api/jobs/{job['id']}/events", headers={"Last-Event-ID": "1"}).text
        assert again.count("event: data") == 1
        assert local.get(f"/api/jobs/{job['id']}/report").status_code == 404
        waiting = [local.post("/api/width/run", json=LONG).json() for _ in range(3)]
        assert local.get(f"/api/jobs/{job['id']}").status_code == 404
        assert local.get(f"/api/jobs/{waiting[0]['id']}/result").status_code == 409
        assert local.post(f"/api/jobs/{waiting[2]['id']}/cancel").json()["state"] == "cancelled"
