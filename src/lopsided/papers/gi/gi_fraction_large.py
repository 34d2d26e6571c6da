"""gi-fraction-large: a larger minority fraction hurts when its covariance is the larger (Fig 7b)."""

from collections.abc import Sequence

from lopsided.core.figure import Figure
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Runs, Source, Verdict
from lopsided.papers.gi.mixture_risk import RULE, judge_risk, plot_risk, risk_numbers

DIMENSION = 5


def measure(settings: Settings, seed: int) -> Numbers:
    """Zero means, covariances I and 10 I."""
    from lopsided.papers.gi.mixture_lab import two_groups

    mixture = two_groups(DIMENSION, (1 - settings["fraction"], settings["fraction"]), (0.0, 0.0), (1.0, 10.0))
    return risk_numbers(mixture, settings["n"], seed)


def judge(rows: Sequence[Row]) -> Verdict:
    """The shape 'rises' over fraction."""
    return judge_risk(rows, "fraction", "rises")


def plot(rows: Sequence[Row]) -> Figure:
    """Entropy and excess apart."""
    return plot_risk(rows, "fraction", "minority fraction", "Risk against the minority fraction, larger covariance")


CLAIM = Claim(
    id="gi-fraction-large",
    statement="A larger minority fraction raises average and minority risk when its covariance is the larger.",
    source=Source("li2024groupimbalance", "Fig 7b, Corollary 1 (v)"),
    rule=RULE,
    plans={
        "quick": Runs([{"fraction": x, "n": 10_000} for x in (0.02, 0.08, 0.15, 0.22, 0.3)], tuple(range(6))),
        "paper": Runs(
            [{"fraction": x, "n": 20_000} for x in (0.01, 0.04, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3)],
            tuple(range(60)),
        ),
    },
    measure=measure,
    judge=judge,
    plot=plot,
    paper_says="both test losses rise as the fraction grows from 0 to 0.3",
    readings={
        "critical point": "the minimiser of the training loss nearest to W*",
        "few steps": "100 steps of the paper's size with c = 1 from a start at distance 2",
    },
    quick_budget_seconds=15,
)
