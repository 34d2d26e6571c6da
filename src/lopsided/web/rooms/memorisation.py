"""Room 3, Memorisation: where overfitting is benign (phase diagram), and which examples dominate their class's
noise."""

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from lopsided.core.jsonable import jsonable
from lopsided.core.noise_geometry import NoiseGeometry
from lopsided.papers.evidence import shipped
from lopsided.theory.overfitting_bounds import Region, TheoremConstants, regions, theorem_terms
from lopsided.web.answers import (
    CodeRecipe,
    Drawing,
    PanelDrawing,
    call_recipe,
    command,
    drawing,
    own_recipe,
    python_command,
)
from lopsided.web.compute import Watch, compute_of
from lopsided.web.jobs.job import JobStatus
from lopsided.web.jobs.runner import jobs_of
from lopsided.web.jobs.worker import Report
from lopsided.web.problems import responses
from lopsided.web.rooms.claims import rerun, stored_rows
from lopsided.web.rooms.files import DataProblem, check_names, open_upload

CLAIM = "bo-phase"
NORMS = np.round(np.linspace(0.0, 3.8, 39), 3)
RATIOS = np.round(np.geomspace(1.0, 1400.0, 30), 4)
COLOURS = {
    Region.FEATURES: "#56b4e9",
    Region.NOISE: "#009e73",
    Region.UNDECIDED: "#999999",
    Region.HARMFUL: "#d55e00",
}
MOST_SCORES_SENT = 20_000
router = APIRouter(prefix="/api/memorisation", tags=["memorisation"], responses=responses(503))


class PhaseProblem(BaseModel):
    """A two-patch problem with equal classes: feature strength |u|, noise correlation ratio, sizes."""

    model_config = ConfigDict(extra="forbid")
    feature_norm: float = Field(1.0, ge=0.0, le=10, allow_inf_nan=False)
    ratio: float = Field(8.0, ge=1.0, le=10_000, allow_inf_nan=False)
    classes: int = Field(3, ge=2, le=6)
    per_class: int = Field(20, ge=5, le=100)
    dimension: int = Field(200, ge=20, le=400)
    seed: int = Field(0, ge=0, le=2**31)

    def settings(self) -> dict[str, Any]:
        """As the claims of Xu and Chen 2025 take them, trained to the end that Theorem 1 speaks of."""
        sizes = self.model_dump(include={"classes", "per_class", "dimension", "feature_norm", "ratio"})
        return sizes | {"width": 30, "tests": 300, "reading": "converged", "family": "gaussian"}


class PhasePoint(BaseModel):
    """The two terms of Theorem 1 and, where constants have been measured, the region and the diagram."""

    signal: float
    ratio: float
    region: str | None
    constants: dict[str, float | None] | None
    diagram: Drawing | None
    note: str
    recipe: CodeRecipe


@lru_cache(maxsize=4)
def _geometries(classes: int, per_class: int, dimension: int) -> tuple[NoiseGeometry, ...]:
    return tuple(_geometry(classes, per_class, dimension, float(ratio)) for ratio in RATIOS)


def _geometry(classes: int, per_class: int, dimension: int, ratio: float) -> NoiseGeometry:
    from lopsided.data.patches import patch_distribution

    return patch_distribution([per_class] * classes, dimension, ratios=ratio, seed=0)[0].geometry()


@router.post("/phase")
async def phase(request: Request, problem: PhaseProblem) -> PhasePoint:
    """Where this problem lies, with the borders fitted on the measured cells of the claim bo-phase."""
    store, data = request.app.state.settings.store, request.app.state.settings.data
    return await compute_of(request).run(request, lambda watch: _phase(problem, _constants(store, data), watch))


def _constants(store: Path | None, data: Path | None) -> TheoremConstants | None:
    from lopsided.worlds.patch_runs import fit_halves

    rows = stored_rows(CLAIM, store, data) or [row for found in shipped(CLAIM)[:1] for row in found.rows]
    return fit_halves(rows)[0] if rows else None


def _phase(asked: PhaseProblem, constants: TheoremConstants | None, watch: Watch) -> PhasePoint:
    sizes = np.full(asked.classes, float(asked.per_class))
    geometry = _geometry(asked.classes, asked.per_class, asked.dimension, asked.ratio)
    terms = theorem_terms(geometry, np.full(asked.classes, asked.feature_norm), sizes)
    region = None if constants is None else regions(terms, constants)[0].value
    return PhasePoint(
        signal=float(terms.weakest_signal().min()),
        ratio=float(terms.weakest_ratio().min()),
        region=region,
        constants=None if constants is None else jsonable(vars(constants)),
        diagram=None if constants is None else _diagram(asked, constants, sizes, watch),
        note="Theorem 1 gives no values for its constants; the borders are fitted on the measured cells of bo-phase.",
        recipe=call_recipe("lopsided.worlds.patch_runs", "measured_cell", asked.settings(), asked.seed),
    )


