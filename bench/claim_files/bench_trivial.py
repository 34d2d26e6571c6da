"""Ten thousand tasks that do nothing: what remains is the laboratory's own cost."""

from collections.abc import Sequence

from lopsided.core.figure import Figure
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Outcome, Runs, Source, Verdict


def measure(settings: Settings, seed: int) -> Numbers:
    """Nothing but the setting."""
    return {"value": settings["x"]}


def judge(rows: Sequence[Row]) -> Verdict:
    """Every value came back."""
    right = all(row.numbers["value"] == row.settings["x"] for row in rows)
    return Verdict(Outcome.HOLDS if right else Outcome.FAILS, f"{len(rows)} tasks", {"rows": len(rows)})


CLAIM = Claim(
    id="bench-trivial",
    statement="a task that does nothing costs little",
    source=Source("fang2021layerpeeled", "none"),
    rule="every value came back",
    quick=Runs([{"x": x} for x in range(1000)]),
    paper=Runs([{"x": x} for x in range(10_000)]),
    measure=measure,
    judge=judge,
    plot=lambda rows: Figure("nothing to draw"),
    paper_says="nothing",
)
