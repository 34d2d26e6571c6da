"""The application: the page, the JSON API with its description at /api/openapi.json, jobs and uploads."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import FastAPI

import lopsided
from lopsided.web import pages, problems, uploads
from lopsided.web.compute import Compute
from lopsided.web.guard import Access, Guard
from lopsided.web.jobs import api as jobs_api
from lopsided.web.jobs.runner import Jobs
from lopsided.web.limits import Limits
from lopsided.web.rooms import audit, claims, collapse, files, groups, memorisation, trial, width


@dataclass(frozen=True)
class ServerSettings:
    """What a server is told when it starts; `store` and `data` as for `lopsided reproduce`."""

    access: Access = field(default_factory=Access)
    limits: Limits = field(default_factory=Limits)
    store: Path | None = None
    data: Path | None = None
    spare_worker: bool = True


def create_app(settings: ServerSettings | None = None) -> FastAPI:
    """One laboratory, ready to be served."""
    chosen = settings or ServerSettings()
    jobs, compute = Jobs(chosen.limits, spare=chosen.spare_worker), Compute(chosen.limits)
    kept = uploads.Uploads(chosen.limits)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        jobs.open()
        compute.prepare(pages.read_all)
        compute.prepare(collapse.warm_up)
        try:
            yield
        finally:
            jobs.close()
            compute.close()
            kept.close()

    app = FastAPI(
        title="lopsided",
        description=lopsided.__doc__ or "",
        version=lopsided.__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
    )
    app.state.settings, app.state.jobs, app.state.compute, app.state.uploads = chosen, jobs, compute, kept
    app.state.drafts = collapse.Drafts()
    problems.install(app)
    for part in (pages, jobs_api, uploads, collapse, groups, memorisation, width, audit, trial, claims, files):
        app.include_router(part.router)
    guard: Any = Guard
    app.add_middleware(guard, access=chosen.access, limits=chosen.limits)
    return app