def _diagram(asked: PhaseProblem, constants: TheoremConstants, sizes: Any, watch: Watch) -> Drawing:
    order = list(COLOURS)
    codes, names = [], []
    for geometry in _geometries(asked.classes, asked.per_class, asked.dimension):
        watch.check()
        found = [regions(theorem_terms(geometry, np.full(asked.classes, norm), sizes), constants)[0] for norm in NORMS]
        codes.append([order.index(region) for region in found])
        names.append([region.value for region in found])
    many = len(order)
    scale = [[(k + end) / many, COLOURS[region]] for k, region in enumerate(order) for end in (0, 1)]
    heat = {
        "type": "heatmap",
        "x": NORMS.tolist(),
        "y": RATIOS.tolist(),
        "z": codes,
        "text": names,
        "zmin": -0.5,
        "zmax": many - 0.5,
        "colorscale": scale,
        "opacity": 0.75,
        "colorbar": {"tickvals": list(range(many)), "ticktext": [region.value for region in order]},
        "hovertemplate": "|u| = %{x}, Γ = %{y}<br>%{text}<extra></extra>",
        "name": "region",
    }
    here = {
        "type": "scatter",
        "mode": "markers",
        "x": [asked.feature_norm],
        "y": [asked.ratio],
        "marker": {"symbol": "star", "size": 16, "color": "#ffffff", "line": {"color": "#000000", "width": 1.5}},
        "name": "this problem",
        "hovertemplate": "this problem<extra></extra>",
    }
    layout = {
        "title": {"text": "Benign and harmful overfitting", "font": {"size": 15}},
        "xaxis": {"title": {"text": "feature strength |u|"}, "type": "-", "automargin": True},
        "yaxis": {"title": {"text": "noise correlation ratio Γ"}, "type": "log", "dtick": 1, "automargin": True},
        "margin": {"l": 64, "r": 24, "t": 48, "b": 56},
        "showlegend": False,
        "hovermode": "closest",
    }
    panel = PanelDrawing(data=[heat, here], layout=layout)
    return Drawing(title="Phase diagram", caption="Click to move the point.", panels=[panel])


@router.post("/measure", responses=responses(429))
def start_phase(request: Request) -> JobStatus:
    """Measure the cells of bo-phase at quick scale, for the borders of the diagram: a job."""
    settings = request.app.state.settings
    parameters = {"store": settings.store, "data": settings.data}
    return jobs_of(request).submit("phase", "Measure the phase diagram", parameters)


def measure_phase(parameters: dict[str, Any], report: Report) -> dict[str, Any]:
    """The job: the claim's quick scale into the store; what is there is reused."""
    return rerun({**parameters, "id": CLAIM, "fresh": False}, report)


@router.post("/train", responses=responses(429))
def start_training(request: Request, problem: PhaseProblem) -> JobStatus:
    """Train the two-patch network at this point: a job."""
    title = f"Train at |u| = {problem.feature_norm:g}, Γ = {problem.ratio:g}"
    return jobs_of(request).submit("train", title, problem.model_dump())


def train_here(parameters: dict[str, Any], report: Report) -> dict[str, Any]:
    """The job: test accuracy per class, training loss, and what the Bayes rule reaches on the noise alone."""
    from lopsided.worlds.patch_runs import measured_cell

    asked = PhaseProblem(**parameters)
    report(words="training")
    return measured_cell(asked.settings(), asked.seed)


class ScoreProblem(DataProblem):
    """A built-in set, or an upload with its column of labels."""

    builtin: Literal["digits", "mnist", "fashion-mnist"] | None = None
    per_class: int = Field(200, ge=10, le=2000)
    extremes: int = Field(8, ge=1, le=12)


@router.get("/sets")
def sets(request: Request) -> list[str]:
    """The built-in image sets that are available."""
    from lopsided.data.images import NAMES, has_images

    return [name for name in reversed(NAMES) if has_images(name, request.app.state.settings.data)]


@router.post("/score", responses=responses(404, 429))
def start_scoring(request: Request, problem: ScoreProblem) -> JobStatus:
    """Influence scores of every example: a job."""
    return problem.submit(request, "score", data=request.app.state.settings.data)


def score_examples(parameters: dict[str, Any], report: Report) -> dict[str, Any]:
    """The job: `lopsided.score` on the chosen examples."""
    from lopsided.checkup.score import score
    from lopsided.data.images import load_images

    asked = ScoreProblem(**parameters["asked"])
    report(words="reading")
    if "upload" in parameters:
        beside = () if asked.labels is None else (asked.labels,)
        table = open_upload(parameters["upload"], beside=beside, whole=True)
        check_names(parameters["upload"], table, beside)
        found = score(table, asked.labels, extremes=asked.extremes, progress=lambda a, b: report(done=a, total=b))
        options = {"labels": asked.labels, "extremes": asked.extremes}
        recipe = own_recipe("score", parameters["upload"]["name"], options, ".classes")
    else:
        images = load_images(asked.builtin or "digits", folder=parameters["data"]).first(asked.per_class)
        found = score(images.pixels, images.labels, extremes=asked.extremes)
        recipe = _builtin_recipe(asked)
    result: dict[str, Any] = {
        "classes": found.classes,
        "examples": int(found.ranks.size),
        "figures": [drawing(figure).model_dump() for figure in found.figures()],
        "recipe": recipe.model_dump(),
        "seconds": found.seconds,
        "scores": None,
    }
    if found.ranks.size <= MOST_SCORES_SENT:
        result["scores"] = {name: column.tolist() for name, column in found.columns().items()}
    return result


def _builtin_recipe(asked: ScoreProblem) -> CodeRecipe:
    name = asked.builtin or "digits"
    load = f"images = load_images({name!r}).first({asked.per_class})"
    code = (
        "import lopsided\nfrom lopsided.data.images import load_images\n\n"
        f"{load}\nprint(lopsided.score(images.pixels, images.labels, extremes={asked.extremes}).classes)"
    )
    save = (
        f"import numpy\nfrom lopsided.data.images import load_images\n{load}\n"
        f"numpy.savez('{name}.npz', images=images.pixels, labels=images.labels)"
    )
    run = command(["score", f"{name}.npz"], {"extremes": asked.extremes, "json": True})
    return CodeRecipe(python=code, command=f"{python_command(save)}\n{run}")
