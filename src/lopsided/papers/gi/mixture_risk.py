"""Risk of the average and of the minority group over a swept parameter, for the claims of Fig 6 and 7.

Entropy and excess are reported separately, theory is compared with simulation, and two readings use the same sample:

* "critical point": the minimiser of f_n nearest to W*, the best that the data allow;
* "few steps": 100 steps of the paper's size (c = 1) from distance 2, an under-trained network. The step depends on the
  mixture, and so does the progress after 100 steps.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Line, Panel
from lopsided.core.mixture_spec import Mixture
from lopsided.core.statistics import SeedCurve, shape
from lopsided.engine.task import Row
from lopsided.learners.teacher_student_descent import descend
from lopsided.papers.claim import Claim, Part, Runs, Verdict, weigh
from lopsided.papers.gi.mixture_curves import described, drawn, over, seed_curve
from lopsided.papers.shared.alternatives import constant
from lopsided.papers.shared.shapes import OPPOSITE, Shape, shape_parts
from lopsided.theory.fisher_law import FisherLaw
from lopsided.worlds import mixture_lab as lab

NEURONS, MINORITY = 3, 1
STEPS, FACTOR, DISTANCE = 100, 1.0, 2.0
READINGS = ("critical point", "few steps")


def risk_numbers(mixture: Mixture, samples: int, seed: int) -> dict[str, Any]:
    """Entropy, excess in both readings, and the law's excess, for the average and the second group."""
    problem = lab.drawn_teacher(mixture, NEURONS, seed)
    data, _ = lab.drawn_data(problem, samples, seed)
    law = FisherLaw(problem).forecast(samples)
    numbers: dict[str, Any] = {
        "entropy average": law.average_entropy,
        "entropy minority": law.groups[MINORITY].label_entropy,
        "law average": law.average_excess_risk,
        "law minority": law.groups[MINORITY].excess_risk,
        "law says": law.groups[MINORITY].fraction_effect.effect,
    }
    point = lab.nearest_critical_point(problem, data)
    share = DISTANCE / float(np.linalg.norm(problem.weights))
    start = lab.start_near(problem, seed, share=share)
    few = descend(data, start, lab.mixture_step(mixture, FACTOR), STEPS)
    for reading, weights in (("critical point", point.weights if point.found else None), ("few steps", few.weights)):
        risk = None if weights is None else lab.risk_at(problem, weights, seed)
        numbers[f"{reading} average"] = None if risk is None else risk.average_excess
        numbers[f"{reading} minority"] = None if risk is None else risk.excess[MINORITY]
    return numbers


def excess(rows: Sequence[Row], x: str, reading: str, who: str) -> SeedCurve:
    """Log excess over x; logarithms, because a few teachers are much harder than the rest."""
    return seed_curve(rows, x, f"{reading} {who}").logarithmic()


def total(rows: Sequence[Row], x: str, reading: str, who: str) -> SeedCurve:
    """What the paper plots: entropy + excess."""

    def read(row: Row) -> float | None:
        value = row.numbers[f"{reading} {who}"]
        return None if value is None else value + row.numbers[f"entropy {who}"]

    return seed_curve(rows, x, read)


