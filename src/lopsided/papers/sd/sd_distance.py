"""Fig 5: the relative distance at a given accuracy is proportional to 1/sqrt(m)."""

import math
from collections.abc import Sequence

from lopsided.core.figure import Figure, Line, Panel
from lopsided.core.statistics import SeedMean
from lopsided.engine.task import Row, Settings
from lopsided.papers.claim import Part, Runs, Verdict, weigh
from lopsided.papers.sd.structured_figures import points_over
from lopsided.papers.sd.structured_runs import reach_claim, unreached
from lopsided.papers.shared.alternatives import power_law
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.summary import chosen, exponent, grouped, level

LEVEL = 0.98
COARSE = 10  # the text does not say how often accuracy was looked at
EXPONENT, ROUGHLY = -0.5, 0.15
FACTOR, CLOSELY = 2 / 3, 0.25  # "2/3 sqrt(m)" can only mean (2/3)/sqrt(m); "closely match": within a quarter


def _factor(rows: Sequence[Row]) -> SeedMean:
    """Distance times sqrt(m): mean over widths for each seed, then over seeds."""
    return level(rows, lambda row: row.numbers["distance"] * math.sqrt(row.settings["width"]))


def judge(rows: Sequence[Row]) -> Verdict:
    """The exponent of distance ~ m^s, and the factor in front of 1/sqrt(m)."""
    if (lost := unreached(rows, LEVEL)) is not None:
        return lost
    fine, coarse = (chosen(rows, record=every) for every in (1, COARSE))
    slope = exponent(fine, "width", lambda numbers: float(numbers["distance"]))
    factor, later = _factor(fine), _factor(coarse)
    parts = [
        Part.near("proportional to 1/sqrt(m)", slope, EXPONENT, ROUGHLY),
        Part.near("factor 2/3, looking every step", factor, FACTOR, CLOSELY * FACTOR),
        Part.near(f"factor 2/3, looking every {COARSE} steps", later, FACTOR, CLOSELY * FACTOR),
    ]
    found = (
        f"Distance at {LEVEL:.0%} ~ m^s with s = {slope.text()}; it is {factor.text()} / sqrt(m), {later.text()} / "
        f"sqrt(m) when accuracy is looked at every {COARSE} steps only"
    )
    return weigh(parts, found, {"exponent": slope, "factor": factor, "factor_coarse": later})


def plot(rows: Sequence[Row]) -> Figure:
    """Distance against the width with the paper's curve, as in Fig 5."""
    groups = grouped(chosen(rows, record=1), "width")
    measured = points_over(groups, "distance", "measured")
    line = Line(list(groups), [FACTOR / math.sqrt(width) for width in groups], "(2/3)/√m", dashed=True)
    title = f"Relative distance at {LEVEL:.0%}"
    panel = Panel(title, "width m", "|W − W₀| / |W₀|", [measured, line], x_log=True, y_log=True)
    return Figure("Distance from the start against the width", [panel], "Bars: one standard deviation over seeds.")


def _plan(widths: Sequence[int], rest: Settings) -> Runs:
    return Runs(varied({"stop_at": LEVEL, **rest}, width=widths, record=(1, COARSE)), seeds=range(8))


CLAIM = reach_claim(
    id="sd-distance",
    rule=f"95 % intervals over seeds: s in distance ~ m^s within {EXPONENT} +- {ROUGHLY}, with accuracy checked at "
    "every step; distance times sqrt(m) within a quarter of 2/3, with accuracy checked at every step and at every "
    f"{COARSE} steps.",
    quick=_plan((250, 500, 1000, 2000), {"test": 500}),
    paper=_plan((500, 1000, 2000, 4000, 8000, 16000), {}),
    judge=judge,
    plot=plot,
    alternatives={"1/m": power_law("distance", "width", -1), "constant": power_law("distance", "width", 0)},
)
