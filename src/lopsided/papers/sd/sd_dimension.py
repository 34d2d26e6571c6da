"""Theorem 4.1: steps and accuracy do not depend on the ambient dimension."""

from collections.abc import Sequence

from lopsided.core.figure import Figure
from lopsided.engine.task import Row
from lopsided.papers.claim import Part, Runs, Verdict, weigh
from lopsided.papers.sd.structured_figures import steps_panel
from lopsided.papers.sd.structured_runs import reach_claim, unreached
from lopsided.papers.shared.alternatives import power_law
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.summary import column, exponent, grouped

LEVEL = 0.98
ROUGHLY = 0.1  # steps ~ d^s with |s| below this: a thousand times the dimension at most doubles the steps
SHIFT = -0.5  # |W0|_F = sqrt(d) for every m, so the relative distance falls like this if the distance is constant


def judge(rows: Sequence[Row]) -> Verdict:
    """Exponents in d of the steps and of the distance |W - W0|_F."""
    if (lost := unreached(rows, LEVEL)) is not None:
        return lost
    steps = exponent(rows, "dimension", lambda numbers: numbers["step"])
    way = exponent(rows, "dimension", lambda numbers: numbers["distance"]).less(SHIFT)
    parts = [Part.near("steps", steps, 0.0, ROUGHLY), Part.near("way travelled", way, 0.0, ROUGHLY)]
    dimensions = column(rows, "dimension")
    found = (
        f"Steps to {LEVEL:.0%} ~ d^s with s = {steps.text()}, way travelled |W - W0| ~ d^s with s = {way.text()}, "
        f"for d from {min(dimensions):,} to {max(dimensions):,}"
    )
    return weigh(parts, found, {"steps_exponent": steps, "way_exponent": way})


def plot(rows: Sequence[Row]) -> Figure:
    """Steps against the dimension."""
    panel = steps_panel(grouped(rows, "dimension"), f"Steps to {LEVEL:.0%} test accuracy", "dimension d")
    return Figure("Steps to an accuracy against the dimension", [panel], "Same k, l and separation; only d varies.")


_GOAL = {"stop_at": LEVEL}
CLAIM = reach_claim(
    id="sd-dimension",
    rule=f"Every run reaches {LEVEL:.0%}; 95 % intervals over seeds of s in steps ~ d^s and in |W - W0|_F ~ d^s "
    f"within (-{ROUGHLY}, {ROUGHLY}).",
    quick=Runs(varied({**_GOAL, "width": 1000}, dimension=(100, 300, 1000, 3000)), seeds=range(16)),
    paper=Runs(varied({**_GOAL, "width": 4000}, dimension=(100, 300, 1000, 3000, 10000)), seeds=range(8)),
    judge=judge,
    plot=plot,
    revised="there were six seeds at first, with which one of two seed sets could not decide; now there are sixteen.",
    quick_budget_seconds=40,
    alternatives={"steps as sqrt(d)": power_law("step", "dimension", 0.5)},
)
