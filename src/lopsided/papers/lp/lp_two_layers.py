"""Does the m-Layer-Peeled Model show new patterns for two and more layers? The paper leaves this question open
(Sections 5 and 6).

    minimise mean cross entropy of W_m s(... s(W_1 h))   subject to   sum_i |W_i|^2 / K <= E_W,   mean |h_k|^2 <= E_H

Readings: s is the identity or a ReLU. With the identity the best factors of Z of rank r with equal singular values
reach sigma = (K E_W / (m r))^(m/2) sqrt(K E_H / r): a lower rank allows longer logits, and more so with more layers, so
frames of lower rank can beat the simplex (for K = 4, two antipodal pairs). With a ReLU the features after it are
nonnegative and cannot be a simplex either. Each task compares the lowest of several descents with the best simplex
frame of the same model, and with one peeled layer.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lopsided.core.figure import Bars, Figure, Line, Panel
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Part, Runs, Verdict, weigh
from lopsided.papers.lp.descents import DescentEnd, Sphere, descents, lowest
from lopsided.papers.lp.peeled import cross_entropy, descend, energies, frame_error, mean_cosine, pair_cosines, problem
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.summary import chosen, column, grouped

FRAME = 1e-3  # of cosines and lengths: what counts as a simplex frame
LOWER = 1e-6  # relative, of losses that descent knows to 1e-12
_OPTIONS = {"maxiter": 5000, "maxfun": 20_000, "maxcor": 30, "ftol": 1e-15, "gtol": 1e-10}


def peeled_layers(
    settings: Settings, counts: FloatArray, stream: np.random.Generator
) -> tuple[DescentEnd, FloatArray, FloatArray]:
    """The lowest of several descents on the logarithm of the loss, its W_m, and the features that W_m sees."""
    k, p, hidden = len(counts), settings["dimension"], settings["layers"] - 1
    share, labels, relu = counts / counts.sum(), np.arange(len(counts)), settings["reading"] == "relu"

    def forward(weights: FloatArray, h: FloatArray) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
        """W_m, the matrices below it from the input on, and what each of all the layers sees."""
        below = weights[k * p :].reshape(hidden, p, p)
        seen = [h]
        for matrix in below:
            inner = matrix @ seen[-1]
            seen.append(np.maximum(inner, 0.0) if relu else inner)
        return weights[: k * p].reshape(k, p), below, seen

    def log_loss(weights: FloatArray, h: FloatArray) -> tuple[float, tuple[FloatArray, FloatArray]]:
        top, below, seen = forward(weights, h)
        losses, slope = cross_entropy(top @ seen[-1], labels)
        value = float(share @ losses)
        slope = slope * (share / value)
        gradients = [slope @ seen[-1].T]
        back = top.T @ slope
        for matrix, before, after in zip(below[::-1], seen[-2::-1], seen[:0:-1], strict=True):
            if relu:
                back = back * (after > 0)
            gradients.insert(1, back @ before.T)
            back = matrix.T @ back
        return float(np.log(value)), (np.concatenate([one.ravel() for one in gradients]), back)

    size = k * p + hidden * p * p
    spheres = (Sphere((size,), k * settings["weight_energy"]), Sphere((p, k), k * settings["feature_energy"]))
    end = lowest(descents(log_loss, spheres, stream, settings["starts"], **_OPTIONS))
    top, _, seen = forward(*end.blocks)
    return end, top, seen[-1]


def _counts(settings: Settings) -> FloatArray:
    half = settings["classes"] // 2
    return np.array([float(settings["ratio"])] * (settings["classes"] - half) + [1.0] * half)


def measure(settings: Settings, seed: int) -> Numbers:
    """Several peeled layers against the simplex and against one peeled layer."""
    counts, k, layers = _counts(settings), settings["classes"], settings["layers"]
    end, top, seen = peeled_layers(settings, counts, generator(seed, "two layers"))
    of_weights, of_features = settings["weight_energy"], settings["feature_energy"]
    one = descend(problem(list(counts), **energies(settings)), generator(seed, "one layer"))[0]
    # the simplex of rank K-1 in the linear model: contrasts of length sigma, margin sigma
    sigma = (k * of_weights / (layers * (k - 1))) ** (layers / 2) * np.sqrt(k * of_features / (k - 1))
    values = np.linalg.svd(top @ seen, compute_uv=False)
    return {
        "loss": float(np.exp(end.objective)),
        "linear_simplex_loss": float(np.log1p((k - 1) * np.exp(-sigma))),
        "classifier_frame_error": frame_error(top),
        "feature_frame_error": frame_error(seen.T),
        "feature_cosine_lowest": _defined(pair_cosines(seen.T), np.min),
        "rank": int(np.sum(values > 1e-4 * values.max())),
        "minority_cosine": _defined(pair_cosines(top[k - k // 2 :]), np.mean),
        "one_layer_frame_error": frame_error(one.classifiers) if settings["ratio"] == 1 else None,
        "one_layer_minority_cosine": mean_cosine(one, slice(k - k // 2, None)),
    }


def _defined(cosines: FloatArray, summary: Callable[[FloatArray], Any]) -> float | None:
    """A summary of the cosines that exist; a vector that has vanished has none."""
    known = cosines[np.isfinite(cosines)]
    return float(summary(known)) if known.size else None


def judge(rows: Sequence[Row]) -> Verdict:
    """With balanced classes: is the optimum with several peeled layers not the simplex frame, as it is with one?"""
    balanced = chosen(rows, ratio=1)
    one_layer = max(column(balanced, "one_layer_frame_error"))
    numbers: dict[str, Any] = {"one_layer_frame_error": one_layer}
    parts, found = [Part("one layer gives the simplex frame", one_layer <= FRAME)], []
    for layers, group in grouped(balanced, "layers").items():
        linear, relu = chosen(group, reading="linear"), chosen(group, reading="relu")
        beaten = [row for row in linear if row.numbers["loss"] < row.numbers["linear_simplex_loss"] * (1 - LOWER)]
        turned = [row for row in relu if row.numbers["feature_frame_error"] > FRAME]
        still = [row for row in relu if row.numbers["classifier_frame_error"] <= FRAME]
        ranks = sorted({(row.settings["classes"], row.numbers["rank"]) for row in beaten})
        words = [f"K={classes}: rank {rank}" for classes, rank in ranks]
        numbers[f"{layers} layers"] = {
            "linear_runs": len(linear),
            "linear_beats_the_simplex": len(beaten),
            "ranks_that_beat_it": words,
            "relu_runs": len(relu),
            "relu_features_not_a_simplex": len(turned),
            "relu_classifiers_still_a_simplex": len(still),
        }
        parts += [
            Part(f"{layers} layers, linear: a frame of lower rank beats the simplex", bool(beaten), not beaten),
            Part(f"{layers} layers, ReLU: the features are no simplex", bool(turned), not turned),
        ]
        found.append(
            f"With {layers} layers and balanced classes the linear model beats the simplex frame in {len(beaten)} of "
            f"{len(linear)} runs by frames of lower rank ({'; '.join(words) or 'none'}); with a ReLU the features are "
            f"not a simplex in {len(turned)} of {len(relu)} runs while the classifiers are one in {len(still)}"
        )
    return weigh(parts, ". ".join(found), numbers)


def simplex_always(rows: Sequence[Row]) -> list[Row]:
    """Neural collapse for any number of peeled layers."""
    frame = {"feature_frame_error": 0.0, "classifier_frame_error": 0.0}
    return [replace(row, numbers={**row.numbers, **frame, "loss": row.numbers["linear_simplex_loss"]}) for row in rows]


def plot(rows: Sequence[Row]) -> Figure:
    """Gain over the simplex, and minority cosines against one layer."""
    linear = chosen(rows, ratio=1, reading="linear", curve=False)
    names = [
        "{layers} layers, K={classes}, E={weight_energy:g}".format(**row.settings) + f", seed {row.seed}"
        for row in linear
    ]
    gains = [100 * (1 - row.numbers["loss"] / row.numbers["linear_simplex_loss"]) for row in linear]
    panels = [Panel("Linear: loss below the simplex frame's", "", "gain, %", [Bars(names, gains, "gain")])]
    series = []
    for reading in ("linear", "relu"):
        own = [row for row in chosen(rows, reading=reading, curve=True) if row.seed == rows[0].seed]
        own.sort(key=lambda row: row.settings["ratio"])
        ratios = column(own, "ratio")
        series.append(Line(ratios, column(own, "minority_cosine"), f"two layers, {reading}"))
        if reading == "relu":
            series.append(Line(ratios, column(own, "one_layer_minority_cosine"), "one layer", dashed=True))
    panels.append(Panel("Minority cosine", "imbalance ratio R", "average cosine", series, x_log=True))
    return Figure(
        "Peeling several layers", panels, "A gain above zero means that the simplex frame is not the minimiser."
    )


def _settings(
    energy: Sequence[float], classes: Sequence[int], ratios: Sequence[float], *, deepest: int, starts: int = 6
) -> list[dict[str, Any]]:
    """Balanced classes with two layers; with more layers at the first number of classes and energy; over the ratio."""
    readings, balanced = ("linear", "relu"), {"curve": False, "ratio": 1.0}
    deep = {**balanced, "classes": classes[0], "feature_energy": energy[0]}
    settings = [
        *varied({**balanced, "layers": 2}, reading=readings, classes=classes, feature_energy=energy),
        *varied(deep, layers=range(3, deepest + 1), reading=readings),
        *varied({"curve": True, "layers": 2, "classes": 4, "feature_energy": 3.0}, reading=readings, ratio=ratios),
    ]
    return [
        {**own, "weight_energy": own["feature_energy"], "dimension": own["classes"] + 2, "starts": starts}
        for own in settings
    ]


CLAIM = Claim(
    id="lp-two-layers",
    rule="With balanced classes, where one layer gives the simplex frame, for every number of layers: the linear model "
    f"has a loss more than {LOWER:g} below its best simplex frame somewhere, and the features of the ReLU model are "
    f"not a simplex (cosines or lengths differ by {FRAME:g}).",
    quick=Runs(_settings((2.0, 6.0), (4, 5), (1.0, 3.0, 10.0, 100.0), deepest=4)),
    paper=Runs(_settings((2.0, 4.0, 6.0), (4, 6, 8), (1.0, 2.0, 4.0, 10.0, 30.0, 100.0, 1000.0), deepest=6), range(2)),
    smoke=Runs(_settings((2.0,), (4,), (1.0, 10.0), deepest=3, starts=2)),
    measure=measure,
    judge=judge,
    plot=plot,
    revised="three and more layers were added later.",
    readings={"linear": "no nonlinearity between the layers", "relu": "a ReLU between the layers"},
    quick_budget_seconds=30,
    alternatives={"the simplex whatever the number of layers": simplex_always},
)
