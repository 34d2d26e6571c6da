"""Room 5, Audit: an uploaded file or a built-in set, its columns named, and the report of `lopsided audit`."""

from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from pydantic import Field

from lopsided.web.jobs.job import JobStatus
from lopsided.web.jobs.worker import Report
from lopsided.web.problems import responses
from lopsided.web.rooms.files import ShortText, TableProblem

router = APIRouter(prefix="/api/audit", tags=["audit"], responses=responses(404, 429))


class AuditProblem(TableProblem):
    """The data to audit, and the roles of its columns (or arrays); the audit guesses missing names."""

    columns = (*TableProblem.columns, "predictions", "probabilities", "logits", "classifier", "bias")
    predictions: ShortText | None = None
    probabilities: ShortText | None = None
    logits: ShortText | None = None
    classifier: ShortText | None = None
    bias: ShortText | None = None
    weight_decay: float | None = Field(None, gt=0, le=1e6, allow_inf_nan=False)


@router.post("/run")
def start_audit(request: Request, problem: AuditProblem) -> JobStatus:
    """Audit the data: a job with a report."""
    return problem.submit(request, "audit")


def run(parameters: dict[str, Any], report: Report) -> dict[str, Any]:
    """The job: the facts of `lopsided.audit`, its page, and how to get both elsewhere."""
    from lopsided.report.audit import audit

    def progress(done: int, total: int, words: str) -> None:
        report(done=done, total=total, words=words)

    found, name, recipe = AuditProblem(**parameters["asked"]).found_by(audit, parameters, {"progress": progress})
    found = replace(found, evidence=replace(found.evidence, source=name))
    return {
        "facts": found.to_dict(),
        "verdict": found.headline(),
        "recipe": recipe.model_dump(),
        "report": found.to_html(title=f"Audit of {name}"),
    }
