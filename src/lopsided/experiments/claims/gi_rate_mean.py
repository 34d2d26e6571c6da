"""gi-rate-mean: descent converges linearly, and more slowly as the means grow (Fig 4a)."""

from collections.abc import Sequence

import numpy as np

from lopsided.core.figure import Figure, Line, Panel
from lopsided.experiments.claim import Claim, Numbers, Outcome, Plan, Row, Settings, Source, Verdict
from lopsided.experiments.mixture_trends import curve, described, drawn, trend

DIMENSION, NEURONS = 5, 3
DIAGONAL = (1.0, 1.1, 1.2, 1.3, 1.4)
STRAIGHT = 0.99


def measure(settings: Settings, seed: int) -> Numbers:
    """Means C 1 and -C 1, covariance Lambda^T D Lambda; one run of descent towards the critical point."""
    from lopsided.core.seeds import generator
    from lopsided.data.mixture import rotated_covariance
    from lopsided.experiments import mixture_lab as lab

    covariance = rotated_covariance(np.array(DIAGONAL), generator(seed, "rotation"))
    size = settings["mean"]
    mixture = lab.two_groups(DIMENSION, (0.5, 0.5), (size, -size), (covariance, covariance))
    problem = lab.drawn_teacher(mixture, NEURONS, seed)
    data, _ = lab.drawn_data(problem, settings["n"], seed)
    point = lab.nearest_critical_point(problem, data)
    if not point.found:
        return {"rate": None, "exponent": None, "straightness": None, "limit_exponent": None}
    step = lab.mixture_step(mixture, settings["factor"])
    run = lab.convergence(problem, data, point, step, settings["steps"], seed)
    exponent = None if run["rate"] is None else -float(np.log(run["rate"]))
    return {
        **run,
        "exponent": exponent,
        "limit_exponent": -float(np.log(max(1e-12, 1 - step * point.least_curvature))),
        "step": step,
    }


def judge(rows: Sequence[Row]) -> Verdict:
    """Straight tails of log distance, and a speed (minus log rate) that falls with the mean."""
    straight = curve(rows, "mean", "straightness")
    speed = curve(rows, "mean", "exponent").logarithmic()
    limit = curve(rows, "mean", "limit_exponent").logarithmic()
    share = float(np.mean([value >= STRAIGHT for value in straight.values[np.isfinite(straight.values)]]))
    words = trend(limit)
    numbers = {
        "share_straight": share,
        "trend_of_speed": trend(speed),
        "trend_of_limit_speed": words,
        "log_speed": described(speed),
        "log_limit_speed": described(limit),
    }
    found = (
        f"log distance is straight in {share:.0%} of the runs; the asymptotic speed {words} with the mean "
        f"(speed over the second half of the runs: {trend(speed)})"
    )
    if words == "rises":
        return Verdict(Outcome.CONTRADICTED, found, numbers)
    passed = [share >= 0.9, words == "falls"]
    outcome = Outcome.HOLDS if all(passed) else Outcome.PARTLY if any(passed) else Outcome.FAILS
    return Verdict(outcome, found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Runs of the first seed, and the speed over the mean."""
    first = min(row.seed for row in rows)
    runs = [
        Line(row.numbers["steps"], row.numbers["distances"], f"mean {row.settings['mean']:g}")
        for row in sorted(rows, key=lambda row: row.settings["mean"])
        if row.seed == first and row.numbers["rate"] is not None
    ]
    return Figure(
        "Convergence of descent against the means",
        [
            Panel("Distance to the critical point", "step", "|W_t - W|", runs, y_log=True),
            Panel(
                "Speed",
                "means +C and -C, in every coordinate",
                "log speed (speed = -log rate)",
                [
                    drawn(curve(rows, "mean", "exponent").logarithmic(), "of the run's second half"),
                    drawn(
                        curve(rows, "mean", "limit_exponent").logarithmic(), "asymptotic, from curvature", dashed=True
                    ),
                ],
            ),
        ],
        "Left: one teacher. Right: bands are one standard error over teachers.",
    )


CLAIM = Claim(
    id="gi-rate-mean",
    statement="Gradient descent converges linearly, and more slowly as the means of the groups grow.",
    source=Source("li2024groupimbalance", "Fig 4a, eq 8-9"),
    rule="holds if log distance is straight (R² >= 0.99 over the second half) in 90 % of the runs and the asymptotic "
    "speed, from the curvature at the critical point, falls with the mean beyond its 95 % interval; partly if "
    "one of the two; contradicted if that speed rises",
    plans={
        "quick": Plan(
            [{"mean": m, "n": 6000, "steps": 800, "factor": 10.0} for m in (0.0, 0.5, 1.0, 1.5, 2.0)], tuple(range(10))
        ),
        "paper": Plan(
            [{"mean": m, "n": 10_000, "steps": 20_000, "factor": 10.0} for m in (0.0, 0.5, 1.0, 1.5, 2.0)],
            tuple(range(20)),
        ),
    },
    measure=measure,
    judge=judge,
    plot=plot,
    paper_says="always linear; slower as the mean grows",
    readings={
        "text": "step c / sum lambda (|mu| + |Sigma|^(1/2))^2 with c = 10 (c = 1 is stable too, and ten times slower)",
        "authors": "weights five times as large, step 196 / (m + 1.4)^2, 30,000 steps, spread plotted; not run here",
    },
    quick_budget_seconds=10,
)
