"""gi-activations: the same with tanh and erf (footnote 3)."""

from collections.abc import Sequence

import numpy as np

from lopsided.core.figure import Figure
from lopsided.core.statistics import SeedCurve, power
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Runs, Verdict, decided
from lopsided.papers.gi import mixture_lab as lab
from lopsided.papers.gi.mixture_curves import described, over, seed_curve
from lopsided.papers.shared.network_settings import varied

DIMENSION, NEURONS = 4, 2
KINDS = ("sigmoid", "tanh", "erf")


def measure(settings: Settings, seed: int) -> Numbers:
    """Linear convergence, weight error and excess for one activation and the same teacher.

    (1 + tanh z)/2 is the sigmoid of 2z, so tanh is the sigmoid network with a teacher twice as long; erf is new.
    """
    from lopsided.core.activation import check_activation
    from lopsided.core.mixture_spec import problem_of

    kind = check_activation(settings["activation"])
    mixture = lab.two_groups(DIMENSION, (0.6, 0.4), (0.5, -0.5), (1, 2))
    problem = problem_of(mixture, lab.drawn_teacher(mixture, NEURONS, seed).weights, kind)
    data, point = lab.solved(problem, settings["n"], seed)
    if not point.found:
        return {"error": None, "straightness": None, "over_law": None}
    step = 1.0 / point.largest_curvature
    run = lab.convergence(problem, data, point, step, settings["steps"], seed)
    law = DIMENSION * NEURONS / (2 * settings["n"])
    return {
        "error": lab.matched_error(point.weights, problem)[1],
        "straightness": run["straightness"],
        "shrunk_to": run["last"] / run["first"],
        "over_law": lab.risk_at(problem, point.weights, seed).average_excess / law,
    }


def judge(rows: Sequence[Row]) -> Verdict:
    """For each activation: straight tails, error falling as n^-1/2, average excess d K / (2n)."""
    numbers, passed, found = {}, [], []
    big = max(row.settings["n"] for row in rows)
    for kind in KINDS:
        exponent, error = power(seed_curve(rows, "n", "error", activation=kind))
        straight = [
            row.numbers["straightness"]
            for row in rows
            if row.settings["activation"] == kind and row.numbers["straightness"] is not None
        ]
        share = float(np.mean([value >= 0.99 for value in straight])) if straight else 0.0
        ratio = seed_curve(rows, "n", "over_law", activation=kind, n=big)
        mean, spread = float(ratio.mean[0]), float(ratio.error[0])
        parts = [
            abs(exponent + 0.5) <= max(0.2, 2 * error) and error <= 0.15,
            share >= 0.8,
            abs(mean - 1) <= max(0.2, 2 * spread) and spread <= 0.25,
        ]
        numbers[kind] = {
            "exponent": exponent,
            "exponent_error": error,
            "share_straight": share,
            "excess_over_law": mean,
            "excess_over_law_error": spread,
            "error": described(seed_curve(rows, "n", "error", activation=kind)),
        }
        passed += parts
        found.append(f"{kind}: error ~ n^{exponent:.2f}, {share:.0%} straight, excess {mean:.2f} of d K / (2n)")
    return Verdict(decided(passed), "; ".join(found), numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Error and excess over n for the three activations."""

    def each(key: str) -> dict[str, SeedCurve]:
        return {kind: seed_curve(rows, "n", key, activation=kind) for kind in KINDS}

    return Figure(
        "Three activations",
        [
            over("Weight error", "samples n", "|W - W*| / |W*|", each("error"), log="xy"),
            over("Average excess risk over d K / (2n)", "samples n", "ratio", each("over_law"), log="x"),
        ],
        "tanh and erf enter as (1 + tanh z)/2 and (1 + erf z)/2, so that outputs are probabilities.",
    )


CLAIM = Claim(
    id="gi-activations",
    rule="holds if, for sigmoid, tanh and erf alike, the exponent of the error in n is within 0.2 (or two standard "
    "errors, at most 0.15) of -0.5, 80 % of the runs have a straight log distance, and the average excess at "
    "the largest n is within 20 % (or two standard errors, at most 0.25) of d K / (2n); partly if at least half",
    revised="one teacher serves all activations, and the exponent may be off by 0.2 or two standard errors instead of "
    "lying in a fixed range; more seeds.",
    quick=Runs(varied({"steps": 300}, activation=KINDS, n=(2000, 16_000)), tuple(range(12))),
    paper=Runs(varied({"steps": 5000}, activation=KINDS, n=(2000, 8000, 32_000)), tuple(range(40))),
    measure=measure,
    judge=judge,
    plot=plot,
)
