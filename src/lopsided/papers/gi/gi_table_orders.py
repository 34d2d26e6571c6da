"""gi-table-orders: the orders of Table I in a group's covariance and mean, not only their directions.

Table I treats tau = sigma_max/sigma_min as a constant, so the powers of tau are left out of B and q here. There are two
readings: only group l changes, as the table says, or both groups change together. A cell "O(1) - Theta(x^p)" is judged
by the power of the difference to its limit at x = 0, and by its sign.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lopsided.core.figure import Bars, Figure, Panel
from lopsided.core.statistics import seed_mean
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Part, Runs, Verdict, weigh
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.summary import chosen
from lopsided.worlds import mixture_lab as lab

DIMENSION, NEURONS = 5, 3
QUANTITIES = ("B", "q", "Ew", "E", "El")
READINGS = ("one group", "both groups")
# The printed power in |Sigma_l| or in |mu_l|; v = 1 - q / K^2 stands as q. "missing" marks O(1) - Theta(x^p).
STATED: dict[str, dict[str, float]] = {
    "covariance to 0": {"B": -3.0, "q": 3.0, "Ew": 3.0, "E": 3.0, "El": 3.0},
    "covariance grows": {"B": 3.0, "q": -1.0, "Ew": 0.5, "E": 1.0, "El": 1.0},
    "mean grows": {"B": 12.0, "q": -2.0, "Ew": 1.0, "E": 2.0, "El": 2.0},
}
MISSING = {("covariance to 0", name) for name in ("Ew", "E", "El")}
LOOSE = {("covariance to 0", "B")}  # O(x^-3) as x falls: a constant does not reach it, and does not break it
PLACES: dict[str, tuple[float, float]] = {
    "covariance to 0": (1e-2, 4e-2),  # of the covariance at which delta_K s = 1
    "covariance grows": (1e4, 1e6),
    "mean grows": (1e3, 1e4),  # in deviations
}
MARGIN = 0.15  # of a power; finite places leave corrections of this size


def quantities(settings: Settings, seed: int, x: float) -> dict[str, float] | None:
    """Logarithms of the five quantities of Table I without powers of tau, at one place of a column."""
    from lopsided.theory.mixture_bounds import mixture_bounds

    weights = lab.drawn_teacher(lab.two_groups(DIMENSION, (0.5, 0.5), (0, 0), (1, 1)), NEURONS, seed).weights
    singular = np.linalg.svd(weights, compute_uv=False)
    unit = float(singular[-1]) ** -2
    both = settings["reading"] == "both groups"
    if settings["column"] == "mean grows":
        size = x * float(np.sqrt(unit / DIMENSION))
        mixture = lab.two_groups(DIMENSION, (0.5, 0.5), (size if both else 0.0, size), (unit, unit))
    else:
        mixture = lab.two_groups(DIMENSION, (0.5, 0.5), (0.0, 0.0), (x * unit if both else unit, x * unit))
    bounds = mixture_bounds(lab.drawn_teacher(mixture, NEURONS, seed))
    widest = float(mixture.spread.max())
    if bounds.core <= 0:  # curvature below the smallest number: no order can be read off
        return None
    return {
        "B": float(2 * np.log(widest**3 * singular[0] / bounds.core) + np.log(bounds.D12)),
        **{name: float(np.log(value)) for name, value in (("q", bounds.core / bounds.A), ("Ew", bounds.Ew))},
        **{name: float(np.log(value)) for name, value in (("E", bounds.E), ("El", bounds.El[1]))},
    }


def measure(settings: Settings, seed: int) -> Numbers:
    """Each quantity at two places of a column, and at the limit x = 0 where the column has one."""
    places = PLACES[settings["column"]]
    ends = [quantities(settings, seed, x) for x in places]
    limit = quantities(settings, seed, 1e-6) if settings["column"] == "covariance to 0" else None
    found: dict[str, Any] = {}
    for name in QUANTITIES:
        logs = [end[name] for end in ends if end is not None]
        if (settings["column"], name) in MISSING and limit is not None:
            left = [float(np.exp(limit[name]) - np.exp(value)) for value in logs]
            logs = np.log(left).tolist() if min(left, default=0.0) > 0 else []
        slope = (logs[1] - logs[0]) / float(np.log(places[1] / places[0])) if len(logs) == 2 else None
        found[name] = {"power": slope, "log_values": logs}
    return found


def judge(rows: Sequence[Row]) -> Verdict:
    """Every cell in the table's own reading; the other reading is reported as well."""
    parts, words = [], []
    numbers: dict[str, Any] = {reading: {} for reading in READINGS}
    for column, stated in STATED.items():
        for name, power in stated.items():
            cell = f"{column}: {name}"
            for reading in READINGS:
                own = [row.numbers[name]["power"] for row in chosen(rows, column=column, reading=reading)]
                known = None if any(value is None for value in own) or not own else seed_mean(own)
                numbers[reading][cell] = None if known is None else known.mean
            powers = [row.numbers[name]["power"] for row in chosen(rows, column=column, reading="one group")]
            wrong_sign = any(value is None for value in powers)
            off = [wrong_sign or abs(value - power) > MARGIN for value in powers]
            parts.append(Part(cell, bool(powers) and not any(off), all(off) and (column, name) not in LOOSE))
            if any(off):
                measured = numbers["one group"][cell]
                words.append(f"{cell} {'the other way' if measured is None else f'{measured:.2f}'} ({power:g})")
    held = sum(part.passes for part in parts)
    found = f"{held} of {len(parts)} cells have the printed order when one group changes"
    if words:
        found += f"; not, with the printed power in brackets: {', '.join(words)}"
    return weigh(parts, found, numbers, share=2 / 3)


def together(rows: Sequence[Row]) -> list[Row]:
    """Both groups change instead of one."""
    swapped = {"one group": "both groups", "both groups": "one group"}
    return [replace(row, settings={**row.settings, "reading": swapped[row.settings["reading"]]}) for row in rows]


def plot(rows: Sequence[Row]) -> Figure:
    """Measured against printed powers, column by column; a cell that moves the other way stays empty."""
    numbers = judge(rows).numbers
    panels = []
    for column, stated in STATED.items():
        names = list(stated)
        series = [Bars(names, list(stated.values()), "printed")]
        for reading in READINGS:
            found = [numbers[reading][f"{column}: {name}"] for name in names]
            series.append(Bars(names, [0.0 if value is None else value for value in found], reading))
        panels.append(Panel(column, "", "power", series))
    return Figure("The orders of Table I", panels, "A bar of zero stands for a quantity that moves the other way.")


CLAIM = Claim(
    id="gi-table-orders",
    rule="For every teacher the power of each quantity in |Sigma_l| or |mu_l|, from the formulas with tau left out and "
    f"one group changing, is within {MARGIN:g} of the printed one (the power of the difference to the limit if the "
    "table prints O(1) minus a power); all cells: holds; two thirds: partly.",
    quick=Runs(varied({}, column=list(STATED), reading=READINGS), tuple(range(3))),
    paper=Runs(varied({}, column=list(STATED), reading=READINGS), tuple(range(20))),
    measure=measure,
    judge=judge,
    plot=plot,
    alternatives={"both groups change": together},
    readings={
        "one group": "the parameters of one group change and the other stays, as the columns say",
        "both groups": "both groups have the same covariance, or means of one length",
    },
)
