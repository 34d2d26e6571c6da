"""Room 1, Collapse: class counts to angles, threshold, the collapsed tail and the oversampling that prevents it."""

import math
import re
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from lopsided.core.counts import ClassCounts, class_counts
from lopsided.core.errors import InputError
from lopsided.core.figure import Figure, Heatmap, Panel
from lopsided.core.jsonable import jsonable
from lopsided.core.validation import FloatArray
from lopsided.report.collapse import collapse_figure, summary, verdict
from lopsided.theory.collapse import CollapseForecast, collapse
from lopsided.theory.layer_peeled.energy import Restraint, restraint
from lopsided.theory.layer_peeled.inverse import InTurn, rates_of_smallest_total
from lopsided.theory.layer_peeled.solve import Model, PeeledSolution
from lopsided.web.answers import CodeRecipe, Drawing, call, command, drawing
from lopsided.web.compute import Watch, compute_of
from lopsided.web.problems import responses

MOST_IN_MATRIX = 40  # more classes than this have no legible matrix of angles
MOST_DRAFTS = 64
DRAFT_TOLERANCE = 1e-6  # of the relative gap: what is drawn while a bar moves; the command line has 1e-10
DRAFT_SECONDS = 0.015  # then a draft ends as soon as its gap is below the next; the hand does not wait for digits
ROUGHEST_DRAFT = 1e-3
QUICK_CLASSES = 100  # more distinct sizes are a long computation, and go where those wait for each other
Positive = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
router = APIRouter(prefix="/api/collapse", tags=["collapse"], responses=responses(503))


class CollapseProblem(BaseModel):
    """Class counts (as in `5000*5,50*5`) and the regularisation: energies, tau, multiplier or weight decay."""

    model_config = ConfigDict(extra="forbid")
    # Digits and signs only: a word could be taken for the name of a file.
    counts: str = Field(default="5000*5,50*5", max_length=20_000, pattern=r"^[\d\s.,*eE+\-]*$")
    feature_energy: Positive | None = None
    weight_energy: Positive | None = None
    tau: Positive | None = None
    multiplier: Positive | None = None
    weight_decay: Positive | None = None
    feature_decay: Positive | None = None
    features: Literal["free", "relu"] = "free"
    page: str | None = Field(default=None, max_length=40, description="An id of the page, for quick drafts.")
    draft: bool = Field(
        default=False, description="Start from the page's last forecast and stop early, at a gap of 1e-6 to 1e-3."
    )

    def held(self) -> dict[str, Any]:
        """The regularisation, as `collapse` takes it."""
        return self.model_dump(exclude={"counts", "features", "page", "draft"})


class ClassRow(BaseModel):
    """One class of the forecast."""

    count: float
    collapsed: bool
    margin: float
    loss: float
    classifier_norm: float
    vector: list[float] | None


class CollapseAnswer(BaseModel):
    """`facts` is the JSON object of `lopsided collapse` (of a draft, to the gap it states); the rest is for display."""

    facts: dict[str, Any]
    draft: bool
    verdict: str
    summary: list[tuple[str, str]]
    classes: list[ClassRow]
    angles: Drawing | None
    recipe: CodeRecipe


class Cure(BaseModel):
    """Oversampling rates of smallest total, as `--plan` gives them, and what the forecast says with them."""

    possible: bool
    why_not: str | None
    rates: list[float]
    level: float | None
    added_total: float
    verified: bool
    collapsed_after: list[int]
    minority_cosine_after: float | None
    recipe: CodeRecipe


@dataclass(frozen=True)
class _Watched(Model):
    """The model with a watch that is asked at every solve and every iteration."""

    watch: Watch = field(default_factory=lambda: Watch(0.0))

    def solve(self, counts: FloatArray, held: Restraint, progress: Any = None, near: Any = None) -> PeeledSolution:
        self.watch.check()
        return super().solve(counts, held, self.watch.check, near)


