"""gi-complexity-covariance: the number of samples needed is U-shaped in a group's covariance (Fig 3b)."""

from collections.abc import Sequence

import numpy as np

from lopsided.core.figure import Figure, Panel
from lopsided.experiments.claim import Claim, Numbers, Outcome, Plan, Row, Settings, Source, Verdict
from lopsided.experiments.mixture_complexity import complexity_numbers
from lopsided.experiments.mixture_trends import curve, described, drawn, shape


def measure(settings: Settings, seed: int) -> Numbers:
    """Means 1 and -1, covariances sigma^2 I and I, d = 5, K = 3."""
    return complexity_numbers((1.0, -1.0), (settings["sigma"] ** 2, 1.0), settings["n"], seed)


def judge(rows: Sequence[Row]) -> Verdict:
    """Both readings must fall, then rise, with sigma."""
    samples = curve(rows, "sigma", "samples_for_distance").logarithmic()
    steps = curve(rows, "sigma", "steps_needed").logarithmic()
    words = {"critical point": shape(samples), "authors": shape(steps)}
    lowest = {
        "critical point": float(samples.x[np.argmin(samples.mean)]),
        "authors": float(steps.x[np.argmin(steps.mean)]),
    }
    numbers = {
        "shape": words,
        "sigma_at_least": lowest,
        "log_samples_for_distance": described(samples),
        "log_steps_needed": described(steps),
        "spread_reached": described(curve(rows, "sigma", "spread_reached")),
    }
    found = (
        f"samples for a given |W - W*|: {words['critical point']} in sigma (least at {lowest['critical point']:g}); "
        f"steps to the authors' spread: {words['authors']} (least at {lowest['authors']:g})"
    )
    passed = sum(word == "valley" for word in words.values())
    if passed == 2:
        return Verdict(Outcome.HOLDS, found, numbers)
    if any(word == "hill" for word in words.values()):
        return Verdict(Outcome.CONTRADICTED, found, numbers)
    return Verdict(Outcome.PARTLY if passed else Outcome.FAILS, found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Samples and steps over sigma."""
    return Figure(
        "Sample complexity against a group's covariance",
        [
            Panel(
                "At the critical point",
                "sigma of the first group",
                "log samples for |W - W*| = 0.5",
                [drawn(curve(rows, "sigma", "samples_for_distance").logarithmic(), "measured")],
                x_log=True,
            ),
            Panel(
                "Authors' reading",
                "sigma of the first group",
                "log steps to a spread of 1e-4",
                [drawn(curve(rows, "sigma", "steps_needed").logarithmic(), "measured")],
                x_log=True,
            ),
        ],
        "Natural logarithms; bands are one standard error over teachers.",
    )


CLAIM = Claim(
    id="gi-complexity-covariance",
    statement="The number of samples needed is U-shaped in the covariance of a group.",
    source=Source("li2024groupimbalance", "Fig 3b, Corollary 1 (i)-(ii)"),
    rule="holds if both the samples for a given |W - W*| and the steps to the authors' spread fall, then rise, each "
    "side beyond the 95 % interval of the paired difference; partly if one does; contradicted if one is a hill",
    plans={
        "quick": Plan([{"sigma": s, "n": 8000} for s in (0.1, 0.3, 1.0, 3.0, 10.0)], tuple(range(16))),
        "paper": Plan(
            [{"sigma": float(10.0**e), "n": 20_000} for e in (-1.4, -1, -0.6, -0.3, 0, 0.3, 0.6, 1, 1.4)],
            tuple(range(60)),
        ),
    },
    measure=measure,
    judge=judge,
    plot=plot,
    paper_says="sample complexity increases both when the covariance grows and when it approaches zero",
    readings={
        "critical point": "samples for |W - W*| = 0.5 at the minimiser nearest to W*",
        "authors": "steps of size 2 from W* + 0.1 |W*| until the spread is 1e-4",
    },
    quick_budget_seconds=10,
)
