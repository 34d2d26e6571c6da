"""Lemma 5.2: the pseudo gradient is large unless the error is small; and the data for which it is not."""

from collections.abc import Sequence

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.figure import Figure, Line, Mark, Panel
from lopsided.core.statistics import seed_mean
from lopsided.data.clusters import ClusterMixture, hexagon_mixture
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.learners.wide_relu import (
    accuracy,
    error_signals,
    gradient_coefficients,
    initial_deviation,
    network_outputs,
)
from lopsided.measure.separability import separability
from lopsided.papers.claim import Claim, Part, Runs, Verdict, weigh
from lopsided.papers.shared.alternatives import renumbered
from lopsided.papers.shared.summary import chosen
from lopsided.theory.wide_bounds import gradient_bound, gradient_energy_bound
from lopsided.worlds.wide_runs import as_curves, case_s, point_mixture

DATA = {
    "mixture": "random unit points",
    "hexagon": "regular hexagon, classes alternating: antipodal points of different classes",
    "lifted hexagon": "the hexagon with a constant coordinate appended (a bias)",
}


def _mixture(settings: Settings, seed: int) -> ClusterMixture:
    data = settings["data"]
    if data == "mixture":
        return point_mixture(settings, seed)
    if data not in DATA:
        raise InputError(f"data among {', '.join(DATA)}", repr(data), "name one of those")
    return hexagon_mixture(normalisation="lifted" if data == "lifted hexagon" else "unit")


def measure(settings: Settings, seed: int) -> Numbers:
    """Gradient descent in case S; at each record v, the share of units with a large pseudo gradient, and its energy."""
    mixture = _mixture(settings, seed)
    run, corners = case_s(mixture, settings, seed)
    network, points, labels, weights = run.network, corners.points, corners.labels, mixture.probabilities
    classes, components = mixture.class_count, mixture.components_per_class
    delta = separability(points, labels, corners.components).delta
    scale = delta / (classes * components)
    records = []
    initial = run.probe_initial_preactivations
    for state in run:
        if (state.step - 1) % settings["record"]:
            continue
        now = state.probe_preactivations()
        outputs = network_outputs(now, network.top)
        coefficients = gradient_coefficients(now, initial, network.top, labels, weights, "pseudo gradient")
        lengths = np.linalg.norm(coefficients.T @ points, axis=1)
        v = float(-error_signals(outputs, labels, weights)[np.arange(len(labels)), labels].min())
        deviation = initial_deviation(network.width)
        proof = gradient_bound(classes=classes, components=components, delta=delta, largest=v, deviation=deviation)
        record = {
            "steps": state.step,
            "error": v,
            "large_share": float((lengths >= v * scale).mean()),
            "proof_share": float((lengths >= proof.size).mean() / proof.fraction),
            "energy": float((lengths**2).mean() / v**2),
            "accuracy": accuracy(outputs, labels),
        }
        records.append(record)
    return {**as_curves(records), "needed_share": scale, "delta": delta, "energy_bound": gradient_energy_bound(points)}


def judge(rows: Sequence[Row]) -> Verdict:
    """With 1 for the constants of Omega: is |pseudo gradient| >= v delta/(k l) for a share delta/(k l) of the units?"""
    found_on = _by_data(rows)
    margins = {
        data: [min(numbers["large_share"]) / numbers["needed_share"] for numbers in group]
        for data, group in found_on.items()
    }
    least = {data: min(values) for data, values in margins.items()}
    ends = {data: seed_mean(numbers["accuracy"][-1] for numbers in group) for data, group in found_on.items()}
    hexagon = found_on["hexagon"]
    stuck = all(numbers["large_share"][-1] < numbers["needed_share"] for numbers in hexagon)
    parts = [
        Part("on random unit points", least["mixture"] >= 1, max(margins["mixture"]) < 1),
        Part("on the hexagon with a bias coordinate", least["lifted hexagon"] >= 1, max(margins["lifted hexagon"]) < 1),
        Part("on every data set with (A1) and (A2): the hexagon", least["hexagon"] >= 1, stuck),
    ]
    last, share = (seed_mean(numbers[key][-1] for numbers in hexagon) for key in ("error", "large_share"))
    found = (
        f"Smallest share of units with a large pseudo gradient, in units of delta/(k l): {least['mixture']:.3g} on "
        f"random points, {least['lifted hexagon']:.3g} on the lifted hexagon, {least['hexagon']:.3g} on the hexagon, "
        f"where (A1) and (A2) hold and yet at the end v = {last.mean:.3g}, a share {share.mean:.3g} is left and the "
        f"accuracy is {ends['hexagon'].mean:.3g}: no network without bias can classify it, so Theorem 4.1 needs points "
        "of different classes away from each other's antipodes"
        if stuck
        else f"Smallest shares in units of delta/(k l): {least}"
    )
    numbers = {
        "smallest_share_over_needed": least,
        "final_accuracy": ends,
        "hexagon_error": last,
        "hexagon_share": share,
        "energy_bounds": {data: group[0]["energy_bound"] for data, group in found_on.items()},
    }
    return weigh(parts, found, numbers)


def _by_data(rows: Sequence[Row]) -> dict[str, list[Numbers]]:
    return {data: [row.numbers for row in chosen(rows, data=data)] for data in DATA}


def plot(rows: Sequence[Row]) -> Figure:
    """The error v and the share of units with a large pseudo gradient along the descent."""
    errors, shares = [], []
    for data, group in _by_data(rows).items():
        steps = group[0]["steps"]
        errors.append(Line(steps, np.mean([numbers["error"] for numbers in group], axis=0).tolist(), data))
        share = np.mean([np.array(numbers["large_share"]) / numbers["needed_share"] for numbers in group], axis=0)
        shares.append(Line(steps, share.tolist(), data))
    title, marks = "Units with |pseudo gradient| ≥ v δ/(k l)", [Mark(1.0, "Lemma 5.2 with constant 1", axis="y")]
    panels = [
        Panel("Largest error v = max p v", "step", "v", errors, y_log=True),
        Panel(title, "step", "share, in units of δ/(k l)", shares, marks),
    ]
    caption = "Case S, gradient descent; means over seeds."
    return Figure("Is the pseudo gradient large while the error is?", panels, caption)


def _plan(width: int, steps: int, record: int, seeds: int) -> Runs:
    common = {"width": width, "steps": steps, "record": record, "rate_times_width": 10.0}
    mixture = {"data": "mixture", "classes": 5, "components": 2, "dimension": 50, **common}
    return Runs([mixture, {"data": "hexagon", **common}, {"data": "lifted hexagon", **common}], seeds=range(seeds))


CLAIM = Claim(
    id="sd-pseudo-gradient",
    rule="Case S, with constants 1 for the orders: at every record of every seed the share of units with |pseudo "
    "gradient| >= v delta/(k l) is at least delta/(k l); tested on random unit points, on a hexagon with alternating "
    "classes (which satisfies (A1) with delta = 1 and lambda = 0, and (A2)), and on that hexagon with a constant "
    "coordinate appended.",
    quick=_plan(2000, 1000, 50, 3),
    paper=_plan(20000, 4000, 100, 5),
    measure=measure,
    judge=judge,
    plot=plot,
    readings=DATA,
    quick_budget_seconds=10.0,
    alternatives={
        "a share of order (delta/(k l))^2": renumbered(
            lambda row: {"large_share": [row.numbers["needed_share"] * share for share in row.numbers["large_share"]]}
        )
    },
)
