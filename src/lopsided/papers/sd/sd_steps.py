"""Fig 4: with a learning rate proportional to 1/m, the steps to a given accuracy do not depend on m."""

from collections.abc import Sequence

from lopsided.core.figure import Figure
from lopsided.core.statistics import seed_mean
from lopsided.engine.task import Row
from lopsided.papers.claim import Part, Runs, Verdict, weigh
from lopsided.papers.sd.structured_figures import steps_panel
from lopsided.papers.sd.structured_runs import reach_claim
from lopsided.papers.shared.alternatives import power_law
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.summary import column, exponent, grouped

LEVEL = 0.98
ROUGHLY = 0.25  # steps ~ m^s with |s| below this: sixteen times the width at most doubles the steps


def judge(rows: Sequence[Row]) -> Verdict:
    """The exponent s of steps ~ m^s, with every run at its goal."""
    reached = [row for row in rows if row.numbers["reached"]]
    groups = grouped(rows, "width")
    if len(reached) < len(rows):
        lost = f"{len(rows) - len(reached)} of {len(rows)} runs did not reach {LEVEL:.0%}"
        return weigh([Part("every run reaches the accuracy", False)], lost, {"reached": len(reached)})
    slope = exponent(rows, "width", lambda numbers: numbers["step"])
    steps = {width: seed_mean(column(group, "step")) for width, group in groups.items()}
    listed = ", ".join(f"{value.mean:.1f} at m = {width:,}" for width, value in steps.items())
    found = f"Steps to {LEVEL:.0%}: {listed}; steps ~ m^s with s = {slope.text()}"
    parts = [Part.near("roughly constant in m", slope, 0.0, ROUGHLY)]
    return weigh(parts, found, {"exponent": slope, "steps": {str(width): value for width, value in steps.items()}})


def plot(rows: Sequence[Row]) -> Figure:
    """Steps against the width, as in Fig 4."""
    panel = steps_panel(grouped(rows, "width"), f"Steps to {LEVEL:.0%} test accuracy", "width m")
    return Figure("Steps to an accuracy against the width", [panel], "Learning rate 10/m, batches of 16.")


CLAIM = reach_claim(
    id="sd-steps",
    rule=f"Every run reaches {LEVEL:.0%}, and the 95 % interval over seeds of s in steps ~ m^s lies within "
    f"(-{ROUGHLY}, {ROUGHLY}). MNIST: see sd-mnist.",
    quick=Runs(varied({"stop_at": LEVEL, "test": 500}, width=(250, 500, 1000, 2000)), seeds=range(8)),
    paper=Runs(varied({"stop_at": LEVEL}, width=(500, 1000, 2000, 4000, 8000, 16000)), seeds=range(8)),
    judge=judge,
    plot=plot,
    alternatives={"sqrt(m)": power_law("step", "width", 0.5), "1/sqrt(m)": power_law("step", "width", -0.5)},
)
