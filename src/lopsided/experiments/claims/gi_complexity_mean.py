"""gi-complexity-mean: the number of samples needed grows with a group's mean (Fig 3a)."""

from collections.abc import Sequence

from lopsided.core.figure import Figure, Panel
from lopsided.experiments.claim import Claim, Numbers, Outcome, Plan, Row, Settings, Source, Verdict
from lopsided.experiments.mixture_complexity import complexity_numbers
from lopsided.experiments.mixture_trends import curve, described, drawn, trend


def measure(settings: Settings, seed: int) -> Numbers:
    """Means m 1 and -1, unit covariances, d = 5, K = 3."""
    return complexity_numbers((settings["mean"], -1.0), (1.0, 1.0), settings["n"], seed)


def judge(rows: Sequence[Row]) -> Verdict:
    """Both readings must rise with the mean."""
    samples = curve(rows, "mean", "samples_for_distance").logarithmic()
    steps = curve(rows, "mean", "steps_needed").logarithmic()
    words = {"critical point": trend(samples), "authors": trend(steps)}
    numbers = {
        "trend": words,
        "log_samples_for_distance": described(samples),
        "log_steps_needed": described(steps),
        "spread_reached": described(curve(rows, "mean", "spread_reached")),
    }
    found = (
        f"samples for a given |W - W*|: {words['critical point']} with the mean; descent steps to the authors' spread: "
        f"{words['authors']}"
    )
    passed = sum(word == "rises" for word in words.values())
    if passed == 2:
        return Verdict(Outcome.HOLDS, found, numbers)
    if any(word == "falls" for word in words.values()) and passed == 0:
        return Verdict(Outcome.CONTRADICTED, found, numbers)
    return Verdict(Outcome.PARTLY if passed else Outcome.FAILS, found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Samples and steps over the mean, on a logarithmic scale of base e."""
    return Figure(
        "Sample complexity against a group's mean",
        [
            Panel(
                "At the critical point",
                "first group's mean, in every coordinate",
                "log samples for |W - W*| = 0.5",
                [drawn(curve(rows, "mean", "samples_for_distance").logarithmic(), "measured")],
            ),
            Panel(
                "Authors' reading",
                "first group's mean, in every coordinate",
                "log steps to a spread of 1e-4",
                [drawn(curve(rows, "mean", "steps_needed").logarithmic(), "measured")],
            ),
        ],
        "Natural logarithms; bands are one standard error over teachers.",
    )


CLAIM = Claim(
    id="gi-complexity-mean",
    statement="The number of samples needed grows with the mean of a group.",
    source=Source("li2024groupimbalance", "Fig 3a, Corollary 1 (iii)"),
    rule="holds if both the samples for a given |W - W*| and the steps to the authors' spread rise with the mean (95 "
    "% interval of the paired difference of the ends, rank correlation above 0.5); partly if one does; "
    "contradicted if none rises and one falls",
    plans={
        "quick": Plan([{"mean": m, "n": 8000} for m in (0.0, 1.0, 2.0, 3.5, 5.0)], tuple(range(16))),
        "paper": Plan([{"mean": m, "n": 10_000} for m in (0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7.5)], tuple(range(60))),
    },
    measure=measure,
    judge=judge,
    plot=plot,
    paper_says="the boundary of success moves to larger n as the mean grows from 0 to 5",
    readings={
        "critical point": "samples for |W - W*| = 0.5 at the minimiser nearest to W*",
        "authors": "steps of size 2 from W* + 0.1 |W*| until the spread is 1e-4; spread_reached counts 10,000 of them",
    },
    quick_budget_seconds=10,
)
