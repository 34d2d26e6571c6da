"""The queue, with limits on how many jobs run, wait and are remembered; each job has its own process.

A spare process with its imports done stands by, so that a job begins at once. Pausing stops the process itself
(SIGSTOP), so every kind of job can be paused; the time of a pause does not count as time of the job, but has its own
limit.
"""

import json
import multiprocessing
import os
import secrets
import signal
import threading
import time
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from fastapi import Request

from lopsided.core.jsonable import dump_json
from lopsided.web.jobs.job import Job, JobStatus, State
from lopsided.web.jobs.worker import main
from lopsided.web.limits import Limits
from lopsided.web.problems import Refused

_TICK_SECONDS = 0.1


class _Worker:
    """A process and our end of its pipe."""

    def __init__(self, limits: Limits) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection: Connection
        self.connection, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=main, args=(theirs, limits), daemon=True)
        self.process.start()
        theirs.close()

    def stop(self) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.connection.close()

    def signal(self, number: int) -> None:
        if self.process.pid is not None and self.process.is_alive():
            os.kill(self.process.pid, number)


class Jobs:
    """All jobs of one server."""

    def __init__(self, limits: Limits, *, spare: bool = True) -> None:
        self._limits, self._keep_spare = limits, spare
        self._lock = threading.RLock()
        self._jobs: dict[str, Job] = {}
        self._workers: dict[str, _Worker] = {}
        self._threads: list[threading.Thread] = []
        self._spare: _Worker | None = None
        self.closing = False

    def open(self) -> None:
        """Take jobs (again), with the spare process standing by."""
        self.closing = False
        self.prepare()

    def prepare(self) -> None:
        """Start the spare process."""
        with self._lock:
            if self._keep_spare and self._spare is None and not self.closing:
                self._spare = _Worker(self._limits)

    def submit(self, kind: str, title: str, parameters: dict[str, Any]) -> JobStatus:
        """Queue a job; refused where too many wait."""
        with self._lock:
            if self.closing or len(self._waiting()) >= self._limits.jobs_waiting:
                most = f"at most {self._limits.jobs_waiting} waiting jobs"
                raise Refused(429, f"Expected {most}; cancel one, or wait.")
            job = Job(secrets.token_hex(8), kind, title, parameters)
            self._jobs[job.id] = job
            self._forget_old()
            self._start_next()
            return self._status(job)

    def statuses(self) -> list[JobStatus]:
        """Every job that is remembered, the latest first."""
        with self._lock:
            return [self._status(job) for job in reversed(self._jobs.values())]

    def files_in_use(self) -> set[Path]:
        """The uploads of the jobs that have not ended."""
        with self._lock:
            waiting = [job.parameters for job in self._jobs.values() if not job.state.ended]
        return {path for given in waiting if (path := given.get("upload", given).get("path")) is not None}

    def job(self, job_id: str) -> Job:
        """The job of that name."""
        with self._lock:
            if job_id not in self._jobs:
                raise Refused(404, "Job not found; it may have expired.")
            return self._jobs[job_id]

    def status(self, job_id: str) -> JobStatus:
        """One line of the list."""
        with self._lock:
            return self._status(self.job(job_id))

    def cancel(self, job_id: str) -> JobStatus:
        """Take it out of the queue, or end its process; a job that has ended does not change."""
        with self._lock:
            job = self.job(job_id)
            if not job.state.ended:
                self._end(job, State.CANCELLED)
                if job.id in self._workers:
                    self._workers[job.id].process.kill()
                self._start_next()
            return self._status(job)

    def pause(self, job_id: str, *, resume: bool = False) -> JobStatus:
        """Stop its process for a while, or let it go on."""
        before, after = (State.PAUSED, State.RUNNING) if resume else (State.RUNNING, State.PAUSED)
        with self._lock:
            job = self.job(job_id)
            if job.state is not before:
                raise Refused(409, f"Expected a {before.value} job, but it is {job.state.value}.")
            self._workers[job_id].signal(signal.SIGCONT if resume else signal.SIGSTOP)
            job.state = after
            job.wake()
            return self._status(job)

    def close(self) -> None:
        """Cancel everything and wait until every process has gone."""
        with self._lock:
            self.closing = True
            for job in list(self._jobs.values()):
                if not job.state.ended:
                    self.cancel(job.id)
            if self._spare is not None:
                self._spare.stop()
                self._spare = None
            threads = list(self._threads)
        for thread in threads:
            thread.join()

    def _waiting(self) -> list[Job]:
        return [job for job in self._jobs.values() if job.state is State.WAITING]

    def _status(self, job: Job) -> JobStatus:
        waiting = self._waiting()
        return job.status(waiting.index(job) if job in waiting else None)

    def _forget_old(self) -> None:
        ended = [job for job in self._jobs.values() if job.state.ended]
        for job in ended[: max(0, len(self._jobs) - self._limits.jobs_kept)]:
            del self._jobs[job.id]

    def _start_next(self) -> None:
        waiting = self._waiting()
        while waiting and len(self._workers) < self._limits.jobs_running and not self.closing:
            job = waiting.pop(0)
            worker, self._spare = self._spare or _Worker(self._limits), None
            job.state, job.began = State.RUNNING, time.monotonic()
            self._workers[job.id] = worker
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            self._threads.append(threading.Thread(target=self._attend, args=(job, worker), daemon=True))
            self._threads[-1].start()
        for job in self._jobs.values():
            job.wake()

    def _attend(self, job: Job, worker: _Worker) -> None:
        """Follow one job to its end; runs in a thread of its own."""
        try:
            worker.connection.send_bytes(dump_json({"kind": job.kind, "parameters": job.parameters}).encode())
            self._listen(job, worker)
        except (EOFError, OSError):
            worker.process.join(1.0)
            with self._lock:
                if not job.state.ended:
                    why = "The system killed its process (out of memory or time); use a smaller problem."
                    self._end(job, State.FAILED, why)
        worker.stop()
        with self._lock:
            del self._workers[job.id]
            self._start_next()
        self.prepare()

    def _listen(self, job: Job, worker: _Worker) -> None:
        ran = rested = 0.0
        last = time.monotonic()
        while not job.state.ended:
            if worker.connection.poll(_TICK_SECONDS):
                self._take(job, json.loads(worker.connection.recv_bytes()))
            now = time.monotonic()
            ran, rested = (ran, rested + now - last) if job.state is State.PAUSED else (ran + now - last, rested)
            last = now
            if ran > self._limits.job_seconds or rested > self._limits.pause_seconds:
                with self._lock:
                    self._end(
                        job, State.FAILED, f"Stopped after running for {ran:.0f} seconds and pausing for {rested:.0f}."
                    )

    def _take(self, job: Job, message: dict[str, Any]) -> None:
        with self._lock:
            if job.state.ended:
                return
            if "failed" in message:
                self._end(job, State.FAILED, message["failed"])
            elif "result" in message:
                job.result, job.report = json.dumps(message["result"]).encode(), message["report"]
                self._end(job, State.DONE)
            else:
                job.take(message, self._limits.events_kept)
                job.wake()

    def _end(self, job: Job, state: State, error: str | None = None) -> None:
        job.state, job.error, job.ended = state, error, time.monotonic()
        job.wake()


def jobs_of(request: Request) -> Jobs:
    """The jobs of the server that was asked."""
    jobs: Jobs = request.app.state.jobs
    return jobs