class Drafts:
    """The latest forecast of each page, from which the next one starts while a bar or slider is dragged."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[str, CollapseForecast] = OrderedDict()

    def near(self, page: str | None, classes: int) -> CollapseForecast | None:
        """What this page was shown last, if it has as many classes."""
        with self._lock:
            found = self._found.get(page or "")
        return found if found is not None and found.classes == classes else None

    def keep(self, page: str, forecast: CollapseForecast) -> None:
        """Remember it, and forget the pages that were silent longest."""
        with self._lock:
            self._found[page] = forecast
            self._found.move_to_end(page)
            while len(self._found) > MOST_DRAFTS:
                self._found.popitem(last=False)


def _counts(text: str, most: int) -> ClassCounts:
    named = sum(int(times[:12]) for times in re.findall(r"\*\s*(\d+)", text)) + text.count(",")
    counts = class_counts(text) if named <= 2 * most else None
    if counts is None or counts.classes > most:
        got = "more" if counts is None else counts.classes
        raise InputError(f"at most {most:,} classes here", got, "use lopsided collapse on the command line")
    return counts


def _prepared(request: Request, problem: CollapseProblem) -> tuple[ClassCounts, bool]:
    counts = _counts(problem.counts, request.app.state.settings.limits.classes)
    heavy = problem.features == "free" and len(set(counts.counts.tolist())) > QUICK_CLASSES
    return counts, heavy


def _recipe(problem: CollapseProblem, *, plan: bool = False) -> CodeRecipe:
    held = problem.held()
    options = held | {"features": None if problem.features == "free" else problem.features, "plan": plan or None}
    python = f"import lopsided\n\nprint({call('lopsided.collapse', problem.counts, options)}.to_dict())"
    return CodeRecipe(
        python=python, command=command(["collapse", "--counts", problem.counts], options | {"json": True})
    )


def warm_up() -> None:
    """One forecast, thrown away."""
    _forecast(class_counts("20,5,2"), CollapseProblem(counts="20,5,2", tau=5.0), Drafts(), Watch(60.0))


@router.post("/forecast", response_model=CollapseAnswer)
async def forecast(request: Request, problem: CollapseProblem) -> Response:
    """Which classes a network will fail to distinguish."""
    counts, heavy = _prepared(request, problem)
    drafts: Drafts = request.app.state.drafts

    def written(watch: Watch) -> str:  # here, not by the framework, which would check every number once more
        return _forecast(counts, problem, drafts, watch).model_dump_json()

    return Response(await compute_of(request).run(request, written, heavy=heavy), media_type="application/json")


def _forecast(counts: ClassCounts, problem: CollapseProblem, drafts: Drafts, watch: Watch) -> CollapseAnswer:
    hurry: dict[str, Any] = {"progress": watch.check}
    near = drafts.near(problem.page, counts.classes) if problem.draft else None
    if near is not None:
        end = time.monotonic() + DRAFT_SECONDS

        def enough(iteration: int, gap: float) -> bool:
            watch.check()
            return gap < ROUGHEST_DRAFT and time.monotonic() > end

        hurry = {"tolerance": DRAFT_TOLERANCE, "near": near, "progress": enough}
    found = collapse(counts, features=problem.features, **problem.held(), **hurry)
    if problem.page is not None:
        drafts.keep(problem.page, found)
    solution = found.solution
    weights = solution.factors()[0] if found.classes <= QUICK_CLASSES else None
    vectors = None if weights is None else shadow(weights).tolist()
    collapsed = set(found.collapsed)
    names = ("count", "margin", "loss", "classifier_norm")
    columns = (counts.counts, solution.margins, solution.class_losses, solution.classifier_norms)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return CollapseAnswer(
        facts=jsonable(found.to_dict()),
        draft=near is not None,
        verdict=verdict(found),
        summary=summary(found, problem.held()),
        classes=[
            ClassRow(**row, collapsed=k in collapsed, vector=None if vectors is None else vectors[k])
            for k, row in enumerate(rows)
        ],
        angles=_angles(found, weights),
        recipe=_recipe(problem),
    )


def anchors(classes: int) -> FloatArray:
    """K points spread evenly on the unit sphere (a Fibonacci lattice), with mean zero, (K, 3)."""
    place = (np.arange(classes) + 0.5) / classes
    height, turn = 1.0 - 2.0 * place, np.arange(classes) * math.pi * (3.0 - math.sqrt(5.0))
    radius = np.sqrt(np.maximum(1.0 - height**2, 0.0))
    points = np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1)
    return np.asarray(points - points.mean(axis=0))


def shadow(classifiers: FloatArray) -> FloatArray:
    """A three-dimensional projection of K classifiers, continuous in them and without a choice of axes, (K, 3).

    Each class has a fixed anchor a_k on the sphere. With W the classifiers as rows, the shadow is W (W^T A) / scale: a
    linear image of the rows, so equal classifiers fall on one point. For a simplex frame W W^T is I - 11^T/K up to
    scale, and the shadow is the anchors themselves, evenly spread. The longest has length 1 (0 where all are 0).
    """
    cast = classifiers @ (classifiers.T @ anchors(len(classifiers)))
    longest = float(np.linalg.norm(cast, axis=1).max(initial=0.0))
    return np.asarray(cast / longest if longest > 0 else cast)


def _angles(found: CollapseForecast, weights: FloatArray | None) -> Drawing | None:
    from lopsided.measure.angles import cosines

    if weights is None or not weights.size or found.classes > MOST_IN_MATRIX:
        return None
    names = [found.counts.name(k) for k in range(found.classes)]
    values = np.degrees(np.arccos(cosines(weights)))
    heat = Heatmap(names, names, values.tolist(), "degrees", low=0.0, high=180.0)
    panel = Panel("Angles between classifiers", "class", "class", [heat])
    return drawing(Figure("Angles", [panel], "0 degrees off the diagonal means that two classes share one classifier."))


@router.post("/cure")
async def cure(request: Request, problem: CollapseProblem) -> Cure:
    """How often to repeat the examples of each class so that none collapses, at the smallest total."""
    counts, _ = _prepared(request, problem)
    drafts: Drafts = request.app.state.drafts
    return await compute_of(request).run(request, lambda watch: _cure(counts, problem, drafts, watch), heavy=True)


def _cure(counts: ClassCounts, problem: CollapseProblem, drafts: Drafts, watch: Watch) -> Cure:
    model, held = _Watched(problem.features, watch=watch), restraint(counts.classes, **problem.held())
    solver = InTurn(held, model)
    shown = drafts.near(problem.page, counts.classes)
    if shown is not None and _same(shown, counts, held, model):
        solver.know(counts.counts, shown.solution)
    plan = rates_of_smallest_total(counts.counts, solver)
    weights = plan.rates.tolist()
    after = collapse(counts, features=problem.features, class_weights=weights, progress=watch.check, **problem.held())
    return Cure(
        **{name: value for name, value in jsonable(plan).items() if name in Cure.model_fields},
        collapsed_after=after.collapsed,
        minority_cosine_after=after.minority_cosine,
        recipe=_recipe(problem, plan=True),
    )


def _same(shown: CollapseForecast, counts: ClassCounts, held: Restraint, model: Model) -> bool:
    """Whether the page was shown this problem, as exactly as it is asked for now."""
    as_exact = (shown.model.features, shown.model.tolerance) == (model.features, model.tolerance)
    return as_exact and shown.held == held and np.array_equal(shown.effective_counts, counts.counts)


@router.post("/curve")
async def curve(request: Request, problem: CollapseProblem) -> Drawing:
    """The picture of `lopsided collapse --plot`: cosines against the ratio for two sizes, else size against margin."""
    counts, heavy = _prepared(request, problem)

    def draw(watch: Watch) -> Drawing:
        found = collapse(counts, features=problem.features, progress=watch.check, **problem.held())
        return drawing(collapse_figure(found))

    return await compute_of(request).run(request, draw, heavy=heavy)
