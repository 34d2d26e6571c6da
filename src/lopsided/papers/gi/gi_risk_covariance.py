"""gi-risk-covariance: average and minority risk fall, then rise, with the minority's covariance (Fig 6a)."""

from collections.abc import Sequence

from lopsided.core.figure import Figure
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Runs, Source, Verdict
from lopsided.papers.gi.mixture_risk import RULE, judge_risk, plot_risk, risk_numbers

DIMENSION = 5


def measure(settings: Settings, seed: int) -> Numbers:
    """lambda = (0.8, 0.2), means 2 and -2, covariances I and sigma^2 I."""
    from lopsided.papers.gi.mixture_lab import two_groups

    mixture = two_groups(DIMENSION, (0.8, 0.2), (2.0, -2.0), (1.0, settings["sigma"] ** 2))
    return risk_numbers(mixture, settings["n"], seed)


def judge(rows: Sequence[Row]) -> Verdict:
    """The shape 'valley' over sigma."""
    return judge_risk(rows, "sigma", "valley")


def plot(rows: Sequence[Row]) -> Figure:
    """Entropy and excess apart."""
    return plot_risk(rows, "sigma", "sigma of the minority", "Risk against the minority's covariance", x_log=True)


CLAIM = Claim(
    id="gi-risk-covariance",
    statement="Average and minority risk fall, then rise, with the covariance of the minority group.",
    source=Source("li2024groupimbalance", "Fig 6a"),
    rule=RULE,
    plans={
        "quick": Runs([{"sigma": x, "n": 10_000} for x in (0.1, 0.3, 1.0, 3.0, 10.0)], tuple(range(6))),
        "paper": Runs(
            [{"sigma": x, "n": 20_000} for x in (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)], tuple(range(60))
        ),
    },
    measure=measure,
    judge=judge,
    plot=plot,
    paper_says="the test loss first falls, then rises, as the covariance grows",
    readings={
        "critical point": "the minimiser of the training loss nearest to W*",
        "few steps": "100 steps of the paper's size with c = 1 from a start at distance 2",
    },
    quick_budget_seconds=15,
)
