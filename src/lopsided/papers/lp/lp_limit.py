"""w_k - w_k' -> 0 for minority classes as R -> infinity (Theorem 5).

Measured by descent on the nonconvex program at growing R. The theorem is about the limit; in fact, the differences are
exactly zero from the finite R0 of `lp-minority-collapse` onwards, which answers the question that the paper leaves
open.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from lopsided.core.figure import Figure, Line, Mark, Panel
from lopsided.core.seeds import generator
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Runs, Verdict, decided
from lopsided.papers.lp.peeled import curves_over_ratio, descend, energies, largest_distance, ratio_settings, two_sizes
from lopsided.papers.shared.alternatives import power_law
from lopsided.papers.shared.summary import column
from lopsided.theory.layer_peeled.energy import restraint
from lopsided.theory.layer_peeled.solve import solve_two_sizes

ZERO = 1e-3  # of the root mean square length; the distance is the square root of a quantity descent knows to 1e-7
NOISE = 1e-3  # by which a later distance may exceed an earlier one, for the same reason


def measure(settings: Settings, seed: int) -> Numbers:
    """Largest distance between two minority classifiers, by descent and by theory, over sqrt(E_W)."""
    k_a, k_b, ratio = settings["majority_classes"], settings["minority_classes"], settings["ratio"]
    fit = descend(two_sizes(settings, ratio), generator(seed, "start"))[0]
    w, _ = solve_two_sizes(k_a, k_b, ratio, restraint(k_a + k_b, **energies(settings))).factors()
    length = np.sqrt(settings["weight_energy"])
    return {
        "distance": largest_distance(fit.classifiers[k_a:] / length),
        "theory_distance": largest_distance(w[k_a:] / length),
    }


def judge(rows: Sequence[Row]) -> Verdict:
    """Distances fall to zero along every curve."""
    curves = curves_over_ratio(rows)
    passed, last, first_zero = [], {}, {}
    for name, curve in curves.items():
        distances = column(curve, "distance")
        falls = all(b <= a + NOISE for a, b in pairwise(distances))
        agrees = all(abs(row.numbers["distance"] - row.numbers["theory_distance"]) <= 2 * ZERO for row in curve)
        last[name] = distances[-1]
        first_zero[name] = next((row.settings["ratio"] for row in curve if row.numbers["distance"] <= ZERO), None)
        passed.append(falls and agrees and 0 <= distances[-1] <= ZERO < distances[0])
    numbers = {
        "curves": len(curves),
        "falling_to_zero": sum(passed),
        "distance_at_the_largest_ratio": last,
        "first_ratio_at_zero": first_zero,
    }
    finite = sum(ratio is not None for ratio in first_zero.values())
    found = (
        f"In {sum(passed)} of {len(curves)} settings the distance falls to zero (at most {max(last.values()):.1g} of "
        f"the root mean square length at the largest R). In {finite} it is zero already at a finite R, not only in "
        "the limit."
    )
    return Verdict(decided(passed), found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Distance against R."""
    series = [
        Line(column(curve, "ratio"), column(curve, "distance", least=1e-9), name, markers=True)
        for name, curve in curves_over_ratio(rows).items()
    ]
    title, y_label = "Largest distance between minority classifiers", "distance / sqrt(E_W)"
    marks = [Mark(ZERO, "counted as zero", "y")]
    panel = Panel(title, "imbalance ratio R", y_label, series, marks, x_log=True, y_log=True)
    return Figure("Minority classifiers become one", [panel])


CLAIM = Claim(
    id="lp-limit",
    rule="In every setting the largest distance between minority classifiers, by descent and in units of sqrt(E_W), "
    f"never rises by more than {NOISE:g} with R, agrees with theory, and is at most {ZERO:g} at the largest R.",
    quick=Runs(ratio_settings((1.0, 5.0), (1.0, 3.0, 10.0, 30.0, 100.0, 1000.0, 10_000.0))),
    paper=Runs(
        ratio_settings((1.0, 5.0, 10.0), tuple(10.0**power for power in (0, 0.5, 1, 1.5, 2, 3, 4, 5, 6))), range(3)
    ),
    measure=measure,
    judge=judge,
    plot=plot,
    alternatives={"distances like R^(-1/2)": power_law("distance", "ratio", -0.5)},
)
