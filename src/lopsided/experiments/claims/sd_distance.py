"""Fig 5: the relative distance at a given accuracy is proportional to 1/sqrt(m)."""

import math
from collections.abc import Sequence

from lopsided.core.figure import Figure, Line, Panel, Points
from lopsided.experiments.claim import Claim, Numbers, Plan, Row, Source, Verdict
from lopsided.experiments.structured_runs import READINGS, measure_reach
from lopsided.experiments.structured_summary import Part, exponent, grouped, outside, spread, weigh, within

LEVEL = 0.98
EXPONENT, ROUGHLY = -0.5, 0.15
FACTOR, CLOSELY = 2 / 3, 0.25  # "2/3 sqrt(m)" can only mean (2/3)/sqrt(m); "closely match": within a quarter


def _factor(row: Row) -> float:
    return float(row.numbers["distance"] * math.sqrt(row.settings["width"]))


def judge(rows: Sequence[Row]) -> Verdict:
    """The exponent of distance ~ m^s, and the factor in front of 1/sqrt(m)."""
    if not all(row.numbers["reached"] for row in rows):
        lost = sum(not row.numbers["reached"] for row in rows)
        return weigh([Part("every run reaches the accuracy", False)], f"{lost} runs did not reach {LEVEL:.0%}", {})
    slope = exponent(rows, "width", _distance)
    by_seed = [[_factor(row) for row in group] for group in grouped([_with_seed(row) for row in rows], "seed").values()]
    factor = spread(sum(values) / len(values) for values in by_seed)
    parts = [
        Part("proportional to 1/sqrt(m)", within(slope, EXPONENT, ROUGHLY), outside(slope, EXPONENT, ROUGHLY)),
        Part("factor 2/3", within(factor, FACTOR, CLOSELY * FACTOR), outside(factor, FACTOR, CLOSELY * FACTOR)),
    ]
    found = f"Distance at {LEVEL:.0%} ~ m^s with s = {slope.text()}; it is {factor.text()} / sqrt(m)"
    return weigh(parts, found, {"exponent": slope, "factor": factor})


def _distance(numbers: Numbers) -> float:
    return float(numbers["distance"])


def _with_seed(row: Row) -> Row:
    return Row({**row.settings, "seed": row.seed}, row.seed, row.numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Distance against the width with the paper's curve, as in Fig 5."""
    groups = grouped(rows, "width")
    spreads = [spread(row.numbers["distance"] or float("nan") for row in group) for group in groups.values()]
    measured = Points(
        list(groups),
        [value.mean for value in spreads],
        "measured",
        low=[value.mean - value.deviation for value in spreads],
        high=[value.mean + value.deviation for value in spreads],
    )
    line = Line(list(groups), [FACTOR / math.sqrt(width) for width in groups], "(2/3)/√m", dashed=True)
    panel = Panel(
        f"Relative distance at {LEVEL:.0%}", "width m", "|W − W₀| / |W₀|", [measured, line], x_log=True, y_log=True
    )
    return Figure("Distance from the start against the width", [panel], "Bars: one standard deviation over seeds.")


CLAIM = Claim(
    id="sd-distance",
    statement="The relative distance from the start at 98 % accuracy is proportional to 1/sqrt(m), with factor "
    "2/3 on the "
    "synthetic data.",
    source=Source("li2018structured", "Fig 5, Appendix D.1"),
    rule=f"95 % intervals over seeds: s in distance ~ m^s within {EXPONENT} +- {ROUGHLY}; distance times sqrt(m) "
    "within a "
    "quarter of 2/3.",
    plans={
        "quick": Plan(
            [{"width": width, "stop_at": LEVEL, "test": 500} for width in (250, 500, 1000, 2000)], seeds=range(8)
        ),
        "paper": Plan([{"width": width, "stop_at": LEVEL} for width in (500, 1000, 2000, 4000, 8000, 16000)], range(8)),
    },
    measure=measure_reach,
    judge=judge,
    plot=plot,
    paper_says="Distances scale roughly as 1/sqrt(m) and closely match '2/3 sqrt(m)' on the synthetic data.",
    readings=READINGS,
    quick_budget_seconds=10.0,
)
