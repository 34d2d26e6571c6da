"""Measure the powers of Theorem 1: how the loss depends on every quantity in its two terms, and on those that are not
in them.

Statements 2(a) and 2(b) bound the loss by exp(-c signal) and, at a tail of L, by exp(-c L^2 Gamma); these are Gaussian
tails, so the square of the normal quantile of the loss should be proportional to

    signal = |S_k|^2 |u|^4 / (|S_j| |A_k^T A_j|_F^2)     and to     L^2 Gamma

One regression of its logarithm on those of |u| or the ratio of the noises, both class sizes, d, m and L, over cells in
which all of them vary, gives each power separately. There are two classes, so the sum over j has one term. A tail of L
has P(response of the other class > own) with a response of either sign, hence the quantile of half the loss there.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from lopsided.core.seeds import generator
from lopsided.core.statistics import SeedMean, seed_mean
from lopsided.core.validation import FloatArray
from lopsided.engine.task import Row, Settings
from lopsided.measure.patch_network import long_tail_levels
from lopsided.theory.overfitting_bounds import theorem_terms
from lopsided.worlds import patch_runs as cells

# |A^T A|_F^2 is proportional to d here, so the signal contains d^-1.
STATED: dict[str, dict[str, float]] = {
    "signal": {"|u|": 4.0, "own size": 2.0, "other size": -1.0, "d": -1.0, "m": 0.0},
    "noise": {"ratio": 1.0, "own size": 1.0, "other size": -1.0, "d": 0.0, "m": 0.0, "L": 2.0},
}
BINS = 6
TAIL = 1.0  # the L from which on data count as long-tailed
WINDOW = {"signal": (4e-3, 0.4), "noise": (0.02, 0.8)}  # losses distinguishable from 0 and from chance
LEAST = 12  # points that a regression needs
WITHOUT = 1e-6  # the feature norm that counts as none
Law = Callable[[float], float]


def measure(settings: Settings, seed: int) -> dict[str, Any]:
    """Accuracies and both terms of each class; in cells without a feature also the loss over the tail."""
    run = cells.patch_run(settings, seed)
    sizes = np.array([settings["per_class"], settings["others"]], dtype=np.float64)
    terms = theorem_terms(run.distribution.geometry(), run.distribution.feature_norms, sizes)
    numbers = {
        **cells.run_numbers(run),
        "signals": terms.weakest_signal().tolist(),
        "ratios": terms.weakest_ratio().tolist(),
        "tests_per_class": int(settings["tests"]),
    }
    if settings["kind"] == "noise":
        level = long_tail_levels(run.fit.weights, run.test.noise, run.test.labels, run.distribution.matrices)
        right = run.right()
        own = [np.flatnonzero(run.test.labels == k) for k in range(2)]
        parts = [np.array_split(members[np.argsort(level[members])], BINS) for members in own]
        numbers["levels"] = [[float(level[part].mean()) for part in bins] for bins in parts]
        numbers["losses"] = [[1 - float(right[part].mean()) for part in bins] for bins in parts]
        numbers["tail_loss"] = [_long_tail(*pair) for pair in zip(numbers["levels"], numbers["losses"], strict=True)]
    return numbers


def _long_tail(levels: Sequence[float], losses: Sequence[float]) -> float:
    """The loss in the bins of a tail of at least TAIL; of the longest where no bin has it."""
    chosen = [loss for level, loss in zip(levels, losses, strict=True) if level >= TAIL]
    return float(np.mean(chosen)) if chosen else float(losses[-1])


def points(row: Row) -> list[tuple[dict[str, float], float]]:
    """(quantities, loss) of each class, and of each bin of the tail."""
    kind, sizes = row.settings["kind"], (float(row.settings["per_class"]), float(row.settings["others"]))
    found = []
    for k in range(2):
        known = {"own size": sizes[k], "other size": sizes[1 - k]}
        known |= {"d": float(row.settings["dimension"]), "m": float(row.settings["width"])}
        if kind == "signal":
            loss = 1 - float(row.numbers["class_accuracy"][k])
            found.append((known | {"|u|": float(row.settings["feature_norm"])}, loss))
        else:
            tail = zip(row.numbers["levels"][k], row.numbers["losses"][k], strict=True)
            own = known | {"ratio": float(row.settings["ratio"])}
            found += [(own | {"L": float(level)}, float(loss)) for level, loss in tail]
    return found


def powers(rows: Sequence[Row], kind: str) -> dict[str, SeedMean] | None:
    """Every power, seed by seed; None where too few losses lie in the window."""
    by_seed = [_fitted([row for row in rows if row.seed == seed], kind) for seed in sorted({row.seed for row in rows})]
    known = [found for found in by_seed if found is not None]
    if len(known) < len(by_seed) or not known:
        return None
    return {name: seed_mean([found[name] for found in known]) for name in STATED[kind]}


def _fitted(rows: Sequence[Row], kind: str) -> dict[str, float] | None:
    low, high = WINDOW[kind]
    kept = [point for row in rows if row.settings["kind"] == kind for point in points(row) if low <= point[1] <= high]
    if len(kept) < LEAST:
        return None
    sides = 2 if kind == "noise" else 1
    heights = [2 * math.log(NormalDist().inv_cdf(1 - loss / sides)) for _, loss in kept]
    table = np.array([[1.0, *(math.log(known[name]) for name in STATED[kind])] for known, _ in kept])
    slopes: FloatArray = np.linalg.lstsq(table, np.array(heights), rcond=None)[0]
    return dict(zip(STATED[kind], slopes[1:].tolist(), strict=True))


def as_law(rows: Sequence[Row], *, signal: Law = float, ratio: Law = float) -> list[Row]:
    """The rows as they would be with these functions of the terms in the theorem, with binomial errors."""
    normal, drawn = NormalDist(), []
    for number, row in enumerate(rows):
        stream, tests = generator(row.seed, "law", number), int(row.numbers["tests_per_class"])

        def seen(loss: float, count: int, stream: np.random.Generator = stream) -> float:
            return float(stream.binomial(count, min(max(loss, 0.0), 1.0))) / count

        numbers = dict(row.numbers)
        if row.settings["kind"] == "signal":
            squares = [1.5 * signal(value) / signal(1.0) for value in row.numbers["signals"]]
            numbers["class_accuracy"] = [1 - seen(1 - normal.cdf(math.sqrt(square)), tests) for square in squares]
        else:
            squares = [5.0 * ratio(value) / ratio(10.0) for value in row.numbers["ratios"]]
            numbers["losses"] = [
                [seen(2 - 2 * normal.cdf(level * math.sqrt(square)), tests // BINS) for level in levels]
                for square, levels in zip(squares, row.numbers["levels"], strict=True)
            ]
            numbers["class_accuracy"] = [1 - float(np.mean(losses)) for losses in numbers["losses"]]
            pairs = zip(row.numbers["levels"], numbers["losses"], strict=True)
            numbers["tail_loss"] = [_long_tail(*pair) for pair in pairs]
        numbers["accuracy"] = float(np.mean(numbers["class_accuracy"]))
        drawn.append(Row(row.settings, row.seed, numbers))
    return drawn


def design(
    count: int, ranges: Mapping[str, tuple[float, float]], tests: int, *, signals: tuple[float, float], ratios: Any
) -> list[Settings]:
    """`count` cells of each kind, spread evenly in the logarithm of every quantity (an additive recurrence).

    The rate is that of bo-homogeneous: it scales with n / d, so that a step is small compared with the noise at every
    size.
    """
    names = [*ranges, "term"]
    # Powers of the root of x^(D+1) = x + 1 are the most evenly spread additive recurrence in D dimensions.
    root = float(np.max(np.real(np.roots([1.0, *([0.0] * (len(names) - 1)), -1.0, -1.0]))))
    settings: list[Settings] = []
    for kind, term in (("signal", signals), ("noise", ratios)):
        for index in range(count):
            place = [(0.5 + (index + 1) * root ** -(axis + 1)) % 1.0 for axis in range(len(names))]
            spans = [*ranges.values(), term]
            value = {
                name: math.exp(math.log(low) + share * math.log(high / low))
                for name, share, (low, high) in zip(names, place, spans, strict=True)
            }
            own, other, d, m = (round(value[name]) for name in ranges)
            # signal = n^2 |u|^4 / (n' (d - 2) / 16) with noise 1/2 in d - 2 directions
            norm = (value["term"] * other * (d - 2) / 16 / own**2) ** 0.25 if kind == "signal" else WITHOUT
            settings.append(
                {
                    **cells.patch_settings("converged", 2, own, d, m, tests),
                    "kind": kind,
                    "others": other,
                    "feature_norm": round(norm, 6),
                    "ratio": 1.0 if kind == "signal" else round(value["term"], 4),
                    "training": {"step": round(2.0 * min(own, other) / d, 6)},
                    "half": index % 2,
                }
            )
    return settings
