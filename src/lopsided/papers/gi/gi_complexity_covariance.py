"""gi-complexity-covariance: the number of samples needed is U-shaped in a group's covariance (Fig 3b)."""

from collections.abc import Sequence

from lopsided.core.figure import Figure
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Runs, Source, Verdict
from lopsided.papers.gi.mixture_complexity import READINGS, complexity_numbers, judge_complexity, plot_complexity


def measure(settings: Settings, seed: int) -> Numbers:
    """Means 1 and -1, covariances sigma^2 I and I, d = 5, K = 3."""
    return complexity_numbers((1.0, -1.0), (settings["sigma"] ** 2, 1.0), settings["n"], seed)


def judge(rows: Sequence[Row]) -> Verdict:
    """The shape 'valley' in both readings."""
    return judge_complexity(rows, "sigma", "valley", "hill")


def plot(rows: Sequence[Row]) -> Figure:
    """Samples and steps over sigma."""
    return plot_complexity(
        rows, "sigma", "sigma of the first group", "Sample complexity against a group's covariance", x_log=True
    )


CLAIM = Claim(
    id="gi-complexity-covariance",
    statement="The number of samples needed is U-shaped in the covariance of a group.",
    source=Source("li2024groupimbalance", "Fig 3b, Corollary 1 (i)-(ii)"),
    rule="holds if both the samples for a given |W - W*| and the steps to the authors' spread fall, then rise, each "
    "side beyond the 95 % interval of the paired difference; partly if one does; contradicted if none does and one "
    "rises, then falls",
    plans={
        "quick": Runs([{"sigma": s, "n": 8000} for s in (0.1, 0.3, 1.0, 3.0, 10.0)], tuple(range(16))),
        "paper": Runs(
            [{"sigma": float(10.0**e), "n": 20_000} for e in (-1.4, -1, -0.6, -0.3, 0, 0.3, 0.6, 1, 1.4)],
            tuple(range(60)),
        ),
    },
    measure=measure,
    judge=judge,
    plot=plot,
    paper_says="sample complexity increases both when the covariance grows and when it approaches zero",
    readings=READINGS,
    quick_budget_seconds=10,
)
