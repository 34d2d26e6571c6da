"""A claim of which one task raises."""

from dataclasses import replace

from lopsided.engine.task import Numbers, Settings
from lopsided.papers.claim import Runs
from lopsided.papers.register import load_claim


def measure(settings: Settings, seed: int) -> Numbers:
    if settings["x"] == 2:
        raise ZeroDivisionError("x was 2")
    return {"value": settings["x"] + seed}


_SUM = load_claim(__file__.replace("toy_broken", "toy_sum"))
CLAIM = replace(_SUM, id="toy-broken", measure=measure, quick=Runs([{"x": x} for x in range(4)]))
