"""Lemmas B.1 to B.4: coupling, large pseudo gradients and the fall of the loss for components of positive radius.

Full batches of one sample represent the population. There are k classes of l components, v = max over components of p
E[1 - o_y], delta the separation of (A1), sigma the deviation of an initial weight, R the range of a unit's top weights;
a unit has moved by at most R eta t. If the text gives only an order, the constant is 1.

B.1  On every point, at least 1 - 10 tau/sigma of the units keep their pattern and have |<w_r, x>| >= tau = R eta t.
B.2  For signals fixed before w^(0) is drawn, a share delta/(k l) of the units has |P_r| >= v delta/(k l). The signals
     here are the worst: those that make E |P_r|^2 least, with the signs and sizes that errors can have.
B.3  The same for the signals of a run, which depend on w^(0).
B.4  A step lowers the loss by at least eta m (delta/(k l)) (v delta/(k l))^2, and the fall goes like v^2.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear

from lopsided.core.figure import Figure, Line, Mark, Panel
from lopsided.core.seeds import generator
from lopsided.core.statistics import log_slope, seed_mean
from lopsided.core.validation import FloatArray
from lopsided.data.clusters import ClusterSample, ClusterSpec, random_mixture, sample_mixture
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.learners.wide_descent import WideDescent, full_batches
from lopsided.learners.wide_relu import (
    cross_entropy,
    error_signals,
    gradient_coefficients,
    initial_deviation,
    network_outputs,
    random_network,
)
from lopsided.measure.separability import separability
from lopsided.papers.claim import Claim, Part, Runs, Verdict, weigh
from lopsided.papers.shared.alternatives import Law
from lopsided.papers.shared.summary import chosen
from lopsided.theory.wide_bounds import pattern_kernel, unit_gradient_bounds
from lopsided.worlds.wide_runs import as_curves

QUADRATIC, ROUGHLY = 2.0, 0.5
HALF = 0.5  # share of the records of the slow run where B.1 must say something


def measure(settings: Settings, seed: int) -> Numbers:
    """One lemma's quantities on one mixture of balls."""
    spec = ClusterSpec(
        classes=settings["classes"],
        components=settings["components"],
        dimension=settings["dimension"],
        shape="ball",
        spread=settings["radius"],
    )
    mixture = random_mixture(spec, generator(seed, "mixture"))
    sample = sample_mixture(mixture, settings["examples"], generator(seed, "train"))
    found = separability(sample.points, sample.labels, sample.components)
    scale = found.delta / (settings["classes"] * settings["components"])
    start = {"needed_share": scale, "delta": found.delta, "lambda": found.ratio[0], "separable": found.verdict}
    if settings["part"] == "geometry":
        return {**start, **_geometry(settings, sample, scale, seed)}
    fresh = sample_mixture(mixture, settings["examples"], generator(seed, "test"))
    return {**start, **_run(settings, sample, fresh, scale, seed)}


def _geometry(settings: Settings, sample: ClusterSample, scale: float, seed: int) -> Numbers:
    """B.2: the share of units whose P_r is large under the worst signals of each class."""
    units = generator(seed, "units").standard_normal((settings["width"], settings["dimension"]))
    patterns = (sample.points @ units.T >= 0).astype(np.float64)
    kernel = pattern_kernel(sample.points)
    shares = []
    for own in range(settings["classes"]):
        signals = _worst_signals(kernel, sample, own)
        lengths = np.linalg.norm((patterns * signals[:, None]).T @ sample.points, axis=1)
        v = max(float(np.abs(signals[sample.components == part]).sum()) for part in np.unique(sample.components))
        shares.append(float((lengths >= v * scale).mean()))
    return {"large_share": min(shares)}


def _worst_signals(kernel: FloatArray, sample: ClusterSample, own: int) -> FloatArray:
    """Signals of output `own`, constant on a component: 1 on one component of that class, between 0 and 1 on its others
    and between -1 and 0 on the other classes, so that E |P_r|^2 = u^T M u is least."""
    values, vectors = np.linalg.eigh(kernel)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    names = np.unique(sample.components)
    blocks = np.stack([(sample.components == name) / len(sample.labels) for name in names], axis=1)
    classes = np.array([sample.labels[sample.components == name][0] for name in names])
    first = int(np.flatnonzero(classes == own)[0])
    free = np.arange(len(names)) != first
    low, high = np.where(classes == own, 0.0, -1.0)[free], np.where(classes == own, 1.0, 0.0)[free]
    best = lsq_linear(root @ blocks[:, free], -root @ blocks[:, first], bounds=(low, high)).x
    return np.asarray(blocks[:, first] + blocks[:, free] @ best)


