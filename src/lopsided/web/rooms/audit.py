"""Room 5, Audit: an uploaded file or a built-in set, its columns named, and the report of `lopsided audit`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Request
from pydantic import Field

from lopsided.web.answers import CodeRecipe, command, own_recipe, python_command
from lopsided.web.jobs.job import JobStatus
from lopsided.web.jobs.worker import Report
from lopsided.web.problems import responses
from lopsided.web.rooms.files import DataProblem, check_upload, shown_name

Builtin = Literal["long-tailed digits", "digits"]
ShortText = Annotated[str, Field(min_length=1, max_length=200)]
TAIL = 0.7  # of the built-in tail: each class has this share of the examples of the class before
# Examples of each digit in the built-in sets, which the server knows without loading them.
SIZES = {"long-tailed digits": [round(130 * TAIL**k) for k in range(10)]}
SIZES |= {"digits": [134, 137, 134, 145, 132, 137, 136, 132, 130, 130]}
router = APIRouter(prefix="/api/audit", tags=["audit"], responses=responses(404, 429))


class AuditProblem(DataProblem):
    """The data to audit, and the roles of its columns (or arrays); the audit guesses missing names."""

    builtin: Builtin | None = None
    labels: ShortText | None = None
    groups: list[ShortText] = Field(default_factory=list, max_length=4)
    predictions: ShortText | None = None
    probabilities: ShortText | None = None
    logits: ShortText | None = None
    classifier: ShortText | None = None
    bias: ShortText | None = None
    split: ShortText | None = None
    weight_decay: float | None = Field(None, gt=0, le=1e6, allow_inf_nan=False)
    seed: int = Field(0, ge=0, le=2**31)

    def parts(self) -> dict[str, Any]:
        """The names as `lopsided.audit` takes them, without those that were not given."""
        given = self.model_dump(exclude={"upload", "builtin", "seed"})
        return {name: value for name, value in given.items() if value not in (None, [])}


@router.post("/run")
def start_audit(request: Request, problem: AuditProblem) -> JobStatus:
    """Audit the data: a job with a report."""
    return problem.submit(request, "audit", [name for name in problem.parts() if name != "weight_decay"])


def run(parameters: dict[str, Any], report: Report) -> dict[str, Any]:
    """The job: the facts of `lopsided.audit`, its page, and how to get both elsewhere."""
    from lopsided.report.audit import audit

    asked = AuditProblem(**parameters["asked"])

    def progress(done: int, total: int, words: str) -> None:
        report(done=done, total=total, words=words)

    if "upload" in parameters:
        upload = parameters["upload"]
        parts = asked.parts()
        check_upload(upload, parts)
        with shown_name(upload):
            found = audit(upload["path"], **parts, seed=asked.seed, progress=progress)
        name = upload["name"]
        recipe = own_recipe("audit", name, parts | {"seed": asked.seed}, ".to_dict()")
    else:
        name = asked.builtin or "digits"
        features, labels = builtin(name)
        decay = asked.weight_decay
        found = audit(features, labels=labels, weight_decay=decay, seed=asked.seed, progress=progress)
        recipe = builtin_recipe("audit", name, {"weight_decay": decay, "seed": asked.seed})
    found = replace(found, evidence=replace(found.evidence, source=name))
    return {
        "facts": found.to_dict(),
        "verdict": found.headline(),
        "recipe": recipe.model_dump(),
        "report": found.to_html(title=f"Audit of {name}"),
    }


def builtin(name: str) -> tuple[Any, Any]:
    """Features and labels of a built-in set; a long tail keeps the first examples of each class."""
    from lopsided.data.images import load_images

    images = load_images("digits")
    features, labels = images.rows(), images.labels
    if name == "digits":
        return features, labels
    kept = [np.flatnonzero(labels == digit)[:size] for digit, size in enumerate(SIZES[name])]
    chosen = np.sort(np.concatenate(kept))
    return features[chosen], labels[chosen]


def builtin_recipe(function: str, name: str, options: Mapping[str, Any]) -> CodeRecipe:
    """A public function that is also a command, on a built-in set."""
    load = f"from lopsided.web.rooms.audit import builtin\n\nfeatures, labels = builtin({name!r})\n"
    given = "".join(f", {option}={value!r}" for option, value in options.items() if value is not None)
    python = f"import lopsided\n{load}print(lopsided.{function}(features, labels=labels{given}).to_dict())"
    save = f"import numpy\n{load}numpy.savez('digits.npz', features=features, labels=labels)"
    line = command([function, "digits.npz"], {**options, "json": True})
    return CodeRecipe(python=python, command=f"{python_command(save)}\n{line}")
