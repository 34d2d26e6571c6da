"""Balanced classes: every minimiser of (7) is a simplex equiangular tight frame, h_ki = C w_k = C' m_k (Theorem 1).

Each seed is a random start of the nonconvex program, with several free features per class. The closed form of the
minimum is f = log(1 + (K-1) exp(-K/(K-1) sqrt(E_H E_W))); a start that ends below it would refute the theorem.
"""

from collections.abc import Sequence

import numpy as np

from lopsided.core.figure import Figure, Points
from lopsided.core.seeds import generator
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Outcome, Runs, Verdict
from lopsided.papers.lp.peeled import class_means, descend, deviation_panel, energies, frame_error, problem
from lopsided.papers.shared.alternatives import renumbered
from lopsided.papers.shared.summary import column

# The loss is flat to second order at its minimum, so a loss exact to 1e-15 leaves angles uncertain by about
# sqrt(1e-15) ~ 3e-8 times the condition number (up to 1e3 here).
TOLERANCE = 1e-4
LOSS_TOLERANCE = 1e-9  # relative; rounding of the logarithm, with margin


def measure(settings: Settings, seed: int) -> Numbers:
    """Descend once and compare with the frame."""
    classes, size, examples = settings["classes"], settings["dimension"], [settings["examples"]] * settings["classes"]
    instance = problem([1.0] * classes, **energies(settings), dimension=size, examples=examples)
    (fit,) = descend(instance, generator(seed, "start"))
    means = class_means(fit, instance.labels)
    constant = np.sqrt(settings["feature_energy"] / settings["weight_energy"])
    scale = np.sqrt(settings["feature_energy"])
    margin = classes / (classes - 1) * np.sqrt(settings["feature_energy"] * settings["weight_energy"])
    return {
        "frame_error": frame_error(fit.classifiers),
        "feature_frame_error": frame_error(means),
        "within_class": float(np.abs(fit.features - means[instance.labels].T).max() / scale),
        "duality": float(np.abs(means - constant * fit.classifiers).max() / scale),
        "loss_excess": float(fit.loss / np.log1p((classes - 1) * np.exp(-margin)) - 1.0),
    }


def judge(rows: Sequence[Row]) -> Verdict:
    """Every start ends at the frame and none below its loss."""
    names = ("frame_error", "feature_frame_error", "within_class", "duality")
    worst = {name: max(abs(row.numbers[name]) for row in rows) for name in names}
    lowest = min(row.numbers["loss_excess"] for row in rows)
    frames = sum(all(abs(row.numbers[name]) <= TOLERANCE for name in names) for row in rows)
    numbers = {**worst, "lowest_loss_excess": lowest, "starts_at_the_frame": frames, "starts": len(rows)}
    if lowest < -LOSS_TOLERANCE:
        return Verdict(Outcome.CONTRADICTED, f"A start ended below the frame's loss, by {-lowest:.2g}.", numbers)
    found = (
        f"{frames} of {len(rows)} random starts ended at the frame; angles, lengths, within-class spread and h = C w "
        f"deviate by at most {max(worst.values()):.1g}."
    )
    return Verdict(Outcome.HOLDS if frames == len(rows) else Outcome.FAILS, found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Deviation from the frame of every start."""
    words = {
        "frame_error": "classifiers: angles and lengths",
        "feature_frame_error": "features: angles and lengths",
        "within_class": "spread within a class",
        "duality": "h = C w",
    }
    series = [Points(column(rows, "classes"), column(rows, name, least=1e-17), label) for name, label in words.items()]
    panel = deviation_panel("classes K", series, TOLERANCE)
    caption = "Every point is one random start of program (7)."
    return Figure("Balanced classes end at the simplex frame", [panel], caption)


def _settings(classes: Sequence[int], examples: int) -> list[Settings]:
    base = {"examples": examples}
    return [
        {**base, "classes": k, "dimension": k - 1 + extra, "feature_energy": feature, "weight_energy": weight}
        for k in classes
        for extra, feature, weight in ((0, 1.0, 1.0), (3, 5.0, 0.5))
    ]


CLAIM = Claim(
    id="lp-etf",
    rule=f"Every random start of the nonconvex program ends with cosines within {TOLERANCE:g} of -1/(K-1), equal "
    f"lengths, h = sqrt(E_H/E_W) w and no spread within a class; contradicted if any start ends more than "
    f"{LOSS_TOLERANCE:g} (relative) below the frame's loss.",
    quick=Runs(_settings((2, 3, 5, 10), examples=3), seeds=range(3)),
    paper=Runs(_settings((2, 3, 5, 10, 20, 50), examples=5), seeds=range(10)),
    measure=measure,
    judge=judge,
    plot=plot,
    quick_budget_seconds=10.0,
    alternatives={"orthogonal classifiers": renumbered(lambda row: {"frame_error": 1 / (row.settings["classes"] - 1)})},
)