def _run(settings: Settings, sample: ClusterSample, fresh: ClusterSample, scale: float, seed: int) -> Numbers:
    """B.1, B.3 and B.4 along gradient descent."""
    width, count = settings["width"], len(sample.labels)
    network = random_network(width, settings["dimension"], settings["classes"], generator(seed, "network", width))
    watched = np.concatenate([sample.points, fresh.points])
    rate, sigma = settings["rate_times_width"] / width, initial_deviation(width)
    reach = rate * float(unit_gradient_bounds(network.top).max())
    weights = np.full(count, 1 / count)
    run = WideDescent(
        network, sample.points, sample.labels, full_batches(count, settings["steps"]), rate, probe=watched
    )
    initial = run.probe_initial_preactivations.copy()
    before = _state(initial, initial, network.top, sample, weights, scale)
    records = []
    for state in run:
        due, next_due = (state.step - 1) % settings["record"] == 0, state.step % settings["record"] == 0
        if not due and not next_due:
            continue
        now = state.probe_preactivations()
        if due:
            loss = cross_entropy(network_outputs(now[:count], network.top), sample.labels)
            tau = reach * state.step
            kept = ((now[count:] >= 0) == (initial[count:] >= 0)) & (np.abs(now[count:]) >= tau)
            fall = (before["loss"] - loss) / (rate * width)
            record = {
                "steps": state.step,
                "kept": float(kept.mean(axis=1).min()),
                "bound": 1 - 10 * tau / sigma,
                "error": before["error"],
                "large_share": before["large_share"],
                "fall": fall,
                "fall_over_bound": fall / (scale * (before["error"] * scale) ** 2),
            }
            records.append(record)
        if next_due:
            before = _state(now, initial, network.top, sample, weights, scale)
    return as_curves(records)


def _state(
    now: FloatArray, initial: FloatArray, top: FloatArray, sample: ClusterSample, weights: FloatArray, scale: float
) -> dict[str, float]:
    """Loss, error v and the share of units with a large pseudo gradient."""
    count = len(sample.labels)
    outputs = network_outputs(now[:count], top)
    own = -error_signals(outputs, sample.labels, weights)[np.arange(count), sample.labels]
    v = float(np.bincount(sample.components, weights=own).max())
    gradients = gradient_coefficients(now[:count], initial[:count], top, sample.labels, weights, "pseudo gradient")
    lengths = np.linalg.norm(gradients.T @ sample.points, axis=1)
    share = float((lengths >= v * scale).mean())
    return {"loss": cross_entropy(outputs, sample.labels), "error": v, "large_share": share}


def judge(rows: Sequence[Row]) -> Verdict:
    """Each lemma's inequality at every record and seed, and the power of v in B.4."""
    slow, fast, geometry = (chosen(rows, part=part) for part in ("slow", "learning", "geometry"))
    slack = min(float(np.subtract(row.numbers["kept"], row.numbers["bound"]).min()) for row in (*slow, *fast))
    says = {
        name: float(np.mean([np.mean(np.array(row.numbers["bound"]) > 0) for row in own]))
        for name, own in (("slow", slow), ("learning", fast))
    }
    least = [row.numbers["large_share"] / row.numbers["needed_share"] for row in geometry]
    along = [min(row.numbers["large_share"]) / row.numbers["needed_share"] for row in fast]
    falls = [min(row.numbers["fall_over_bound"]) for row in fast]
    exponent = seed_mean(log_slope(row.numbers["error"], row.numbers["fall"]) for row in fast if min(falls) > 0)
    parts = [
        Part("B.1: kept units at or above the bound", slack >= 0, slack < 0),
        Part("B.1 says something at a hundredth of the rate of Section 7", says["slow"] >= HALF, says["slow"] == 0),
        Part("B.1 says something at the rate of Section 7", says["learning"] >= HALF, says["learning"] == 0),
        Part("B.2: large P_r under the worst fixed signals", min(least) >= 1, max(least) < 1),
        Part("B.3: large pseudo gradients along the run", min(along) >= 1, max(along) < 1),
        Part("B.4: the loss falls by the stated amount", min(falls) >= 1, max(falls) < 1),
        Part.near("B.4: the fall goes like v^2", exponent, QUADRATIC, ROUGHLY),
    ]
    separable = sorted({str(row.numbers["separable"]) for row in rows})
    found = (
        f"Smallest slack of B.1 {slack:.3g}; it says something at {says['slow']:.0%} of the records of a run at a "
        f"hundredth of the rate of Section 7 and at {says['learning']:.0%} at that rate. Shares of units with a large "
        f"gradient, in units of delta/(k l): at least {min(least):.3g} under the worst fixed signals, {min(along):.3g} "
        f"along the run. A step lowers the loss by {min(falls):.3g} times the bound or more, like v^{exponent.text()} "
        f"(separability (A1): {', '.join(separable)})"
    )
    numbers = {
        "smallest_slack": slack,
        "informative_share": says,
        "share_over_needed_fixed": least,
        "share_over_needed_run": along,
        "fall_over_bound": falls,
        "fall_exponent": exponent,
    }
    return weigh(parts, found, numbers)


