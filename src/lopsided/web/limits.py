"""Limits of the laboratory: sizes of requests and uploads; number, time and memory of jobs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bytes, counts and seconds; beyond them there is an error."""

    body_bytes: int = 1_000_000
    upload_bytes: int = 200_000_000
    upload_rows: int = 2_000_000
    uploads_kept: int = 8
    uploads_at_once: int = 4
    classes: int = 1000
    request_seconds: float = 30.0
    requests_at_once: int = 4
    heavy_at_once: int = 2
    jobs_running: int = 1
    jobs_waiting: int = 8
    jobs_kept: int = 40
    job_seconds: float = 900.0
    job_niceness: int = 5  # requests come first, and a busy machine still lets jobs run
    pause_seconds: float = 900.0
    job_memory_bytes: int = 4_000_000_000
    result_bytes: int = 30_000_000
    events_kept: int = 5000
