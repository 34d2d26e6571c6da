"""bo-homogeneous: two classes with equal noise recover the known phase transition in n |u|^4 / d (Remark 5).

The rate is scaled by n / d, so that a step moves an activation by the same small amount at every size (Condition 1(c)
asks for steps small against the noise); a fixed rate memorises the noise of large d in one step.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Line, Mark, Panel
from lopsided.core.statistics import Uncertain
from lopsided.engine.task import Row, Settings
from lopsided.papers.bo.overfitting_runs import READING_WORDS, accuracy_means, patch_run, patch_settings, run_numbers
from lopsided.papers.claim import Claim, Outcome, Runs, Verdict

MIDDLE = 0.75  # half way between chance and 1
AGREE = 2.0  # the transition lies at one value of n |u|^4 / d up to this factor


def measure(settings: Settings, seed: int) -> dict[str, Any]:
    """Test accuracy and the term n |u|^4 / d."""
    run = patch_run(settings, seed)
    term = int(settings["per_class"]) * float(settings["feature_norm"]) ** 4 / int(settings["dimension"])
    return {**run_numbers(run), "term": term}


def _curves(rows: Sequence[Row]) -> dict[tuple[int, int], dict[float, Uncertain]]:
    curves: dict[tuple[int, int], dict[float, Uncertain]] = {}
    for size, d in sorted({(int(row.settings["per_class"]), int(row.settings["dimension"])) for row in rows}):
        chosen = [row for row in rows if (row.settings["per_class"], row.settings["dimension"]) == (size, d)]
        curves[size, d] = accuracy_means(chosen, lambda row: float(row.settings["feature_norm"]))
    return curves


def _crossing(curve: dict[float, Uncertain]) -> float | None:
    """log |u| where the accuracy passes MIDDLE, by linear interpolation; None where it does not."""
    norms, values = np.log(list(curve)), np.array([mean.value for mean in curve.values()])
    above = np.flatnonzero(values >= MIDDLE)
    if above.size == 0 or above[0] == 0:
        return None
    i = int(above[0])
    return float(np.interp(MIDDLE, values[i - 1 : i + 1], norms[i - 1 : i + 1]))


def _terms(rows: Sequence[Row]) -> tuple[dict[str, float], float, float, bool]:
    """n |u|^4 / d at the crossing of every (n, d), its spread, the spread of |u|^4, and whether all cross."""
    terms: dict[str, float] = {}
    fourth_powers = []
    curves = _curves(rows)
    for (size, d), curve in curves.items():
        where = _crossing(curve)
        if where is not None:
            terms[f"n = {size}, d = {d}"] = float(size * np.exp(4 * where) / d)
            fourth_powers.append(float(np.exp(4 * where)))
    spread = max(terms.values()) / min(terms.values()) if terms else float("inf")
    raw = max(fourth_powers) / min(fourth_powers) if fourth_powers else float("inf")
    return terms, spread, raw, bool(terms) and len(terms) == len(curves)


def judge(rows: Sequence[Row]) -> Verdict:
    """At small steps every (n, d) has a transition, and they agree in n |u|^4 / d while they differ in |u|^4."""
    terms, spread, raw, found_all = _terms([row for row in rows if row.settings["rate"] == "scaled"])
    fixed_terms, fixed_spread, _, _ = _terms([row for row in rows if row.settings["rate"] == "fixed"])
    if found_all and spread <= AGREE and raw > 2 * AGREE:
        outcome = Outcome.HOLDS
    elif found_all:
        outcome = Outcome.PARTLY if spread < raw else Outcome.CONTRADICTED
    else:
        outcome = Outcome.FAILS
    low, high = min(terms.values(), default=float("nan")), max(terms.values(), default=float("nan"))
    found = (
        f"Accuracy passes {MIDDLE} at n |u|^4 / d = {low:.2f} to {high:.2f} over {len(terms)} pairs (n, d); |u|^4 "
        f"itself differs by {raw:.1f}. At one fixed rate the transitions differ by a factor of {fixed_spread:.1f}."
    )
    numbers = {"terms": terms, "spread": spread, "spread_of_fourth_power": raw}
    return Verdict(outcome, found, {**numbers, "fixed_rate_terms": fixed_terms, "fixed_rate_spread": fixed_spread})


def plot(rows: Sequence[Row]) -> Figure:
    """Accuracy against |u| and against n |u|^4 / d."""
    raw, scaled = [], []
    for (size, d), curve in _curves([row for row in rows if row.settings["rate"] == "scaled"]).items():
        norms = list(curve)
        y = [mean.value for mean in curve.values()]
        name = f"n = {size}, d = {d}"
        raw.append(Line(norms, y, name, markers=True))
        scaled.append(Line([size * norm**4 / d for norm in norms], y, name, markers=True))
    mark = [Mark(MIDDLE, "half way", "y")]
    return Figure(
        "Equal noise: the known transition",
        [
            Panel("Against the feature strength", "|u|", "test accuracy", raw, mark, x_log=True),
            Panel("Against the known term", "n |u|⁴ / d", "test accuracy", scaled, mark, x_log=True),
        ],
        "n examples per class, two classes, noise of covariance I off the features.",
    )


def _settings(pairs: Sequence[tuple[int, int]], steps: Sequence[float], width: int, tests: int) -> list[Settings]:
    return [
        {
            **patch_settings("converged", 2, n, d, width, tests, ratio=1.0, base=1.0, rate=rate),
            "feature_norm": round(step * (d / n) ** 0.25, 4),
            "training": {"step": 0.5 * n / d if rate == "scaled" else 1.0},
        }
        for rate in ("scaled", "fixed")
        for n, d in pairs
        for step in steps
    ]


CLAIM = Claim(
    id="bo-homogeneous",
    rule=f"At rates scaled by n / d accuracy passes {MIDDLE} for every (n, d), at values of n |u|^4 / d within a "
    f"factor of {AGREE:g}, while |u|^4 there differs by more than {2 * AGREE:g}: holds; a smaller spread than that of "
    "|u|^4 only: partly; a larger one: contradicted; no crossing: fails. Revised after a first run at one fixed rate, "
    "which gave partly and is still measured: its steps are not small against the noise, as Condition 1(c) asks.",
    quick=Runs(
        _settings(((10, 100), (40, 100), (10, 400), (40, 400)), (0.4, 0.6, 0.8, 1.0, 1.3, 1.7), 30, 300),
        seeds=(0, 1),
    ),
    paper=Runs(
        _settings(
            ((20, 500), (80, 500), (20, 2000), (80, 2000)), (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.3, 1.7), 100, 500
        ),
        seeds=(0, 1, 2),
    ),
    measure=measure,
    judge=judge,
    plot=plot,
    readings={"converged": READING_WORDS["converged"]},
)
