"""gi-fraction-small: a larger minority fraction helps when its covariance is the smaller (Fig 7a)."""

from collections.abc import Sequence

from lopsided.core.figure import Figure
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Runs, Source, Verdict
from lopsided.papers.gi.mixture_risk import RULE, judge_risk, plot_risk, risk_numbers

DIMENSION = 5


def measure(settings: Settings, seed: int) -> Numbers:
    """Zero means, covariances 10 I and I."""
    from lopsided.papers.gi.mixture_lab import two_groups

    mixture = two_groups(DIMENSION, (1 - settings["fraction"], settings["fraction"]), (0.0, 0.0), (10.0, 1.0))
    return risk_numbers(mixture, settings["n"], seed)


def judge(rows: Sequence[Row]) -> Verdict:
    """The shape 'falls' over fraction."""
    return judge_risk(rows, "fraction", "falls")


def plot(rows: Sequence[Row]) -> Figure:
    """Entropy and excess apart."""
    return plot_risk(rows, "fraction", "minority fraction", "Risk against the minority fraction, smaller covariance")


CLAIM = Claim(
    id="gi-fraction-small",
    statement="A larger minority fraction lowers average and minority risk when its covariance is the smaller.",
    source=Source("li2024groupimbalance", "Fig 7a, Corollary 1 (iv)"),
    rule=RULE,
    plans={
        "quick": Runs([{"fraction": x, "n": 10_000} for x in (0.02, 0.1, 0.2, 0.35, 0.5)], tuple(range(6))),
        "paper": Runs(
            [{"fraction": x, "n": 20_000} for x in (0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)],
            tuple(range(60)),
        ),
    },
    measure=measure,
    judge=judge,
    plot=plot,
    paper_says="both test losses fall as the fraction grows from 0 to 0.5",
    readings={
        "critical point": "the minimiser of the training loss nearest to W*",
        "few steps": "100 steps of the paper's size with c = 1 from a start at distance 2",
    },
    quick_budget_seconds=15,
)
