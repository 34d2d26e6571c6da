"""bo-decay: the test loss decays exponentially, in the signal term (Theorem 1.2a) and in L^2 Gamma (Theorem 1.2b).

    loss on D_k <= sum_j exp(-c1 signal),      loss at a tail of L <= sum_j exp(-c2 L^2 Gamma)

bo-phase tests the powers of every quantity at many sizes; this claim keeps one size and tests the shape. The bounds are
Gaussian tails: -log loss = z^2/2 up to a logarithm for the normal quantile z of the loss (of half the loss at a tail of
L, as in `phase_powers`). So z^2 is linear in the term; under a power law it is linear in its logarithm.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Panel, Points
from lopsided.core.statistics import SeedMean, seed_mean, straight_line
from lopsided.engine.task import Row, Settings
from lopsided.papers.bo.phase_powers import WITHOUT, measure
from lopsided.papers.claim import Claim, Part, Runs, Verdict, weigh
from lopsided.worlds import patch_runs as cells

KINDS = {"signal": "the signal term", "noise": "L² Γ"}
STRAIGHT = 0.9  # R^2 of -log loss against the term
LEAST = 5  # tests that must be lost for a loss to be known
CHANCE = {"signal": 0.45, "noise": 0.8}  # losses above this say nothing of a decay


def points(row: Row, k: int) -> list[tuple[float, float]]:
    """(term, z^2) of a class; in cells without a feature, of every bin of the tail."""
    kind, tests = row.settings["kind"], float(row.numbers["tests_per_class"])
    if kind == "signal":
        found = [(float(row.numbers["signals"][k]), 1 - float(row.numbers["class_accuracy"][k]))]
    else:
        bins = list(zip(row.numbers["levels"][k], row.numbers["losses"][k], strict=True))
        tests /= len(bins)
        found = [(level**2 * float(row.numbers["ratios"][k]), float(loss)) for level, loss in bins]
    sides = 1 if kind == "signal" else 2
    return [
        (term, NormalDist().inv_cdf(1 - loss / sides) ** 2)
        for term, loss in found
        if LEAST / tests <= loss <= CHANCE[kind] and term > 0
    ]


def fits(rows: Sequence[Row], kind: str) -> tuple[SeedMean, SeedMean] | None:
    """R^2 of z^2 against the term, and how much larger it is than R^2 against the term's logarithm: for each seed the
    mean over both classes, which have separate neurons."""
    straight, better = [], []
    for seed in sorted({row.seed for row in rows}):
        chosen = [row for row in rows if row.seed == seed and row.settings["kind"] == kind]
        lines = [[point for row in chosen for point in points(row, k)] for k in range(2)]
        if min(len(line) for line in lines) < 4:
            return None
        fitted = []
        for line in lines:
            term, height = np.array(line).T
            fitted.append([straight_line(x, height)[2] for x in (term, np.log(term))])
        straight.append(float(np.mean([exponential for exponential, _ in fitted])))
        better.append(float(np.mean([exponential - power for exponential, power in fitted])))
    return seed_mean(straight), seed_mean(better)


def judge(rows: Sequence[Row]) -> Verdict:
    """Linear in the term, and closer to linear than a power law."""
    parts: list[Part] = []
    words = []
    numbers: dict[str, Any] = {}
    for kind, name in KINDS.items():
        found = fits(rows, kind)
        titles = (f"straight in {name}", f"straighter in {name} than in its logarithm")
        if found is None:
            parts += [Part(title, False) for title in titles]
            words.append(f"{name}: too few losses between 0 and chance")
            continue
        parts += [Part.above(titles[0], found[0], STRAIGHT), Part.above(titles[1], found[1])]
        numbers[kind] = {"r_squared": found[0], "above_a_power_law": found[1]}
        words.append(f"z² against {name}: R² {found[0].text()}, {found[1].text()} above that of a power law")
    return weigh(parts, "; ".join(words), numbers)


def power_law(rows: Sequence[Row]) -> list[Row]:
    """Losses that fall like a power of the terms, with the same loss at a term of 1."""

    def lost(term: float) -> float:
        return min(0.5, 0.3 / max(term, 1e-9))

    changed = []
    for row in rows:
        numbers = dict(row.numbers)
        if row.settings["kind"] == "signal":
            numbers["class_accuracy"] = [1 - lost(value) for value in row.numbers["signals"]]
        else:
            pairs = zip(row.numbers["ratios"], row.numbers["levels"], strict=True)
            numbers["losses"] = [[lost(level**2 * ratio) for level in levels] for ratio, levels in pairs]
        changed.append(replace(row, numbers=numbers))
    return changed


def plot(rows: Sequence[Row]) -> Figure:
    """z^2 against both terms."""
    panels = []
    for kind, name in KINDS.items():
        own = [point for row in rows if row.settings["kind"] == kind for k in range(2) for point in points(row, k)]
        series = Points([term for term, _ in own], [height for _, height in own], "classes of all seeds")
        panels.append(Panel(f"Decay in {name}", name, "z², the squared normal quantile of the loss", [series]))
    return Figure("Exponential decay of the test loss", panels, "A straight line is an exponential.")


def _settings(
    size: int, d: int, m: int, tests: int, signals: Sequence[float], ratios: Sequence[float]
) -> list[Settings]:
    base = {**cells.patch_settings("converged", 2, size, d, m, tests), "others": size}
    base["training"] = {"step": round(2.0 * size / d, 6)}
    norms = [round((term * (d - 2) / 16 / size) ** 0.25, 6) for term in signals]
    return [
        *({**base, "kind": "signal", "ratio": 1.0, "feature_norm": norm} for norm in norms),
        *({**base, "kind": "noise", "ratio": ratio, "feature_norm": WITHOUT} for ratio in ratios),
    ]


CLAIM = Claim(
    id="bo-decay",
    rule="For the signal term and for L² Γ, seed by seed: R² of z², the squared normal quantile of the loss, against "
    f"the term above {STRAIGHT:g}, and above the R² against the term's logarithm (a power law); 95 % intervals over "
    f"seeds, on losses of at least {LEAST} tests and below chance.",
    revised="at first, -log loss was fitted, which is curved at moderate losses, with one line for both classes.",
    quick=Runs(_settings(20, 200, 30, 5000, (0.3, 0.6, 1.2, 2.0, 3.0, 4.5), (2.0, 4.0, 8.0, 16.0)), seeds=range(5)),
    paper=Runs(
        _settings(100, 1000, 100, 20_000, (0.3, 0.6, 1.2, 2.0, 3.0, 4.5, 6.0), (2.0, 4.0, 8.0, 16.0, 32.0)),
        seeds=range(5),
    ),
    measure=measure,
    judge=judge,
    plot=plot,
    alternatives={"loss ~ 1/term": power_law},
    smoke=Runs(_settings(10, 60, 10, 500, (0.6, 2.0), (4.0,)), seeds=(0, 1)),
    readings={"converged": cells.READING_WORDS["converged"] + "; here the rate is 2 n m / d"},
    quick_budget_seconds=30,
)
