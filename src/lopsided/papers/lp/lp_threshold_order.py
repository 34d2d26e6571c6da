"""R0 falls as the energies fall and as the number of minority classes falls (Section 4.B, Fig 8).

R0 comes from the closed form of `theory`; each task confirms it by two descents on the nonconvex program, 3 % below
(minority classifiers differ) and 3 % above (they coincide). "Fixing the other parameters" has two readings: the total K
= 10 as in the figures, or K_A fixed while K grows with K_B.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Line, Panel
from lopsided.core.seeds import generator
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Outcome, Runs, Verdict
from lopsided.papers.lp.peeled import descend, largest_distance, two_sizes
from lopsided.papers.shared.alternatives import renumbered
from lopsided.theory.layer_peeled.two_sizes_thresholds import collapse_ratio

PARAMETERS = ("feature_energy", "weight_energy", "minority_classes")
ASIDE = 0.03  # relative distance of the descents from R0
APART = 1e-3  # distance of minority classifiers over their length; sqrt(1 - cosine) is about sqrt(ASIDE) below R0


def _distance(settings: Settings, ratio: float, seed: int) -> float:
    """Largest distance between minority classifiers by descent, over the mean length of a classifier."""
    fit = descend(two_sizes(settings, ratio), generator(seed, "start"))[0]
    apart = largest_distance(fit.classifiers[settings["majority_classes"] :])
    return float(apart / np.sqrt(settings["weight_energy"]))


def measure(settings: Settings, seed: int) -> Numbers:
    """R0 in closed form, and descents on both sides of it."""
    classes = settings["majority_classes"] + settings["minority_classes"]
    tau = classes * float(np.sqrt(settings["weight_energy"] * settings["feature_energy"]))
    threshold = collapse_ratio(settings["majority_classes"], settings["minority_classes"], tau)
    below, above = (
        None if threshold is None else _distance(settings, threshold * side, seed) for side in (1 - ASIDE, 1 + ASIDE)
    )
    return {"threshold": threshold, "apart_below": below, "apart_above": above}


def _lines(rows: Sequence[Row], along: str) -> dict[tuple[Any, ...], list[tuple[float, float]]]:
    """R0 along one parameter with the others fixed; K_A follows from K_B and the reading."""
    lines: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for row in rows:
        own = row.settings
        key = (own["reading"], *(own[name] for name in PARAMETERS if name != along))
        lines.setdefault(key, []).append((float(own[along]), row.numbers["threshold"]))
    return {key: sorted(set(points)) for key, points in lines.items() if len(set(points)) > 1}


def judge(rows: Sequence[Row]) -> Verdict:
    """Every step along each parameter raises R0, and the descents confirm R0."""
    confirmed = [row.numbers["apart_below"] > APART > row.numbers["apart_above"] >= 0 for row in rows]
    steps = {}
    for along in PARAMETERS:
        pairs = [pair for points in _lines(rows, along).values() for pair in pairwise(points)]
        up, down = sum(b > a for (_, a), (_, b) in pairs), sum(b < a for (_, a), (_, b) in pairs)
        steps[along] = {"steps_up": up, "steps_down": down}
    numbers = {"settings": len(rows), "confirmed_by_descent": sum(confirmed), **steps}
    steps_up, steps_down = (sum(found[key] for found in steps.values()) for key in ("steps_up", "steps_down"))
    found = (
        f"R0 rose in {steps_up} of {steps_up + steps_down} steps of E_H, E_W and K_B, in both readings; descent "
        f"confirms {sum(confirmed)} of {len(rows)} thresholds within {100 * ASIDE:g} %."
    )
    if not all(confirmed):
        return Verdict(Outcome.FAILS, found, numbers)
    if steps_down:
        return Verdict(Outcome.PARTLY if steps_up else Outcome.CONTRADICTED, found, numbers)
    enough = all(found["steps_up"] for found in steps.values())
    return Verdict(Outcome.HOLDS if enough else Outcome.FAILS, found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """R0 against K_B, one panel per reading."""
    panels = []
    for reading in ("total fixed", "majority fixed"):
        lines = {key: points for key, points in _lines(rows, "minority_classes").items() if key[0] == reading}
        series = [
            Line([x for x, _ in points], [y for _, y in points], f"E_H = {key[1]:g}, E_W = {key[2]:g}", markers=True)
            for key, points in lines.items()
        ]
        panels.append(Panel(f"Reading: {reading}", "minority classes K_B", "threshold R0", series, y_log=True))
    return Figure("The collapse threshold falls with the energies and with K_B", panels)


def _settings(energies: Sequence[tuple[float, float]], minority: Sequence[int]) -> list[dict[str, Any]]:
    return [
        {
            "reading": reading,
            "majority_classes": 10 - k_b if reading == "total fixed" else 5,
            "minority_classes": k_b,
            "feature_energy": feature,
            "weight_energy": weight,
        }
        for reading in ("total fixed", "majority fixed")
        for feature, weight in energies
        for k_b in minority
    ]


CLAIM = Claim(
    id="lp-threshold-order",
    rule="Along E_H, E_W and K_B, all else fixed, every step raises R0, and at each setting descent finds the minority "
    f"classifiers more than {APART:g} apart {100 * ASIDE:g} % below R0 and together {100 * ASIDE:g} % above it.",
    quick=Runs(_settings(((1.0, 1.0), (5.0, 1.0), (5.0, 2.0)), (2, 3, 5, 7))),
    paper=Runs(_settings(((1.0, 1.0), (5.0, 1.0), (10.0, 1.0), (5.0, 2.0), (1.0, 5.0)), (2, 3, 4, 5, 6, 7))),
    measure=measure,
    judge=judge,
    plot=plot,
    readings={
        "total fixed": "K = K_A + K_B stays 10, as in the figures",
        "majority fixed": "K_A stays 5 and K grows with K_B, as the text says literally",
    },
    alternatives={"one threshold for all": renumbered(lambda row: {"threshold": 10.0})},
)
