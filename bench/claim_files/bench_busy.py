"""Tasks that keep one core busy (a pure Python loop, so that no library's threads help)."""

from dataclasses import replace
from pathlib import Path

from lopsided.engine.task import Numbers, Settings
from lopsided.papers.claim import Runs
from lopsided.papers.register import load_claim


def measure(settings: Settings, seed: int) -> Numbers:
    """A loop whose result depends on all of its steps."""
    state = settings["x"]
    for _ in range(settings["steps"]):
        state = (state * 1103515245 + 12345) % 2147483648
    return {"value": settings["x"], "state": state}


CLAIM = replace(
    load_claim(str(Path(__file__).with_name("bench_trivial.py"))),
    id="bench-busy",
    measure=measure,
    quick=Runs([{"x": x, "steps": 3_000_000} for x in range(16)]),
    paper=Runs([{"x": x, "steps": 4_000_000} for x in range(24)]),
)
