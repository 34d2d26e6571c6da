"""Room 6, Claims: the register with verdicts, one claim with its rule and picture, and a rerun at quick scale."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi import Path as PathParameter
from pydantic import BaseModel

from lopsided.core.errors import LopsidedError
from lopsided.core.progress import counted
from lopsided.engine.needs import data_folder
from lopsided.engine.store import Store
from lopsided.engine.task import Row
from lopsided.papers.catalogue import PAPERS
from lopsided.papers.claim import Scale
from lopsided.papers.evidence import sets_of, shipped
from lopsided.papers.judging import readings_run
from lopsided.papers.register import ClaimStatus, Registered, claims, evidence_of, own_claims, register
from lopsided.papers.reproduce import expand, reproduce
from lopsided.papers.words import PartLine, SetLine, apart, part_line, set_line
from lopsided.report.style import sentence
from lopsided.web.answers import CodeRecipe, Drawing, command, drawing
from lopsided.web.compute import compute_of
from lopsided.web.jobs.job import JobStatus
from lopsided.web.jobs.runner import jobs_of
from lopsided.web.jobs.worker import Report
from lopsided.web.problems import Refused, responses

ClaimId = Annotated[str, PathParameter(pattern="^[a-z][a-z0-9-]{1,60}$", description="The id of a claim.")]
router = APIRouter(prefix="/api/claims", tags=["claims"], responses=responses(503))


class ClaimList(BaseModel):
    """Every claim, and the papers by their letters."""

    papers: dict[str, str]
    claims: list[ClaimStatus]


class ClaimPage(BaseModel):
    """One claim with all that is known of it."""

    line: ClaimStatus
    paper: str
    paper_says: str
    rule: str
    revised: str
    readings: dict[str, str]
    numbers: dict[str, Any]
    parts: list[PartLine]
    sets: list[SetLine]
    apart: str
    seeds: list[int]
    can_run: bool
    budget_seconds: float | None
    figure: Drawing | None
    recipe: CodeRecipe


def _line(status: ClaimStatus) -> ClaimStatus:
    return replace(status, statement=sentence(status.statement), found=sentence(status.found))


@router.get("")
async def list_claims(request: Request) -> ClaimList:
    """The register with the latest verdicts, as `lopsided claims` prints it."""
    settings = request.app.state.settings
    lines = await compute_of(request).run(request, lambda watch: claims(store=settings.store, data=settings.data))
    papers = {
        paper: PAPERS[paper].title if paper in PAPERS else paper for paper in dict.fromkeys(x.paper for x in lines)
    }
    return ClaimList(papers=papers, claims=[_line(line) for line in lines])


@router.get("/{claim_id}", responses=responses(404))
async def read_claim(request: Request, claim_id: ClaimId) -> ClaimPage:
    """One claim: its rule, its verdict, the numbers behind it and the picture of the stored measurements."""
    settings = request.app.state.settings
    return await compute_of(request).run(request, lambda watch: _page(claim_id, settings.store, settings.data))


def _page(claim_id: str, store: Path | None, data: Path | None) -> ClaimPage:
    entry = _known(claim_id)
    line = next(status for status in claims(store=store, data=data) if status.id == claim_id)
    claim, record = entry.claim, evidence_of(claim_id, store) or {}
    rows = _shown_rows(line, store, data)
    return ClaimPage(
        line=_line(line),
        paper=PAPERS[line.paper].title if line.paper in PAPERS else line.paper,
        paper_says=sentence(claim.paper_says) if claim else "",
        rule=sentence(claim.rule) if claim else "",
        revised=sentence(claim.revised) if claim and claim.revised else "",
        readings={name: claim.readings[name] for name in readings_run(claim, rows)} if claim else {},
        numbers=dict(record.get("numbers", {})),
        parts=[part_line(part) for part in record.get("parts", [])],
        sets=[set_line(one) for one in record.get("sets", [])],
        apart=apart(record.get("exploration"), record.get("confirmation")),
        seeds=list(record.get("seeds", [])),
        can_run=claim is not None,
        budget_seconds=claim.quick_budget_seconds if claim else None,
        figure=_figure(entry, rows),
        recipe=CodeRecipe(
            python=f"import lopsided\n\nprint(lopsided.reproduce([{claim_id!r}], scale='quick').claims)",
            command=command(["reproduce", claim_id], {"json": True}),
        ),
    )


def _known(claim_id: str) -> Registered:
    entry = register(own_claims()).get(claim_id)
    if entry is None:
        raise Refused(404, "Claim not found; the list of claims has all ids.")
    return entry


def _figure(entry: Registered, rows: list[Row]) -> Drawing | None:
    if entry.claim is None or not rows:
        return None
    try:
        return drawing(entry.claim.plot(rows))
    except Exception:  # a plot that breaks must not take the claim's page with it
        return None


def _shown_rows(line: ClaimStatus, store: Path | None, data: Path | None) -> list[Row]:
    """The measurements behind the verdict: of the person's own run, or those that ship."""
    if line.own:
        return stored_rows(line.id, store, data, line.scale or "quick")
    return next((list(found.rows) for found in shipped(line.id) if found.record["scale"] == line.scale), [])


def stored_rows(claim_id: str, store: Path | None, data: Path | None, scale: str = "quick") -> list[Row]:
    """The measurements of a claim under the seed sets of its verdict, if the store has all of them, else none."""
    entry = register(own_claims()).get(claim_id)
    if entry is None or entry.claim is None or entry.home is None or scale not in entry.claim.plans:
        return []
    wanted: Scale = "paper" if scale == "paper" else "quick"
    keeper = Store(store)
    record = next((found for found in keeper.verdicts() if (found["id"], found["scale"]) == (claim_id, scale)), {})
    sets: list[tuple[int, int | None]] = [(one.number, one.seeds) for one in sets_of(record)]
    try:
        with data_folder(data):
            tasks = [
                task
                for number, count in sets or [(0, None)]
                for task in expand(entry.claim, entry.home, wanted, number, count)
            ]
    except LopsidedError:
        return []
    rows = []
    for task in tasks:
        result = keeper.load(task)
        if result is None:
            return []
        rows.append(Row(result.settings, result.seed, result.numbers))
    return rows


@router.post("/{claim_id}/rerun", responses=responses(404, 409, 429))
def start_rerun(request: Request, claim_id: ClaimId) -> JobStatus:
    """Run the claim afresh at quick scale: a job; the verdict goes into the store."""
    entry, settings = _known(claim_id), request.app.state.settings
    if entry.claim is None:
        raise Refused(409, f"Expected a claim that can run, but {claim_id} cannot: {entry.problem}")
    parameters = {"id": claim_id, "fresh": True, "store": settings.store, "data": settings.data}
    return jobs_of(request).submit("claim", f"Rerun {claim_id}", parameters)


def rerun(parameters: dict[str, Any], report: Report) -> dict[str, Any]:
    """The job: `lopsided.reproduce` for one claim."""

    def told(done: int, total: int) -> None:
        report(done=done, total=total, words=f"{done} of {total} measurements" if done else "measuring")

    finished = reproduce(
        [parameters["id"]],
        scale="quick",
        jobs=1,
        store=parameters["store"],
        data=parameters["data"],
        fresh=parameters["fresh"],
        progress=counted(told),
    )
    record = finished.claims[0]
    return {"id": record.id, "verdict": record.verdict, "found": sentence(record.found), "broken": record.broken}
