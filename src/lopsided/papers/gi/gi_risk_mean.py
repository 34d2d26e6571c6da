"""gi-risk-mean: average and minority risk rise with the minority's mean (Fig 6b)."""

from collections.abc import Sequence

from lopsided.core.figure import Figure
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Runs, Source, Verdict
from lopsided.papers.gi.mixture_risk import RULE, judge_risk, plot_risk, risk_numbers

DIMENSION = 5


def measure(settings: Settings, seed: int) -> Numbers:
    """lambda = (0.8, 0.2), means 2 and m, unit covariances; the text writes m = mu - 2."""
    from lopsided.papers.gi.mixture_lab import two_groups

    mixture = two_groups(DIMENSION, (0.8, 0.2), (2.0, settings["mean"]), (1.0, 1.0))
    return risk_numbers(mixture, settings["n"], seed)


def judge(rows: Sequence[Row]) -> Verdict:
    """The shape 'rises' over the mean."""
    return judge_risk(rows, "mean", "rises")


def plot(rows: Sequence[Row]) -> Figure:
    """Entropy and excess apart."""
    return plot_risk(rows, "mean", "minority's mean, in every coordinate", "Risk against the minority's mean")


CLAIM = Claim(
    id="gi-risk-mean",
    statement="Average and minority risk rise with the mean of the minority group.",
    source=Source("li2024groupimbalance", "Fig 6b"),
    rule=RULE,
    revised=("the swept range was changed; it fails either way."),
    plans={
        "quick": Runs([{"mean": x, "n": 10_000} for x in (0.0, 0.5, 1.0, 2.0, 4.0)], tuple(range(6))),
        "paper": Runs(
            [{"mean": x, "n": 20_000} for x in (-2.0, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)], tuple(range(60))
        ),
    },
    measure=measure,
    judge=judge,
    plot=plot,
    paper_says="both test losses rise with mu",
    readings={
        "critical point": "the minimiser of the training loss nearest to W*",
        "few steps": "100 steps of the paper's size with c = 1 from a start at distance 2",
    },
    quick_budget_seconds=15,
)