def judge_risk(rows: Sequence[Row], x: str, wanted: Shape) -> Verdict:
    """The claimed shape in the minority's excess, in both readings, and in the average's test loss.

    The average excess at the critical point is d K / (2 n) for every mixture, so it can only be flat: the average is
    judged on the total.
    """
    words: dict[str, str] = {"entropy average": shape(seed_curve(rows, x, "entropy average"))}
    words["entropy minority"] = shape(seed_curve(rows, x, "entropy minority"))
    words["law minority"] = shape(seed_curve(rows, x, "law minority").logarithmic())
    numbers: dict[str, Any] = {}
    for reading in READINGS:
        for who in ("average", "minority"):
            words[f"{reading}: excess, {who}"] = shape(excess(rows, x, reading, who))
            words[f"{reading}: total, {who}"] = shape(total(rows, x, reading, who))
            numbers[f"{reading}: log excess, {who}"] = described(excess(rows, x, reading, who))
    numbers = {"shapes": words, **numbers, "entropy minority": described(seed_curve(rows, x, "entropy minority"))}
    critical, few = (words[f"{reading}: excess, minority"] for reading in READINGS)
    plotted = words["critical point: total, minority"]
    found = (
        f"the minority's excess risk {_verb(critical)} at the critical point (the law: {_verb(words['law minority'])}) "
        f"and {_verb(few)} after few steps; the plotted sum {_verb(plotted)}, its entropy "
        f"{_verb(words['entropy minority'])}"
    )
    average = words["critical point: total, average"]
    parts = [
        *shape_parts("critical point: the minority's excess", excess(rows, x, "critical point", "minority"), wanted),
        Part(f"critical point: the average's test loss {wanted}", average == wanted, average == OPPOSITE[wanted]),
        *shape_parts("few steps: the minority's excess", excess(rows, x, "few steps", "minority"), wanted),
    ]
    return weigh(parts, found, numbers)


RULE = (
    "parts: the minority's excess risk has the stated shape at the critical point, and after few steps (a trend is one "
    "part; a valley or a hill is two, one for each side; the 95 % interval of the paired difference over teachers "
    "excludes 0), and so has the average test loss at the critical point; partly if at least half of the parts hold. "
    "The paper names no size; a part that could not detect a factor of 1.5 in the excess is unresolved"
)


def _verb(word: str) -> str:
    return {"valley": "falls, then rises", "hill": "rises, then falls", "flat": "is flat"}.get(word, word)


def plot_risk(rows: Sequence[Row], x: str, x_label: str, title: str, log: str = "") -> Figure:
    """Entropy and excess separately, theory and simulation together, the paper's sum last."""
    panels = []
    for who in ("minority", "average"):
        law = seed_curve(rows, x, f"law {who}").logarithmic()
        lines = [
            drawn(excess(rows, x, "critical point", who), "critical point"),
            Line(law.x.tolist(), law.mean.tolist(), "large-n law", dashed=True),
            drawn(excess(rows, x, "few steps", who), "few steps"),
        ]
        panels.append(Panel(f"Excess risk, {who}", x_label, "log excess risk (nats)", lines, x_log="x" in log))
    entropy = {who: seed_curve(rows, x, f"entropy {who}") for who in ("minority", "average")}
    plotted = {who: total(rows, x, "critical point", who) for who in ("minority", "average")}
    title_of_sum = "Their sum, as the paper plots it (critical point)"
    panels.append(over("Label entropy", x_label, "entropy (nats)", entropy, log=log))
    panels.append(over(title_of_sum, x_label, "test cross entropy (nats)", plotted, log=log))
    return Figure(title, panels, "Bands are one standard error over teachers; natural logarithms.")


def risk_claim(
    x: str,
    x_label: str,
    title: str,
    mixture: Callable[[float], Mixture],
    wanted: Shape,
    *,
    quick: Sequence[float],
    paper: Sequence[float],
    log: str = "",
    **stated: Any,
) -> Claim:
    """A claim on the shape of the risk over x at these places; `mixture` gives the groups there, `stated` is what the
    claim says of itself."""
    return Claim(
        rule=RULE,
        quick=Runs([{x: value, "n": 10_000} for value in quick], tuple(range(12))),
        smoke=Runs([{x: value, "n": 10_000} for value in quick], tuple(range(3))),
        quick_budget_seconds=30,
        paper=Runs([{x: value, "n": 20_000} for value in paper], tuple(range(60))),
        measure=lambda settings, seed: risk_numbers(mixture(settings[x]), settings["n"], seed),
        judge=lambda rows: judge_risk(rows, x, wanted),
        plot=lambda rows: plot_risk(rows, x, x_label, title, log),
        readings_at_once=True,
        alternatives={f"no dependence on the {x}": constant(x)},
        readings={
            "critical point": "the minimiser of the training loss nearest to W*",
            "few steps": "100 steps of the paper's size with c = 1 from a start at distance 2",
        },
        **stated,
    )