def fall_like(power: float) -> Law:
    """A fall of the loss that goes like v to another power, equal at the first record."""

    def law(rows: Sequence[Row]) -> list[Row]:
        changed = []
        for row in rows:
            numbers = dict(row.numbers)
            if row.settings["part"] == "learning":
                error = np.array(numbers["error"])
                numbers["fall"] = (numbers["fall"][0] * (error / error[0]) ** power).tolist()
            changed.append(Row(row.settings, row.seed, numbers))
        return changed

    return law


def plot(rows: Sequence[Row]) -> Figure:
    """B.1 along the slow run; the fall of the loss against v."""
    slow, fast = chosen(rows, part="slow"), chosen(rows, part="learning")
    steps = slow[0].numbers["steps"]
    coupling = [
        Line(steps, np.mean([row.numbers[key] for row in slow], axis=0).tolist(), label, dashed=key == "bound")
        for key, label in (("kept", "units that keep their pattern, worst point"), ("bound", "bound of B.1"))
    ]
    falls = [
        Line(row.numbers["error"], row.numbers["fall_over_bound"], f"seed {row.seed}", markers=True) for row in fast
    ]
    return Figure(
        "Components of positive radius",
        [
            Panel("Lemma B.1", "step", "fraction of units", coupling),
            Panel(
                "Lemma B.4",
                "error v",
                "fall of the loss over its bound",
                falls,
                [Mark(1.0, "the bound", "y")],
                x_log=True,
                y_log=True,
            ),
        ],
    )


def _plan(width: int, slow_width: int, steps: int, seeds: int, **changed: Any) -> Runs:
    data = {"classes": 3, "components": 2, "dimension": 20, "radius": 0.1, "examples": 60, **changed}
    return Runs(
        [
            {**data, "part": "slow", "width": slow_width, "rate_times_width": 0.1, "steps": 20, "record": 1},
            {
                **data,
                "part": "learning",
                "width": width,
                "rate_times_width": 10.0,
                "steps": steps,
                "record": steps // 20,
            },
            {**data, "part": "geometry", "width": 4 * width},
        ],
        seeds=range(seeds),
    )


CLAIM = Claim(
    id="sd-appendix",
    rule="Balls of radius 0.1 around random centres of length 5, scaled to length 1; every record, point and seed, "
    "with constant 1 for every order: the share of units that keep their pattern and have |<w_r, x>| >= tau is "
    f"at least 1 - 10 tau/sigma, tau = R eta t, and that bound is above 0 in {HALF:.0%} of the records, at the "
    "rate 10/m of Section 7 and at a hundredth of it; the share of units with |P_r|, and along the run |pseudo "
    "gradient|, of at least v delta/(k l) is at least delta/(k l); a step lowers the loss by at least eta m "
    f"(delta/(k l)) (v delta/(k l))^2; 95 % interval of the exponent of that fall in v within {QUADRATIC:g} ± "
    f"{ROUGHLY}.",
    quick=_plan(1000, 10_000, 200, 6),
    paper=_plan(20_000, 64_000, 2000, 6, examples=500),
    measure=measure,
    judge=judge,
    plot=plot,
    smoke=_plan(200, 400, 40, 2, examples=40),
    quick_budget_seconds=30.0,
    alternatives={"a fall linear in v": fall_like(1.0), "a fall like v^4": fall_like(4.0)},
)
