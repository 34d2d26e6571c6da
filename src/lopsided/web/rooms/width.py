"""Room 4, Width: the wide ReLU network on clustered data, watched while it learns."""

from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from lopsided.core.seeds import generator
from lopsided.web.answers import CodeRecipe, call_recipe
from lopsided.web.jobs.job import JobStatus
from lopsided.web.jobs.runner import jobs_of
from lopsided.web.jobs.worker import Report
from lopsided.web.problems import responses

LIVE_VALUES = 30  # singular values shown while it runs
router = APIRouter(prefix="/api/width", tags=["width"])


class WidthProblem(BaseModel):
    """One run, named as in `worlds.wide_runs.WideRun`."""

    model_config = ConfigDict(extra="forbid")
    width: int = Field(1000, ge=10, le=4000)
    classes: int = Field(10, ge=2, le=20)
    components: int = Field(2, ge=1, le=8)
    dimension: int = Field(500, ge=2, le=1000)
    spread: float = Field(1.0, ge=0, le=10, allow_inf_nan=False)
    train: int = Field(500, ge=50, le=2000)
    test: int = Field(500, ge=50, le=2000)
    steps: int = Field(200, ge=8, le=2000)
    batch: Literal[1, 2, 4, 8, 16, 32] = 16
    rate_times_width: float = Field(10.0, gt=0, le=1000, allow_inf_nan=False)
    record: int = Field(8, ge=1, le=100)
    seed: int = Field(0, ge=0, le=2**31)

    def settings(self) -> dict[str, Any]:
        """As `measure_run` takes them."""
        return self.model_dump(exclude={"seed"})


@router.post("/recipe", responses=responses())
def recipe(problem: WidthProblem) -> CodeRecipe:
    """The same run outside the page."""
    return call_recipe("lopsided.worlds.wide_runs", "measure_run", problem.settings(), problem.seed)


@router.post("/run", responses=responses(429))
def start_run(request: Request, problem: WidthProblem) -> JobStatus:
    """Train the network: a job that sends every record as it is measured."""
    return jobs_of(request).submit("width", f"Width {problem.width:,}", problem.model_dump())


def run(parameters: dict[str, Any], report: Report) -> dict[str, Any]:
    """The job: the numbers of `measure_run`, each record sent when it is made."""
    from lopsided.learners.wide_descent import BLOCK_ROWS, WideDescent
    from lopsided.measure.weight_change import leading_values
    from lopsided.worlds.wide_runs import Curves, measure_run

    asked = WidthProblem(**parameters)
    block = max(1, BLOCK_ROWS // asked.batch)
    randomness = generator(asked.seed, "live spectrum")

    def watch(curves: Curves, states: WideDescent) -> None:
        news: dict[str, Any] = {name: values[-1] for name, values in vars(curves).items()}
        step = curves.steps[-1]
        # The weights are asked for only where a block ends: there it changes no order of summation, so the numbers
        # stay those of a run that nobody watches.
        if step and step % block == 0:
            update = states.weights() - states.network.hidden
            news["update_values"] = leading_values(update, LIVE_VALUES, randomness).values
        report(done=step, total=asked.steps, words=f"step {step} of {asked.steps}", data=news)

    report(done=0, total=asked.steps, words="drawing data and network")
    return dict(measure_run(asked.settings(), asked.seed, watch=watch))
