"""The average minority cosine grows with R = n_A/n_B and reaches 1 at a finite R0 (Fig 3, Section 4.B).

Each task solves one ratio twice: by descent on the nonconvex program (7) from random starts, which does not use
convexity or thresholds, and by the scalar roots of `theory`, which also give R0 in closed form. Beyond a second ratio
R1 (finite for (7,3)) the minority classifiers are exactly zero and have no angle, which the paper's figure does not
show.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from lopsided.core.figure import Figure, Line, Mark, Panel, Points
from lopsided.core.seeds import generator
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Outcome, Runs, Verdict, decided
from lopsided.papers.lp.peeled import curves_over_ratio, descend, energies, mean_cosine, ratio_settings, two_sizes
from lopsided.papers.shared.alternatives import renumbered
from lopsided.papers.shared.summary import column, grouped, named
from lopsided.theory.layer_peeled.energy import restraint
from lopsided.theory.layer_peeled.solve import solve_two_sizes
from lopsided.theory.layer_peeled.two_sizes_thresholds import collapse_ratio, vanishing_ratio

AGREE = 1e-4  # of cosines: descent is flat to second order, so 1e-15 of loss is 3e-8 of an angle, more near R0
COLLAPSED = 1e-6  # 1 - cosine; below R0 the grid stays at least 1 % away, where 1 - cosine is of that order


def measure(settings: Settings, seed: int) -> Numbers:
    """Cosine by descent and by theory at one ratio."""
    k_a, k_b, ratio = settings["majority_classes"], settings["minority_classes"], settings["ratio"]
    fit = descend(two_sizes(settings, ratio), generator(seed, "start"), starts=2)[0]
    cosine = mean_cosine(fit, slice(k_a, None))
    solution = solve_two_sizes(k_a, k_b, ratio, restraint(k_a + k_b, **energies(settings)))
    tau = (k_a + k_b) * float(np.sqrt(settings["weight_energy"] * settings["feature_energy"]))
    return {
        "cosine": cosine,
        "theory_cosine": solution.mean_cosine(np.arange(k_a + k_b) >= k_a),
        "majority_cosine": mean_cosine(fit, slice(k_a)),
        "loss_difference": fit.loss / solution.objective - 1.0,
        "collapse_ratio": collapse_ratio(k_a, k_b, tau),
        "vanishing_ratio": vanishing_ratio(k_a, k_b, tau),
        "vanished": cosine is None,
    }


def judge(rows: Sequence[Row]) -> Verdict:
    """Each curve rises and reaches 1 at the predicted ratio, not before."""
    passed, thresholds, reversed_curves = [], {}, 0
    curves = curves_over_ratio(rows)
    largest = max(abs(row.numbers["loss_difference"]) for row in rows)
    for name, curve in curves.items():
        threshold = thresholds[name] = curve[0].numbers["collapse_ratio"]
        shown = [row for row in curve if row.numbers["cosine"] is not None]
        cosines = column(shown, "cosine")
        rises = all(later >= earlier - AGREE for earlier, later in pairwise(cosines))
        reversed_curves += cosines[-1] < cosines[0] - AGREE
        reached = [
            (row.numbers["cosine"] >= 1 - COLLAPSED) == (row.settings["ratio"] >= threshold)
            and abs(row.numbers["cosine"] - row.numbers["theory_cosine"]) <= AGREE
            for row in shown
        ]
        gone = all(
            row.numbers["vanished"]
            == (row.numbers["vanishing_ratio"] is not None and row.settings["ratio"] >= row.numbers["vanishing_ratio"])
            for row in curve
        )
        ends = any(row.settings["ratio"] >= threshold for row in shown)
        passed.append(rises and ends and all(reached) and gone)
    numbers = {
        "curves": len(curves),
        "as_claimed": sum(passed),
        "thresholds": thresholds,
        "largest_loss_difference": largest,
    }
    if reversed_curves:
        return Verdict(Outcome.CONTRADICTED, f"{reversed_curves} curves fall with R.", numbers)
    words, good = "; ".join(f"{name}: R0 = {value:.6g}" for name, value in thresholds.items()), sum(passed)
    vanishing = [name for name, curve in curves.items() if any(row.numbers["vanished"] for row in curve)]
    found = f"{good} of {len(curves)} curves rise and reach 1 at a finite R0, where the closed form says ({words})."
    if vanishing:
        found += f" At larger R the minority classifiers vanish and have no angle for {', '.join(vanishing)}."
    return Verdict(decided(passed), found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Cosine against R, one panel per feature energy."""
    panels = []
    for energy, own in grouped(rows, "feature_energy").items():
        splits = named(own, "({majority_classes},{minority_classes})", "ratio")
        series: list[Line | Points] = [
            Line(column(curve, "ratio"), column(curve, "theory_cosine"), split) for split, curve in splits.items()
        ]
        dots = [row for curve in splits.values() for row in curve]
        series.append(Points(column(dots, "ratio"), column(dots, "cosine"), "descent on (7)"))
        marks = [Mark(curve[0].numbers["collapse_ratio"], f"R0 {split}") for split, curve in splits.items()]
        title = f"Feature energy {energy:g}, weight energy 1"
        panels.append(Panel(title, "imbalance ratio R", "average minority cosine", series, marks, x_log=True))
    caption = "Dots: descent on program (7). Lines: theory; they end where the minority classifiers vanish."
    return Figure("Minority collapse at a finite imbalance", panels, caption)


CLAIM = Claim(
    id="lp-minority-collapse",
    rule=f"Every curve by descent never falls by more than {AGREE:g}, is within {COLLAPSED:g} of 1 exactly for the "
    f"ratios at or above the closed-form R0, agrees with theory within {AGREE:g}, and its classifiers are zero exactly "
    "for ratios beyond R1.",
    revised="the energies at paper scale are 3, 5 and 10, because for (7,3) at energy 1 no ratio of the grid lay "
    "between R0 and R1.",
    quick=Runs(
        ratio_settings(
            (5.0, 10.0), (1.0, 2.0, 3.0, 4.2, 6.0, 10.0, 13.0, 25.0, 50.0, 90.0, 200.0, 300.0, 2000.0, 7000.0)
        )
    ),
    paper=Runs(
        ratio_settings((3.0, 5.0, 10.0), tuple(float(round(10 ** (step / 8), 3)) for step in range(33))),
        seeds=range(3),
    ),
    measure=measure,
    judge=judge,
    plot=plot,
    alternatives={
        "collapse in the limit only": renumbered(
            lambda row: {"cosine": 1 - 1.2 / row.settings["ratio"], "vanished": False}
        )
    },
)
