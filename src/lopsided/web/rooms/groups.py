"""Room 2, Groups: two or three Gaussian groups in the plane, what n samples teach about each, and simulation."""

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from lopsided.core.figure import Figure, Line, Mark, Panel, Points
from lopsided.core.jsonable import jsonable
from lopsided.core.mixture_file import mixture_problem
from lopsided.core.mixture_spec import MixtureProblem, problem_of
from lopsided.core.progress import counted
from lopsided.core.published_skill import skill_sentence
from lopsided.core.seeds import generator
from lopsided.report import style
from lopsided.web.answers import CodeRecipe, Drawing, command, drawing
from lopsided.web.compute import compute_of
from lopsided.web.jobs.job import JobStatus
from lopsided.web.jobs.runner import jobs_of
from lopsided.web.jobs.worker import Report
from lopsided.web.problems import responses

if TYPE_CHECKING:
    from lopsided.worlds.mixture_lab import SimulatedExcess

SWEPT = np.round(np.linspace(0.02, 0.98, 25), 4).tolist()
SIMULATED = np.round(np.linspace(0.05, 0.95, 7), 4).tolist()
MOST_SAMPLES, DRAWN_POINTS = 20_000, 300
# The excess of one network is a weighted chi-square of few degrees: its deviation is about 0.8 of its mean, so so many
# leave a standard error near an eighth.
REPEATS = 40
Coordinate = Annotated[float, Field(ge=-20, le=20, allow_inf_nan=False)]
router = APIRouter(prefix="/api/groups", tags=["groups"], responses=responses(503))


class Group(BaseModel):
    """One group: its share (shares are rescaled to sum to one), mean, deviations along x and y, their correlation."""

    model_config = ConfigDict(extra="forbid")
    share: float = Field(gt=0, le=1, allow_inf_nan=False)
    mean: tuple[Coordinate, Coordinate] = (0.0, 0.0)
    deviations: tuple[Annotated[float, Field(ge=0.1, le=10)], Annotated[float, Field(ge=0.1, le=10)]] = (1.0, 1.0)
    correlation: float = Field(0.0, ge=-0.95, le=0.95)


class GroupsProblem(BaseModel):
    """Groups, a teacher of two neurons (columns are the neurons), the samples n, and the group whose share is swept."""

    model_config = ConfigDict(extra="forbid")
    groups: list[Group] = Field(min_length=2, max_length=3)
    teacher: tuple[tuple[Coordinate, Coordinate], tuple[Coordinate, Coordinate]] = ((1.5, 0.0), (0.0, 1.5))
    samples: int = Field(3000, ge=100, le=10_000_000)
    swept: int = Field(1, ge=0, le=2)
    seed: int = Field(0, ge=0, le=2**31)

    @property
    def swept_group(self) -> int:
        """The chosen group, or the last one if there are fewer."""
        return min(self.swept, len(self.groups) - 1)

    def specification(self) -> dict[str, Any]:
        """As `lopsided.mixture` takes it."""
        total = sum(group.share for group in self.groups)
        groups = [
            {"fraction": round(one.share / total, 12), "mean": list(one.mean), "covariance": _covariance(one)}
            for one in self.groups
        ]
        return {"group": groups, "teacher": {"weights": [list(row) for row in self.teacher]}}


class GroupsForecast(BaseModel):
    """`facts` is the JSON object of `lopsided mixture`; the plane and the sweep are for display; `skill` says how often
    such forecasts came true, empty where that was not measured."""

    facts: dict[str, Any]
    plane: Drawing
    sweep: Drawing
    skill: str
    recipe: CodeRecipe


def _covariance(group: Group) -> list[list[float]]:
    (a, b), r = group.deviations, group.correlation
    return [[round(a * a, 12), round(r * a * b, 12)], [round(r * a * b, 12), round(b * b, 12)]]


@router.post("/forecast")
async def forecast(request: Request, problem: GroupsProblem) -> GroupsForecast:
    """The large-n law for every group, at these shares and against the share of one group."""
    return await compute_of(request).run(request, lambda watch: _forecast(problem))


def _forecast(asked: GroupsProblem) -> GroupsForecast:
    from lopsided.theory.mixture_forecast import mixture

    found = mixture(asked.specification(), asked.samples)
    return GroupsForecast(
        facts=jsonable(found.facts()),
        plane=_plane(found.problem, asked.seed),
        sweep=_sweep(found.problem, asked),
        skill=skill_sentence("more of a group"),
        recipe=_recipe(asked),
    )


def _sweep(problem: MixtureProblem, asked: GroupsProblem) -> Drawing:
    from lopsided.theory.fisher_law import FisherLaw

    group = asked.swept_group
    laws = FisherLaw(problem).over_fractions(asked.samples, group, SWEPT)
    marks = [Mark(float(problem.mixture.fractions[group]), "now")]

    def lines(name: str) -> list[Line]:
        parts = range(len(asked.groups))
        return [Line(SWEPT, [getattr(law.groups[g], name) for law in laws], f"group {g}") for g in parts]

    label = f"fraction of group {group}"
    panels = [
        Panel("Excess risk", label, "excess risk (nats)", lines("excess_risk"), marks, y_log=True),
        Panel("Label entropy", label, "entropy (nats)", lines("label_entropy"), marks),
    ]
    told = "Lines: forecast for large n. The test loss of a group is its label entropy plus its excess risk."
    return drawing(Figure(f"Excess risk at n = {asked.samples:,}", panels, told))


