"""The exponents of the survival law, fitted again to the measured development tasks.

    ln f50 - ln wd = ln c + x ln(eta/b) + y ln D [+ z ln loss]

f50 is the frequency of the minority classes at R50, where their mean cosine passes 1/2, of tasks with two class sizes,
BatchNorm and SGD; the loss is that of the pilot at ratio 10. The committed constants (`theory.survival_law`) come from
58 settings of an earlier study that were not kept, so they are not what this gives: it says how far the tasks that were
kept bear them out, in standard errors of ordinary least squares, and how far their thresholds scatter about the
committed law, whose odds assume `SPREAD`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bench.laws.merging_data import matrix

from lopsided.core.validation import FloatArray
from lopsided.skill.collapse_recipes import training_of
from lopsided.skill.collapse_runs import PILOT, asked, exact_counts
from lopsided.skill.families.collapse_ratio import crossing, minority_mean
from lopsided.theory.survival_law import COEFFICIENTS, PILOT_COEFFICIENTS


@dataclass(frozen=True)
class SurvivalFit:
    """Constants by name (ln c, noise, depth, loss) with standard errors, and the committed ones; `spread` is the
    deviation of ln f50 from the committed law."""

    tasks: int
    constants: dict[str, float]
    errors: dict[str, float]
    committed: dict[str, float]
    spread: float


def survival_fits(tasks: Sequence[Mapping[str, Any]]) -> dict[str, SurvivalFit]:
    """Without and with the pilot's loss."""
    rows, levels = [], []
    for task in tasks:
        settings, training = task["settings"], training_of(task["settings"])
        ratio = _threshold(task) if "majority" in settings and training.batch_norm else None
        if ratio is None or training.optimiser != "sgd":
            continue
        counts = exact_counts(settings, ratio)
        noise = training.effective_step / min(float(training.batch_size), float(counts.sum()))
        loss = task["pilots"][str(PILOT)]["loss"]
        rows.append([1.0, np.log(noise), np.log(training.hidden_layers), np.log(loss)])
        levels.append(np.log(counts.min() / counts.sum() / training.weight_decay))
    design, level = np.array(rows), np.array(levels)
    return {
        "survival": _fitted(design[:, :3], level, COEFFICIENTS),
        "survival with pilot": _fitted(design, level, PILOT_COEFFICIENTS),
    }


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
    names = list(committed)
    return SurvivalFit(
        len(level),
        dict(zip(names, map(float, found), strict=True)),
        dict(zip(names, map(float, errors), strict=True)),
        dict(committed),
        float(np.sqrt(np.mean((level - design @ np.array([committed[name] for name in names])) ** 2))),
    )
