"""One job as the page sees it: its state, its progress, the events it has sent, its result."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import BaseModel


class State(StrEnum):
    """The state of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether the job has ended."""
        return self in (State.DONE, State.FAILED, State.CANCELLED)


class JobStatus(BaseModel):
    """A line of the list of jobs. `position` counts the jobs ahead of a waiting one."""

    id: str
    kind: str
    title: str
    state: State
    done: float | None = None
    total: float | None = None
    words: str = ""
    position: int | None = None
    seconds: float
    error: str | None = None
    has_report: bool = False


@dataclass
class Job:
    """Changed only under the lock of the runner; listeners are woken after each change."""

    id: str
    kind: str
    title: str
    parameters: dict[str, Any]
    state: State = State.WAITING
    done: float | None = None
    total: float | None = None
    words: str = ""
    error: str | None = None
    result: bytes | None = None  # JSON
    report: str | None = None  # HTML, where the job wrote one
    events: list[bytes] = field(default_factory=list)  # JSON each
    created: float = field(default_factory=time.monotonic)
    began: float | None = None
    ended: float | None = None
    listeners: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = field(default_factory=set)

    def status(self, position: int | None = None) -> JobStatus:
        """The line for the list."""
        until = self.ended if self.ended is not None else time.monotonic()
        seconds = round(until - (self.began if self.began is not None else self.created), 3)
        known = {name: value for name, value in vars(self).items() if name in JobStatus.model_fields}
        return JobStatus(**known, position=position, seconds=seconds, has_report=self.report is not None)

    def take(self, message: dict[str, Any], most_events: int) -> None:
        """A message of the worker: progress, or data to pass on."""
        if "data" in message and len(self.events) < most_events:
            self.events.append(json.dumps(message["data"], allow_nan=False).encode())
        for name in ("done", "total", "words"):
            if name in message:
                setattr(self, name, message[name])

    def wake(self) -> None:
        """Tell everyone who listens; loops that have ended are forgotten."""
        for loop, event in list(self.listeners):
            try:
                loop.call_soon_threadsafe(event.set)
            except RuntimeError:
                self.listeners.discard((loop, event))