def _plane(problem: MixtureProblem, seed: int) -> Drawing:
    from lopsided.data.mixture import draw_sample

    mixture = problem.mixture
    sample = draw_sample(problem, DRAWN_POINTS, generator(seed, "drawn points"))
    turn = np.linspace(0, 2 * math.pi, 73)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    series: list[Line | Points] = []
    colours: list[str] = []
    for g in range(mixture.groups):
        factor = np.linalg.cholesky(mixture.covariances[g])
        for radius in (1, 2):
            ring = mixture.means[g][:, None] + radius * factor @ circle
            series.append(Line(ring[0].tolist(), ring[1].tolist(), f"group {g}, {radius} σ", dashed=radius == 2))
            colours.append(style.colour(g))
        for label, word in ((1, "label 1"), (0, "label 0")):
            own = sample.features[(sample.groups == g) & (sample.labels == label)]
            series.append(Points(own[:, 0].tolist(), own[:, 1].tolist(), f"group {g}, {word}"))
            colours.append(style.colour(g))
    told = "Rings: one and two standard deviations. Filled points have label 1, open points label 0."
    found = drawing(Figure("Groups", [Panel("The groups", "x", "y", series)], told))
    for trace, colour in zip(found.panels[0].data, colours, strict=True):
        if trace["mode"] == "markers":
            trace["marker"] |= {"color": colour, "symbol": "circle" if "label 1" in trace["name"] else "circle-open"}
        else:
            trace["line"]["color"] = colour
    found.panels[0].layout["yaxis"]["scaleanchor"] = "x"
    found.panels[0].layout["showlegend"] = False
    return found


def _recipe(asked: GroupsProblem) -> CodeRecipe:
    text = json.dumps(asked.specification(), indent=1)
    python = (
        f"import lopsided\n\nspecification = {text}\n"
        f"print(lopsided.mixture(specification, samples={asked.samples}).facts())"
    )
    lines = ["cat > groups.toml <<'EOF'"]
    for group in asked.specification()["group"]:
        lines += ["[[group]]", *(f"{name} = {json.dumps(value)}" for name, value in group.items())]
    lines += ["[teacher]", f"weights = {json.dumps(asked.specification()['teacher']['weights'])}", "EOF"]
    lines.append(command(["mixture", "groups.toml"], {"samples": asked.samples, "json": True}))
    return CodeRecipe(python=python, command="\n".join(lines))


@router.post("/simulate", responses=responses(429))
def start_simulation(request: Request, problem: GroupsProblem) -> JobStatus:
    """Train networks on fresh samples at several shares: a job."""
    title = f"Simulate {len(problem.groups)} groups at n = {problem.samples:,}"
    return jobs_of(request).submit("groups", title, problem.model_dump())


def simulated_at(
    problem: MixtureProblem,
    samples: int,
    group: int,
    fraction: float,
    repeats: int,
    seed: int,
    progress: Callable[[], None] | None = None,
) -> "SimulatedExcess":
    """Networks trained on samples in which `group` has this fraction.

    Samples are drawn afresh for every fraction: common ones would move a whole curve of points together, off the law.
    """
    from lopsided.worlds.mixture_lab import simulated_excess

    world = problem_of(problem.mixture.with_fraction(group, fraction), problem.weights, problem.activation)
    return simulated_excess(world, samples, repeats, seed, "fractions", repr(float(fraction)), progress=progress)


def simulate(parameters: dict[str, Any], report: Report) -> dict[str, Any]:
    """The job: mean excess of every group with its standard error, share by share, and how far it is from the law."""
    from lopsided.theory.fisher_law import FisherLaw

    asked = GroupsProblem(**parameters)
    problem, group = mixture_problem(asked.specification()), asked.swept_group
    samples = min(asked.samples, MOST_SAMPLES)

    def told(done: int, total: int) -> None:
        words = "training networks on fresh samples" if done else "compiling (the first time takes longer)"
        report(done=done, total=total, words=words)

    ended = counted(told)(REPEATS * len(SIMULATED))
    laws = FisherLaw(problem).over_fractions(asked.samples, group, SIMULATED)
    rows, distances = [], []
    for part, law in zip(SIMULATED, laws, strict=True):
        found = simulated_at(problem, samples, group, part, REPEATS, asked.seed, progress=lambda: ended(1))
        # Beyond this n the excess is rescaled by 1/n, as the law has it.
        scale = samples / asked.samples
        mean, error = (None if one is None else [scale * value for value in one] for one in (found.mean, found.error))
        rows.append({"fraction": part, "mean": mean, "error": error, "runs": found.runs})
        if mean is not None and error is not None:
            pairs = zip(mean, error, law.groups, strict=True)
            distances += [abs(value - own.excess_risk) / spread for value, spread, own in pairs]
        report(data=rows[-1])
    words = _agreement(distances, sum(row["runs"] for row in rows), samples, asked.samples)
    return {"rows": rows, "samples": samples, "swept": group, "words": words}


def _agreement(distances: list[float], runs: int, samples: int, asked: int) -> str:
    """What the overlay says, in words: distances are in standard errors."""
    tried = REPEATS * len(SIMULATED)
    if not distances:
        return "No network had a minimum near the teacher: n is too small for these groups."
    near = sum(distance <= 2 for distance in distances)
    words = [
        f"{near} of {len(distances)} means lie within two standard errors of the law (19 of 20 would by chance alone); "
        f"the farthest is {max(distances):.1f} away."
    ]
    words.append(
        f"Each point is the mean of {REPEATS} networks trained on different samples; bars are two standard errors."
    )
    if runs < tried:
        words.append(f"{tried - runs} of {tried} networks had no minimum near the teacher and are left out.")
    if samples < asked:
        words.append(f"Trained at n = {samples:,} and scaled by 1/n.")
    return " ".join(words)
