"""Oversampling the minority w times equals having w n_B minority examples (Proposition 1, eq 17-19).

Three programs are solved separately: (17), with every minority example counted w times and one free feature per
example; the plain program with w n_B minority examples, one free feature each; and the convex program of `theory` with
counts (n_A, w n_B). All three must have the same loss and the same angles. As a control, the plain program without
oversampling must differ.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Line, Panel, Points
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Outcome, Runs, Verdict
from lopsided.papers.lp.peeled import Peeled, descend, energies, mean_cosine, problem
from lopsided.papers.shared.alternatives import renumbered
from lopsided.papers.shared.network_settings import split_over
from lopsided.papers.shared.summary import column, named
from lopsided.theory.layer_peeled.energy import restraint
from lopsided.theory.layer_peeled.solve import solve_free

SAME_LOSS = 1e-9  # relative; descents end at rounding
SAME_COSINE = 1e-4  # flat to second order: 1e-15 of loss is 3e-8 of an angle, times the condition near R0


def _program(settings: Settings, minority_size: int) -> Peeled:
    sizes = [settings["majority_size"]] * settings["majority_classes"]
    sizes += [minority_size] * settings["minority_classes"]
    return problem([float(size) for size in sizes], examples=sizes, **energies(settings))


def measure(settings: Settings, seed: int) -> Numbers:
    """Loss and minority cosine of the three programs and of the control."""
    k_a, k_b = settings["majority_classes"], settings["minority_classes"]
    n_a, n_b, w = settings["majority_size"], settings["minority_size"], settings["rate"]
    plain = _program(settings, n_b)
    counted = np.where(plain.labels >= k_a, float(w), 1.0)
    copies: FloatArray = counted / counted.sum()
    oversampled = descend(replace(plain, loss_weights=copies), generator(seed, "oversampled"))[0]
    enlarged = descend(_program(settings, w * n_b), generator(seed, "enlarged"))[0]
    control = descend(plain, generator(seed, "control"))[0]
    counts = np.array([float(n_a)] * k_a + [float(w * n_b)] * k_b)
    convex = solve_free(counts, restraint(k_a + k_b, **energies(settings)))
    return {
        "oversampled_cosine": mean_cosine(oversampled, slice(k_a, None)),
        "enlarged_cosine": mean_cosine(enlarged, slice(k_a, None)),
        "theory_cosine": convex.mean_cosine(np.arange(k_a + k_b) >= k_a),
        "control_cosine": mean_cosine(control, slice(k_a, None)),
        "loss_enlarged": enlarged.loss / oversampled.loss - 1.0,
        "loss_theory": convex.objective / oversampled.loss - 1.0,
        "loss_control": control.loss / oversampled.loss - 1.0,
    }


def _difference(one: float | None, other: float | None) -> float:
    """Of cosines; undefined equals undefined, and nothing else."""
    if one is None or other is None:
        return 0.0 if one is other else 2.0
    return abs(one - other)


def judge(rows: Sequence[Row]) -> Verdict:
    """Equal losses and angles with oversampling; different ones without."""
    worst_loss = max(max(abs(row.numbers["loss_enlarged"]), abs(row.numbers["loss_theory"])) for row in rows)
    worst_cosine = max(
        _difference(row.numbers["oversampled_cosine"], row.numbers[name])
        for row in rows
        for name in ("enlarged_cosine", "theory_cosine")
    )
    least_control = min(abs(row.numbers["loss_control"]) for row in rows if row.settings["rate"] > 1)
    numbers = {
        "largest_loss_difference": worst_loss,
        "largest_cosine_difference": worst_cosine,
        "smallest_loss_difference_without_oversampling": least_control,
        "runs": len(rows),
    }
    if least_control <= 100 * SAME_LOSS:
        return Verdict(Outcome.FAILS, "The control does not differ, so the comparison shows nothing.", numbers)
    same = worst_loss <= SAME_LOSS and worst_cosine <= SAME_COSINE
    found = (
        f"Losses agree to {worst_loss:.1g} and minority cosines to {worst_cosine:.1g} in {len(rows)} runs; without "
        f"oversampling the loss differs by at least {100 * least_control:.2g} %."
    )
    return Verdict(Outcome.HOLDS if same else Outcome.FAILS, found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Minority cosine against the rate."""
    panels = []
    title = "{majority_classes} large, {minority_classes} small classes"
    for name, own in named(rows, title, "majority_classes", "minority_classes", "rate").items():
        rates = column(own, "rate")
        series: list[Line | Points] = [
            Line(rates, column(own, "theory_cosine"), "theory with w n_B"),
            Points(rates, column(own, "oversampled_cosine"), "oversampled w times"),
            Line(rates, column(own, "control_cosine"), "not oversampled", dashed=True),
        ]
        panels.append(Panel(name, "rate w", "minority cosine", series))
    return Figure("Oversampling acts as more minority data", panels)


def _settings(pairs: Sequence[tuple[int, int]], majority_size: int, rates: Sequence[int]) -> list[dict[str, Any]]:
    base = {"majority_size": majority_size, "minority_size": 1, "feature_energy": 3.0, "weight_energy": 1.0}
    return split_over(base, pairs, rate=rates)


CLAIM = Claim(
    id="lp-oversampling-equivalence",
    rule="The oversampled program, the program with w n_B examples and the convex program have the same loss (within "
    f"{SAME_LOSS:g}, relative) and the same minority cosine (within {SAME_COSINE:g}); without oversampling the loss "
    "differs.",
    quick=Runs(_settings(((3, 3), (4, 2)), 12, (1, 2, 4, 8, 12))),
    paper=Runs(_settings(((3, 7), (5, 5), (7, 3)), 60, (1, 2, 5, 10, 20, 40, 60)), seeds=range(2)),
    measure=measure,
    judge=judge,
    plot=plot,
    alternatives={"half the effect": renumbered(lambda row: {"loss_enlarged": row.numbers["loss_control"] / 2})},
)
