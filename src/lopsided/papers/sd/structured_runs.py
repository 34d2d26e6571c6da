"""Code shared by the claims of Li and Liang (2018): their readings, the claims on runs of `worlds.wide_runs`, and means
over seeds."""

from collections.abc import Sequence
from functools import partial

from lopsided.core.statistics import SeedMean, seed_mean
from lopsided.engine.task import Row
from lopsided.papers.claim import Claim, Part, Verdict, weigh
from lopsided.papers.shared.summary import final
from lopsided.worlds.wide_runs import measure_reach, measure_run

READINGS = {
    "unit, A3": "inputs of length 1 (A2), initial standard deviation 1/sqrt(m) (A3), component covariance sigma^2/d",
    "raw": "inputs as drawn, of length about 5; the rest as above",
    "appendix D": "component covariance sigma/sqrt(d) as in Appendix D; the rest as in the first reading",
    "variance 1/sqrt(m)": "initial variance 1/sqrt(m), as Section 7 can be read; the rest as in the first reading",
}

_USUAL = {name: READINGS[name] for name in ("unit, A3",)}  # what a setting that names no reading runs
run_claim = partial(Claim, measure=measure_run, readings=_USUAL, quick_budget_seconds=10.0)
reach_claim = partial(Claim, measure=measure_reach, readings=_USUAL, quick_budget_seconds=10.0)


def unreached(rows: Sequence[Row], level: float) -> Verdict | None:
    """The verdict if some runs of `measure_reach` never reached their goal."""
    lost = sum(not row.numbers["reached"] for row in rows)
    if not lost:
        return None
    return weigh([Part("every run reaches the accuracy", False)], f"{lost} runs did not reach {level:.0%}", {})


def final_means(rows: Sequence[Row]) -> dict[str, SeedMean]:
    """The last records of the runs, over their seeds."""
    ends = ("accuracy", "pattern_change", "distance")
    return {key: seed_mean(final(row.numbers, key) for row in rows) for key in ends}
