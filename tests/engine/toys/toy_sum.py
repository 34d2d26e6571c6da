"""A claim that is true: the measured value is x plus the seed. Every measurement leaves a line in TOY_LOG."""

import os
import time

from lopsided.core.figure import Figure, Line, Panel
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Outcome, Runs, Source, Verdict


def measure(settings: Settings, seed: int) -> Numbers:
    if log := os.environ.get("TOY_LOG"):
        with open(log, "a", encoding="utf-8") as stream:
            stream.write(f"{settings['x']} {seed} {os.getpid()}\n")
    time.sleep(settings.get("wait", 0))
    return {"value": settings["x"] + seed, "threads": os.environ.get("OMP_NUM_THREADS")}


def judge(rows: list[Row]) -> Verdict:
    wrong = sum(row.numbers["value"] != row.settings["x"] + row.seed for row in rows)
    outcome = Outcome.FAILS if wrong else Outcome.HOLDS
    return Verdict(outcome, f"{wrong} of {len(rows)} sums are wrong", {"wrong": wrong, "rows": len(rows)})


def plot(rows: list[Row]) -> Figure:
    x = [row.settings["x"] for row in rows]
    return Figure(
        "Sums", [Panel("x <b>plus</b> seed", "x", "sum", [Line(x, [row.numbers["value"] for row in rows], "sum")])]
    )


CLAIM = Claim(
    id="toy-sum",
    statement="x plus seed is <em>x + seed</em>",
    source=Source("fang2021layerpeeled", "nowhere"),
    rule="every value equals x + seed",
    quick=Runs([{"x": x} for x in range(6)], range(2)),
    paper=Runs([{"x": x, "wait": 0.15} for x in range(12)], range(2)),
    measure=measure,
    judge=judge,
    plot=plot,
    paper_says="Nothing.",
)
