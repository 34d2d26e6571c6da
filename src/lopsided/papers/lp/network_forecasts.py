"""Forecasts of a network's minority cosine from its settings, under the names by which figures and verdicts show them.

| recipe | what it knows |
|---|---|
| measured energies | E_W and E_H of the same trained network (the paper's Fig 2): an explanation afterwards |
| constant multiplier | lambda = wd sqrt(E_W / E_H) of one run at R = 10, E_H of centred class means |
| BatchNorm equilibrium | the settings alone |
| survival law | the settings alone |
| survival law, pilot | and the training loss of one run at R = 10 |
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Line
from lopsided.engine.task import Row
from lopsided.papers.shared.network_settings import MOMENTUM, effective_sizes
from lopsided.theory.layer_peeled.energy import restraint
from lopsided.theory.layer_peeled.solve import solve_free
from lopsided.theory.network_equilibrium import batchnorm_equilibrium
from lopsided.theory.survival_law import survival_forecast

RECIPES = ("measured energies", "constant multiplier", "BatchNorm equilibrium", "survival law", "survival law, pilot")
ENERGIES, MULTIPLIER, EQUILIBRIUM, SURVIVAL, PILOT = RECIPES
PILOT_RATIO = 10
_WITHOUT_BATCH_NORM = ("mlp-plain", "lenet-5")  # the last three recipes say nothing about these


def forecasts(settings: Mapping[str, Any], pilot: Mapping[str, Any] | None = None) -> dict[str, float | None]:
    """The minority cosine by every recipe that needs no run at these settings; `pilot` are the numbers of R = 10."""
    sizes = effective_sizes(settings)
    if not sizes.all() or settings["weight_decay"] == 0:
        return {}
    counts = sizes.astype(np.float64)
    minority = np.arange(len(sizes)) >= settings["majority_classes"]
    found: dict[str, float | None] = {}
    if pilot is not None and pilot.get("centred_mean_energy"):
        energies = pilot["weight_energy"] / pilot["centred_mean_energy"]
        held = restraint(len(sizes), multiplier=settings["weight_decay"] * math.sqrt(energies))
        found[MULTIPLIER] = solve_free(counts, held).mean_cosine(minority)
    if settings["network"] in _WITHOUT_BATCH_NORM:
        return found
    rest = batchnorm_equilibrium(counts, settings["weight_decay"], settings["batch"]).cosines()
    found[EQUILIBRIUM] = _mean_pair(rest, minority)
    depth = None if pilot is None else pilot["hidden_layers"]
    for name, loss in ((SURVIVAL, None), (PILOT, None if pilot is None else pilot["loss"])):
        if name == SURVIVAL or loss is not None:
            law = survival_forecast(
                counts,
                weight_decay=settings["weight_decay"],
                step=settings["rate"],
                batch_size=settings["batch"],
                momentum=MOMENTUM,
                hidden_layers=depth if depth is not None else len(settings.get("widths", (0, 0))),
                pilot_loss=loss,
            )
            found[name] = law.mean_cosine(np.flatnonzero(minority))
    return found


def pilot_of(rows: Sequence[Row], row: Row) -> Mapping[str, Any] | None:
    """The run at R = 10 with the same seed and otherwise the same settings; None where there is none."""
    wanted = {**row.settings, "ratio": PILOT_RATIO}
    return next((other.numbers for other in rows if other.seed == row.seed and other.settings == wanted), None)


def all_forecasts(rows: Sequence[Row], row: Row) -> dict[str, float | None]:
    """Every recipe for a finished run, the paper's among them."""
    return {ENERGIES: row.numbers.get("energies_cosine"), **forecasts(row.settings, pilot_of(rows, row))}


def recipe_errors(rows: Sequence[Row]) -> dict[str, dict[int, float]]:
    """Mean |forecast - measured| of the minority cosine over the runs of each seed, for each recipe."""
    gaps: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        measured = row.numbers["minority_cosine"]
        for name, value in all_forecasts(rows, row).items():
            if value is not None and measured is not None and not math.isnan(value):
                gaps.setdefault(name, {}).setdefault(row.seed, []).append(abs(value - measured))
    return {name: {seed: float(np.mean(found)) for seed, found in by.items()} for name, by in gaps.items()}


def forecast_lines(rows: Sequence[Row], x: str, names: Sequence[str]) -> list[Line]:
    """One dashed line per recipe over the setting `x`, averaged over seeds."""
    lines = []
    values = {id(row): all_forecasts(rows, row) for row in rows}
    for name in names:
        points: dict[float, list[float]] = {}
        for row in rows:
            value = values[id(row)].get(name)
            if value is not None and row.settings[x] is not None and not math.isnan(value):
                points.setdefault(float(row.settings[x]), []).append(value)
        if points:
            places = sorted(points)
            lines.append(Line(places, [float(np.mean(points[place])) for place in places], name, dashed=True))
    return lines


def _mean_pair(cosines: Any, chosen: Any) -> float | None:
    block = cosines[np.ix_(chosen, chosen)]
    count = block.shape[0]
    mean = float((block.sum() - np.trace(block)) / (count * (count - 1))) if count > 1 else math.nan
    return None if math.isnan(mean) else mean
