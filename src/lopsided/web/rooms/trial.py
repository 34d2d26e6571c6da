"""Room 6, Trial: compares remedies on an uploaded file or a built-in set, as `lopsided trial` does."""

from dataclasses import replace
from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from lopsided.core.progress import counted
from lopsided.measure.metrics import METRICS
from lopsided.web.answers import drawing
from lopsided.web.jobs.job import JobStatus
from lopsided.web.jobs.worker import Report
from lopsided.web.problems import responses
from lopsided.web.rooms.files import SIZES, ShortText, TableProblem

router = APIRouter(prefix="/api/trial", tags=["trial"], responses=responses(404, 429))


class TrialProblem(TableProblem):
    """The data, the roles of its columns, and the settings of the trial; missing names are guessed."""

    # Learners by the name of a class would let a client import any module of this machine.
    learner: Literal["logistic", "boosting", "network", "deep"] = "logistic"
    metric: ShortText | None = None
    folds: int = Field(5, ge=2, le=10)
    repeats: int = Field(2, ge=1, le=20)
    budget: float | None = Field(None, ge=1, le=600, allow_inf_nan=False)


class Choices(BaseModel):
    """What can be chosen: learners, metrics by their words, built-in sets with the training examples of each class."""

    learners: list[str]
    metrics: dict[str, str]
    sets: dict[str, dict[str, int]]


@router.get("/choices")
def read_choices() -> Choices:
    """The learners, metrics and built-in sets of a trial."""
    learners = TrialProblem.model_json_schema()["properties"]["learner"]["enum"]
    sets = {name: {str(digit): size for digit, size in enumerate(sizes)} for name, sizes in SIZES.items()}
    return Choices(learners=learners, metrics={word: metric.name for word, metric in METRICS.items()}, sets=sets)


@router.post("/run")
def start_trial(request: Request, problem: TrialProblem) -> JobStatus:
    """Try the remedies: a job with a report. Its finished folds are kept until the server stops."""
    store = str(request.app.state.uploads.folder() / "trials")
    return problem.submit(request, "trial", store=store)


def run(parameters: dict[str, Any], report: Report) -> dict[str, Any]:
    """The job: the facts of `lopsided.trial`, its tables, figures and page, and how to get them elsewhere."""
    from lopsided.report.results import trial

    def told(done: int, total: int) -> None:
        report(done=done, total=total, words=f"{done:,} of {total:,} fits")

    report(words="planning with a small pilot")
    running = {"store": parameters["store"], "progress": counted(told)}
    found, name, recipe = TrialProblem(**parameters["asked"]).found_by(trial, parameters, running)
    training = None if found.training is None else replace(found.training, source=name)
    found = replace(found, source=name, training=training)
    tables = (("Remedies for the present data", found.table()), ("Collecting more", found.collection_table()))
    return {
        "facts": found.to_dict(),
        "headline": found.headline(),
        "tables": [{"title": title, "heads": heads, "rows": rows} for title, (heads, rows) in tables if rows],
        "about": found.facts(),
        "figures": [drawing(figure).model_dump() for figure in found.figures()],
        "code": found.code(),
        "recipe": recipe.model_dump(),
        "report": found.to_html(),
    }
