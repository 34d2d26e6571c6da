"""Does more weight decay bring minority collapse earlier (Fig 2)?

"Earlier" is measured by the average of the minority cosine over the ratios, so no level has to be reached. If curves
reach 0.5, the ratio at which they do is reported as well, next to the forecasts' R, which is proportional to 1 / weight
decay.
"""

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from lopsided.core.figure import Figure, Panel
from lopsided.core.statistics import seed_mean
from lopsided.engine.task import Row
from lopsided.papers.claim import Part, Runs, Verdict, weigh
from lopsided.papers.lp.network_forecasts import EQUILIBRIUM, SURVIVAL, forecast_lines
from lopsided.papers.shared.alternatives import constant
from lopsided.papers.shared.network_runs import network_claim
from lopsided.papers.shared.network_settings import (
    LARGE,
    POWER_ADDED,
    SLIM_ADDED,
    SLIM_VGG,
    SMALL,
    TINY,
    VGG,
    split_over,
    varied,
)
from lopsided.papers.shared.summary import chosen, crossings, curve, grouped, named, paired

HALF = 0.5
EARLIER = 0.1  # rise of the average cosine that the rule must be able to detect; the paper names none


def _networks(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return named(rows, "{network} on {images}", "weight_decay", "ratio")


def judge(rows: Sequence[Row]) -> Verdict:
    """Each larger decay has the larger average cosine, paired by seed."""
    parts, numbers, sentences = [], {}, []
    for name, own in _networks(rows).items():
        decays = sorted({row.settings["weight_decay"] for row in own})
        rises = {}
        for less, more in pairwise(decays):
            rise = paired(chosen(own, weight_decay=less), chosen(own, weight_decay=more), "minority_cosine")
            rises[f"{less:g} to {more:g}"] = rise
            parts.append(Part.above(f"{name}: {less:g} to {more:g}", rise, claimed=EARLIER))
        halves = {f"{decay:g}": _half(chosen(own, weight_decay=decay)) for decay in decays}
        numbers[name] = {"rise_of_average_cosine": rises, "half_at": halves}
        words = ", ".join(f"{rise.text(2)} (wd {change})" for change, rise in rises.items())
        places = ", ".join(f"{_place(found)} (wd {decay})" for decay, found in halves.items())
        sentences.append(f"{name}: the average cosine rises by {words}; the cosine passes {HALF} at R = {places}")
    return weigh(parts, "; ".join(sentences), numbers)


def _half(rows: Sequence[Row]) -> float | None:
    """Geometric mean over seeds of the ratio at which the cosine crosses 0.5; None if it does not for some seed."""
    found = list(crossings(rows, "minority_cosine", HALF).values())
    logs = [math.log(place) for place in found if place is not None]
    return math.exp(seed_mean(logs).mean) if found and len(logs) == len(found) else None


def _place(found: float | None) -> str:
    return "not everywhere" if found is None else f"{found:.0f}"


def plot(rows: Sequence[Row]) -> Figure:
    """One panel per weight decay: measured and forecast."""
    panels = []
    for name, own in _networks(rows).items():
        by_decay = grouped(own, "weight_decay")
        measured = {decay: partial(curve, part, "ratio", "minority_cosine") for decay, part in by_decay.items()}
        shown = {f"{name}: measured": [line(f"wd {decay:g}") for decay, line in measured.items()]}
        for decay, part in by_decay.items():
            forecast = forecast_lines(part, "ratio", (EQUILIBRIUM, SURVIVAL))
            shown[f"{name}, wd {decay:g}"] = [measured[decay]("measured"), *forecast]
        for title, series in shown.items():
            panels.append(Panel(title, "imbalance ratio R", "minority cosine", series, x_log=True))
    caption = "Bands: 95 % intervals over seeds. Dashed: forecasts from the settings alone."
    return Figure("More weight decay, earlier collapse", panels, caption)


CLAIM = network_claim(
    id="lp-weight-decay",
    rule="For each network and each step to a larger weight decay, the minority cosine averaged over the ratios rises: "
    "the 95 % interval of the difference, paired by seed, is above 0.",
    quick=Runs(
        [
            *varied({**SMALL, "steps": 500}, weight_decay=(3e-3, 1e-2, 3e-2), ratio=(5, 20, 80, 300)),
            *varied(SLIM_VGG, weight_decay=(2e-3, 2e-2), ratio=(10, 100)),
        ],
        seeds=range(3),
    ),
    paper=Runs(
        [
            *varied(LARGE, weight_decay=(5e-4, 2e-3, 5e-3, 2e-2), ratio=(1, 10, 40, 100, 250, 500)),
            *split_over(VGG, ((7, 3),), weight_decay=(5e-4, 5e-3), ratio=(1, 10, 100, 500)),
        ],
        seeds=range(4),
    ),
    smoke=Runs(varied(TINY, weight_decay=(3e-3, 3e-2), ratio=(5, 40)), seeds=range(2)),
    judge=judge,
    alternatives={"no dependence on the weight decay": constant("weight_decay")},
    plot=plot,
    revised=f"{SLIM_ADDED} Then {POWER_ADDED}",
    needs=("mnist", "cifar-10"),
    paper_needs=("fashion-mnist",),
)
