"""Jobs over HTTP: the list, one job, its events as a stream, its result, cancel, pause, resume."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request, Response
from fastapi.responses import StreamingResponse

from lopsided.web.jobs.job import JobStatus, State
from lopsided.web.jobs.runner import Jobs, jobs_of
from lopsided.web.problems import Refused, responses

JobId = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="The name of a job.")]
# The report is one page with its own scripts inside, so it is shown in a frame without any rights of this page.
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_HEARTBEAT_SECONDS = 15.0
router = APIRouter(prefix="/api/jobs", tags=["jobs"], responses=responses(404))


@router.get("")
def list_jobs(request: Request) -> list[JobStatus]:
    """Every job that is remembered, the latest first."""
    return jobs_of(request).statuses()


@router.get("/{job_id}")
def read_job(request: Request, job_id: JobId) -> JobStatus:
    """One job."""
    return jobs_of(request).status(job_id)


@router.post("/{job_id}/cancel")
def cancel_job(request: Request, job_id: JobId) -> JobStatus:
    """Cancel the job, whether it waits or runs."""
    return jobs_of(request).cancel(job_id)


@router.post("/{job_id}/pause", responses=responses(409))
def pause_job(request: Request, job_id: JobId) -> JobStatus:
    """Pause the job."""
    return jobs_of(request).pause(job_id)


@router.post("/{job_id}/resume", responses=responses(409))
def resume_job(request: Request, job_id: JobId) -> JobStatus:
    """Resume the job."""
    return jobs_of(request).pause(job_id, resume=True)


@router.get("/{job_id}/result", responses=responses(409))
def read_result(request: Request, job_id: JobId) -> dict[str, Any]:
    """The result of the job."""
    job = jobs_of(request).job(job_id)
    if job.state is not State.DONE or job.result is None:
        remedy = "wait for it" if job.state in (State.WAITING, State.RUNNING, State.PAUSED) else "start it again"
        raise Refused(409, f"Expected a finished job, but it is {job.state.value}; {remedy}.")
    return Response(job.result, media_type="application/json")  # type: ignore[return-value]  # JSON already


@router.get("/{job_id}/report", response_class=Response, responses={200: {"content": {"text/html": {}}}})
def read_report(request: Request, job_id: JobId, download: bool = False) -> Response:
    """The report of the job, to show or to download."""
    job = jobs_of(request).job(job_id)
    if job.report is None:
        raise Refused(404, "This job has no report.")
    headers = {"Content-Security-Policy": REPORT_POLICY}
    if download:
        headers["Content-Disposition"] = f'attachment; filename="lopsided-{job.kind}.html"'
    return Response(job.report, media_type="text/html; charset=utf-8", headers=headers)


@router.get("/{job_id}/events", response_class=Response, responses={200: {"content": {"text/event-stream": {}}}})
async def follow_job(
    request: Request, job_id: JobId, last_event_id: Annotated[str | None, Header()] = None
) -> StreamingResponse:
    """`status` whenever it changes and `data` as the job sends it, until the job has ended (server-sent events)."""
    jobs_of(request).job(job_id)
    first = int(last_event_id) + 1 if last_event_id is not None and last_event_id.isdecimal() else 0
    return StreamingResponse(_stream(jobs_of(request), job_id, first), media_type="text/event-stream")


async def _stream(jobs: Jobs, job_id: str, sent: int) -> AsyncIterator[bytes]:
    job, woken = jobs.job(job_id), asyncio.Event()
    listener = (asyncio.get_running_loop(), woken)
    job.listeners.add(listener)
    told = None
    try:
        while True:
            woken.clear()
            ended = job.state.ended or jobs.closing
            while sent < len(job.events):
                yield b"id: %d\nevent: data\ndata: %s\n\n" % (sent, job.events[sent])
                sent += 1
            status = jobs.status(job_id).model_dump_json().encode()
            if status != told:
                yield b"event: status\ndata: %s\n\n" % status
                told = status
            if ended:
                return
            try:
                await asyncio.wait_for(woken.wait(), _HEARTBEAT_SECONDS)
            except TimeoutError:
                yield b": still here\n\n"
    finally:
        job.listeners.discard(listener)
