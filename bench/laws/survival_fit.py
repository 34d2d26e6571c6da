"""The exponents of the survival law, fitted again to the measured development tasks.

    ln f50 - ln wd = ln c + x ln(eta/b) + y ln D [+ z ln loss]

f50 is the frequency of the minority classes at R50, where their mean cosine passes 1/2, of tasks with two class sizes,
BatchNorm and SGD; the loss is that of the pilot at ratio 10. Least squares; the spread is the deviation that is left,
and its error that of a normal sample.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bench.laws.merging_data import matrix

from lopsided.core.validation import FloatArray
from lopsided.skill.collapse_recipes import training_of
from lopsided.skill.collapse_runs import PILOT, asked, exact_counts
from lopsided.skill.families.collapse_ratio import crossing, minority_mean
from lopsided.theory.survival_law import COEFFICIENTS, PILOT_COEFFICIENTS
from lopsided.theory.training_settings import TrainingSettings


@dataclass(frozen=True)
class SurvivalFit:
    """Constants by name (ln c, noise, depth, loss, spread) with standard errors, and the committed ones."""

    tasks: int
    constants: dict[str, float]
    errors: dict[str, float]
    committed: dict[str, float]


Range = tuple[float, float]


def survival_fits(tasks: Sequence[Mapping[str, Any]]) -> dict[str, SurvivalFit]:
    """Without and with the pilot's loss."""
    rows, levels = [], []
    for task, training, ratio in _fitted_tasks(tasks):
        counts = exact_counts(task["settings"], ratio)
        noise = training.effective_step / min(float(training.batch_size), float(counts.sum()))
        loss = task["pilots"][str(PILOT)]["loss"]
        rows.append([1.0, np.log(noise), np.log(training.hidden_layers), np.log(loss)])
        levels.append(np.log(counts.min() / counts.sum() / training.weight_decay))
    design, level = np.array(rows), np.array(levels)
    return {
        "survival": _fitted(design[:, :3], level, COEFFICIENTS),
        "survival with pilot": _fitted(design, level, PILOT_COEFFICIENTS),
    }


def ranges(tasks: Sequence[Mapping[str, Any]]) -> dict[str, Range]:
    """From where to where the settings of the tasks go that the law is fitted to."""
    asked = [
        {
            "batch size": training.batch_size,
            "step": training.step,
            "weight decay": training.weight_decay,
            "hidden layers": training.hidden_layers,
            "classes": len(task["settings"]["classes"]),
        }
        for task, training, _ in _fitted_tasks(tasks)
    ]
    return {name: (min(one[name] for one in asked), max(one[name] for one in asked)) for name in asked[0]}


def _fitted_tasks(tasks: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], TrainingSettings, float]]:
    """Task, training and R50."""
    for task in tasks:
        training = training_of(task["settings"])
        ratio = _threshold(task) if "majority" in task["settings"] and training.batch_norm else None
        if ratio is not None and training.optimiser == "sgd":
            yield task, training, ratio


def _threshold(task: Mapping[str, Any]) -> float | None:
    settings = task["settings"]
    classes, ratios = len(settings["classes"]), np.array(asked(settings), dtype=float)
    means = [minority_mean(settings, matrix(task["truth"][str(ratio)], classes))[0] for ratio in asked(settings)]
    return crossing(ratios, np.array(means))


def _fitted(design: FloatArray, level: FloatArray, committed: Mapping[str, float]) -> SurvivalFit:
    found, *_ = np.linalg.lstsq(design, level, rcond=None)
    freedom = len(level) - design.shape[1]
    variance = float(np.sum((level - design @ found) ** 2)) / freedom
    errors = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    names, spread = list(committed), float(np.sqrt(variance))
    return SurvivalFit(
        len(level),
        dict(zip(names, (*map(float, found), spread), strict=True)),
        dict(zip(names, (*map(float, errors), spread / (2 * freedom) ** 0.5), strict=True)),
        dict(committed),
    )
