"""The supervised contrastive loss alone also gives the simplex frame, h_ki = sqrt(E_H) m_k (Theorem 3, eq 11-13).

    (12)  minimise (1/N) sum_ki (1/n) sum_j -log( exp(h_ki.h_kj/t) / sum_k'l exp(h_ki.h_k'l/t) ),  mean |h|^2 <= E_H

At the frame the loss is log n + log(1 + (K-1) exp(-K E_H / ((K-1) t))). The program is not convex, so a seed descends
from several random starts and keeps the lowest; one below the frame's loss would refute the theorem.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp

from lopsided.core.figure import Figure, Points
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Outcome, Runs, Verdict
from lopsided.papers.lp.descents import Sphere, descents, lowest
from lopsided.papers.lp.peeled import deviation_panel, frame_error
from lopsided.papers.shared.alternatives import renumbered
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.summary import chosen, column

TOLERANCE = 1e-4  # flat to second order: a loss exact to 1e-15 leaves angles uncertain by 3e-8 times the condition
LOSS_TOLERANCE = 1e-9  # relative to the loss; rounding of a sum of logarithms, with margin


def contrastive(features: FloatArray, classes: int, examples: int, temperature: float) -> tuple[float, FloatArray]:
    """The loss (12) and its gradient; features are columns, ordered by class."""
    count = classes * examples
    similar = features.T @ features / temperature
    same = np.kron(np.eye(classes), np.full((examples, examples), 1.0 / examples))
    normaliser = logsumexp(similar, axis=1)
    value = float(np.mean(normaliser - np.sum(same * similar, axis=1)))
    slope = (np.exp(similar - normaliser[:, None]) - same) / count
    return value, features @ (slope + slope.T) / temperature


def frame_loss(classes: int, examples: int, temperature: float, energy: float) -> float:
    """The loss at the simplex frame."""
    margin = classes / (classes - 1) * energy / temperature
    return float(np.log(examples) + np.log1p((classes - 1) * np.exp(-margin)))


def measure(settings: Settings, seed: int) -> Numbers:
    """The lowest of several random starts, compared with the frame."""
    classes, examples = settings["classes"], settings["examples"]
    energy, temperature = settings["feature_energy"], settings["temperature"]
    sphere = Sphere((settings["dimension"], classes * examples), energy * (classes * examples))

    def objective(h: FloatArray) -> tuple[float, tuple[FloatArray]]:
        value, slope = contrastive(h, classes, examples, temperature)
        return value, (slope,)

    ends = descents(objective, [sphere], generator(seed, "start"), settings["starts"], gtol=1e-12)
    best = lowest(ends)
    (h,) = best.blocks
    means = h.T.reshape(classes, examples, -1).mean(axis=1)
    at_frame = frame_loss(classes, examples, temperature, energy)
    return {
        "frame_error": frame_error(means),
        "within_class": float(np.abs(h.T.reshape(classes, examples, -1) - means[:, None]).max() / np.sqrt(energy)),
        "loss_excess": float(best.objective - at_frame) / at_frame,
        "starts_at_this_loss": sum(bool(end.objective <= best.objective + 1e-9) for end in ends),
    }


def judge(rows: Sequence[Row]) -> Verdict:
    """The lowest loss is the frame's, and it is reached at the frame only."""
    frames = sum(max(abs(row.numbers["frame_error"]), abs(row.numbers["within_class"])) <= TOLERANCE for row in rows)
    worst = max(max(row.numbers["frame_error"], row.numbers["within_class"]) for row in rows)
    lowest = min(row.numbers["loss_excess"] for row in rows)
    numbers = {"frames": frames, "runs": len(rows), "largest_deviation": worst, "lowest_loss_excess": lowest}
    if lowest < -LOSS_TOLERANCE:
        found = f"Descent found a loss {-lowest:.2g} (relative) below the frame's."
        return Verdict(Outcome.CONTRADICTED, found, numbers)
    ended = f"{frames} of {len(rows)} runs ended at the simplex frame"
    found = f"{ended}; largest deviation {worst:.1g}; none went below its loss."
    return Verdict(Outcome.HOLDS if frames == len(rows) else Outcome.FAILS, found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Deviation from the frame of every run."""
    series = [
        Points(column(own, "classes"), column(own, "frame_error", least=1e-17), f"temperature {temperature:g}")
        for temperature in sorted({row.settings["temperature"] for row in rows})
        for own in [chosen(rows, temperature=temperature)]
    ]
    panel, caption = deviation_panel("classes K", series, TOLERANCE), "Each point: the lowest of several starts."
    return Figure("The contrastive loss ends at the simplex frame", [panel], caption)


def _settings(classes: Sequence[int], examples: Sequence[int], starts: int) -> list[dict[str, Any]]:
    sizes = [{"classes": k, "dimension": k + 1, "feature_energy": 1.0, "starts": starts} for k in classes]
    return [setting for size in sizes for setting in varied(size, examples=examples, temperature=(0.5, 1.0))]


CLAIM = Claim(
    id="lp-contrastive",
    rule=f"In every run the lowest of the random starts is a simplex frame (cosines, lengths and within-class spread "
    f"within {TOLERANCE:g}); contradicted if any start ends more than {LOSS_TOLERANCE:g} below the frame's loss.",
    quick=Runs(_settings((2, 3, 5), (2, 3), starts=4), seeds=range(2)),
    paper=Runs(_settings((2, 3, 5, 10), (2, 5), starts=10), seeds=range(5)),
    measure=measure,
    judge=judge,
    plot=plot,
    quick_budget_seconds=10.0,
    alternatives={"orthogonal means": renumbered(lambda row: {"frame_error": 1 / (row.settings["classes"] - 1)})},
)
